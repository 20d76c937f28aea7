"""Run steps in the order that their needs demand, as many at once as possible."""

import logging
import math
import queue
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from graphlib import TopologicalSorter

from edgegate.clock import Deadline, show_duration
from edgegate.errors import NeverReady

_log = logging.getLogger("edgegate.components")
_LOOK = 0.5
"""Seconds between two looks at whether what runs already is well; a look costs 3 ms."""


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


def run_steps(
    steps: Iterable[Step],
    *,
    done: Callable[[Took], None] = lambda took: None,
    failed: Callable[[], Exception | None] = lambda: None,
    within: float = math.inf,
) -> list[Took]:
    """Run every step once its needs are done; return the durations in order of completion.

    When one fails, or when we are interrupted, nobody waits for the steps that are under way: they may be waiting for
    what will never come (measured: 60 s for an edge whose kube-controller-manager had ended, 29 s after Ctrl-C).

    Args:
        steps: what is to be done.
        done: told about each step when it ends.
        failed: asked every half second, and when a step fails, whether what was started is still well.
        within: seconds that all of them may take together.

    Raises:
        NeverReady: they took longer; names the steps that were under way.
        Exception: what `failed` returned, else what the first failing step raised.
        ValueError: the needs go round in a circle or name an unknown step.
    """
    by_name = {step.name: step for step in steps}
    order = TopologicalSorter({step.name: step.needs for step in by_name.values()})
    order.prepare()
    if unknown := {need for step in by_name.values() for need in step.needs} - set(by_name):
        raise ValueError(f"unknown steps are needed: {', '.join(sorted(unknown))}")
    began, deadline = time.monotonic(), Deadline.after(within)
    results: list[Took] = []
    under_way: list[str] = []
    ends: queue.SimpleQueue[Took | Exception] = queue.SimpleQueue()

    def trouble() -> Exception | None:
        last = f"still under way: {', '.join(under_way)}"
        late = deadline.left() <= 0
        return failed() or (NeverReady("edge ready", limit=show_duration(within), last=last) if late else None)

    while order.is_active():
        for name in order.get_ready():
            under_way.append(name)
            threading.Thread(target=_run, args=(by_name[name], began, ends), name=f"step {name}", daemon=True).start()
        results.append(took := _next(ends, trouble))
        under_way.remove(took.name)
        order.done(took.name)
        done(took)
    return results


def _run(step: Step, began: float, ends: "queue.SimpleQueue[Took | Exception]") -> None:
    try:
        ends.put(_timed(step, began))
    except Exception as error:
        ends.put(error)


def _next(ends: "queue.SimpleQueue[Took | Exception]", trouble: Callable[[], Exception | None]) -> Took:
    """Return the next step that ends; raise when one fails, or when there is trouble."""
    while True:
        try:
            end = ends.get(timeout=_LOOK)
        except queue.Empty:
            if (found := trouble()) is not None:
                raise found from None
            continue
        if isinstance(end, Took):
            return end
        if (found := trouble()) is not None:
            raise found from end
        raise end


def _timed(step: Step, began: float) -> Took:
    start = time.monotonic()
    step.run()
    took = Took(step.name, started=start - began, seconds=time.monotonic() - start)
    _log.info("%s done in %.2f s", took.name, took.seconds)
    return took
