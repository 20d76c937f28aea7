"""What a controller's stages wait for, as its own standard metrics tell: a queue, a back-off, or a delay it asked for.

Every operator on controller-runtime has `workqueue_*` and `controller_runtime_*`, and so has ours. Two readings tell
what happened between them.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import inf

import httpx

from edgegate.clock import show_duration
from edgegate.errors import MetricsUnreachable

LONG = 0.2
"""Seconds that 95 of 100 keys may wait in a queue before it counts as one that was waited for."""

_LINE = re.compile(r"(\w+)(?:\{(.*)\})? (\S+)(?: \d+)?")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_QUEUE, _WORK = "workqueue_queue_duration_seconds", "workqueue_work_duration_seconds"
_RECONCILES = "controller_runtime_reconcile_total"


@dataclass(frozen=True)
class Queue:
    """What one controller has done."""

    depth: float = 0.0
    """Keys that wait now."""
    looks: float = 0.0
    """Keys that were taken from the queue."""
    waited: Mapping[float, float] = field(default_factory=dict)
    """Upper bound in seconds to the number of keys that waited at most so long."""
    worked: float = 0.0
    """Seconds of work."""
    ended: Mapping[str, float] = field(default_factory=dict)
    """How looks ended (`success`, `error`, `requeue`, `requeue_after`) to how many did."""

    def since(self, before: "Queue") -> "Queue":
        """Return what it has done since an earlier reading."""
        return Queue(
            depth=self.depth,
            looks=self.looks - before.looks,
            waited={bound: count - before.waited.get(bound, 0.0) for bound, count in self.waited.items()},
            worked=self.worked - before.worked,
            ended={how: count - before.ended.get(how, 0.0) for how, count in self.ended.items()},
        )

    def wait(self, share: float = 0.95) -> float:
        """Return the bound under which a share of the keys waited, in seconds; 0 when none was taken."""
        most = max(self.waited.values(), default=0.0)
        return next((bound for bound, count in sorted(self.waited.items()) if most and count >= share * most), 0.0)

    def _longest(self) -> str:
        """Return what 95 of 100 keys waited at most, in words; the last bucket has no upper bound."""
        if self.wait() < inf:
            return f"up to {show_duration(self.wait())}"
        return f"more than {show_duration(max(bound for bound in self.waited if bound < inf))}"

    def describe(self, name: str) -> list[str]:
        """Return what was waited for, the worst first; empty when the metrics show nothing."""
        failed, delayed = self.ended.get("error", 0.0), self.ended.get("requeue_after", 0.0)
        told = []
        if self.wait() > LONG or self.depth > self.looks:
            spent = show_duration(self.worked / self.looks) if self.looks else "nothing"
            told.append(
                f"the queue of {name}: 95 of 100 keys waited {self._longest()}, {self.depth:,.0f} "
                f"wait now, {spent} of work each"
            )
        if failed:
            told.append(f"a back-off of {name}: {failed:.0f} of {sum(self.ended.values()):.0f} looks failed")
        if delayed:
            told.append(f"a delay that {name} asked for {delayed:.0f} times (requeue)")
        return told


class Queues:
    """Reads the metrics of the processes of an operator, and tells what happened since this object was made."""

    def __init__(self, *urls: str, timeout: float = 2.0, transport: httpx.BaseTransport | None = None) -> None:
        """Take the first reading.

        Args:
            urls: where the metrics of each process are, as `http://10.88.1.1:8090/metrics`.
            timeout: seconds for one reading of one process.
            transport: what carries the requests; a connection of its own for each unless given.

        Raises:
            MetricsUnreachable: nobody answers there, or with something else.
        """
        self._urls, self._timeout, self._transport = urls, timeout, transport
        self._first = self.reading()

    def reading(self) -> dict[str, Queue]:
        """Return what each controller has done since its process began, by name.

        Raises:
            MetricsUnreachable: nobody answers there, or with something else.
        """
        return {name: queue for url in self._urls for name, queue in self._read(url).items()}

    def _read(self, url: str) -> dict[str, Queue]:
        try:
            with httpx.Client(timeout=self._timeout, trust_env=False, transport=self._transport) as client:
                answer = client.get(url).raise_for_status()
        except httpx.HTTPError as error:
            raise MetricsUnreachable(url, reason=str(error) or type(error).__name__) from error
        return read(answer.text)

    def waited(self, *names: str) -> str:
        """Return what some controllers made their objects wait for, the longest wait first; a text in any case.

        Raises:
            MetricsUnreachable: as `reading`.
        """
        now = self.reading()
        since = {name: now[name].since(self._first.get(name, Queue())) for name in names if name in now}
        longest = sorted(since, key=lambda name: since[name].wait(), reverse=True)
        told = [text for name in longest for text in since[name].describe(name)]
        return "; ".join(told) or f"nothing that the queues of {', '.join(names)} show"


def read(text: str) -> dict[str, Queue]:
    """Return what each controller has done, by name, from metrics in Prometheus' text form."""
    found: dict[str, dict[str, float]] = {}
    waited: dict[str, dict[float, float]] = {}
    ended: dict[str, dict[str, float]] = {}
    for family, labels, value in _samples(text.splitlines()):
        name = labels.get("controller") or labels.get("name", "")
        if family == f"{_QUEUE}_bucket":
            bounds = waited.setdefault(name, {})
            bounds[float(labels["le"])] = bounds.get(float(labels["le"]), 0.0) + value
        elif family == _RECONCILES:
            ways = ended.setdefault(name, {})
            ways[labels.get("result", "")] = ways.get(labels.get("result", ""), 0.0) + value
        elif family in _PLAIN:
            sums = found.setdefault(name, {})
            sums[_PLAIN[family]] = sums.get(_PLAIN[family], 0.0) + value
    names = {**found, **waited, **ended}
    return {
        name: Queue(**found.get(name, {}), waited=waited.get(name, {}), ended=ended.get(name, {})) for name in names
    }


_PLAIN = {"workqueue_depth": "depth", f"{_QUEUE}_count": "looks", f"{_WORK}_sum": "worked"}
"""Family to field of `Queue`."""


def _samples(lines: Iterable[str]) -> Iterator[tuple[str, dict[str, str], float]]:
    for line in lines:
        found = _LINE.fullmatch(line.strip())
        if found is not None and found[1].startswith(("workqueue_", "controller_runtime_")):
            yield found[1], dict(_LABEL.findall(found[2] or "")), float(found[3])
