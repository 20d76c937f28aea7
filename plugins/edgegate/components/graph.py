"""Run steps in the order that their needs demand, as many at once as possible."""

import logging
import time
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from graphlib import TopologicalSorter

_log = logging.getLogger("edgegate.components")


@dataclass(frozen=True)
class Step:
    """One thing that must happen while an edge comes up."""

    name: str
    """Its name in the progress and in others' `needs`."""
    run: Callable[[], object]
    """Does it; returns when it is done, raises when it cannot be."""
    needs: tuple[str, ...] = ()
    """Names of the steps that must be done before."""


@dataclass(frozen=True)
class Took:
    """How long a step took, for `edgegate up`, the benchmark and the report."""

    name: str
    """The step."""
    started: float
    """Seconds after the first step began."""
    seconds: float
    """Its own duration."""


def run_steps(steps: Iterable[Step], *, done: Callable[[Took], None] = lambda took: None) -> list[Took]:
    """Run every step once its needs are done; return the durations in order of completion.

    Raises:
        Exception: what the first failing step raised, after the steps that were under way have ended.
        ValueError: the needs go round in a circle or name an unknown step.
    """
    by_name = {step.name: step for step in steps}
    order = TopologicalSorter({step.name: step.needs for step in by_name.values()})
    order.prepare()
    if unknown := {need for step in by_name.values() for need in step.needs} - set(by_name):
        raise ValueError(f"unknown steps are needed: {', '.join(sorted(unknown))}")
    began = time.monotonic()
    results: list[Took] = []
    running: dict[Future[Took], str] = {}
    with ThreadPoolExecutor(max_workers=len(by_name) or 1, thread_name_prefix="step") as pool:
        while order.is_active():
            for name in order.get_ready():
                running[pool.submit(_timed, by_name[name], began)] = name
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                order.done(running.pop(future))
                results.append(future.result())
                done(results[-1])
    return results


def _timed(step: Step, began: float) -> Took:
    start = time.monotonic()
    step.run()
    took = Took(step.name, started=start - began, seconds=time.monotonic() - start)
    _log.info("%s done in %.2f s", took.name, took.seconds)
    return took
