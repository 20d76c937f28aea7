"""A queue of things to look at: each key once, failures later and later, delays if asked for."""

import heapq
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

from edgegate_operator.core.metrics import Metrics

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True)
class Backoff:
    """How long a key that failed waits: `base`, doubled with each failure in a row, at most `cap`."""

    base: float = 0.005
    """Seconds after the first failure (default of controller-runtime)."""
    cap: float = 1000.0
    """Longest wait in seconds (default of controller-runtime)."""

    def delay(self, failures: int) -> float:
        """Return the seconds to wait after so many failures before this one."""
        return min(self.cap, self.base * 2.0 ** min(failures, 60))


class WorkQueue(Generic[K]):
    """Keys in order of arrival. A key that is being worked on comes again only when that work is done."""

    def __init__(
        self,
        name: str,
        backoff: Backoff,
        metrics: Metrics,
        clock: Callable[[], float] = time.monotonic,
        *,
        stubborn: bool = False,
    ) -> None:
        """Begin empty.

        Args:
            name: in metrics.
            backoff: waits after failures.
            metrics: where it counts.
            clock: what waits run by.
            stubborn: whether a key that failed waits for its time whatever happens; only a defect wants that.
        """
        self.name, self._backoff, self._metrics, self._clock = name, backoff, metrics, clock
        self._stubborn = stubborn
        self._ready: deque[K] = deque()
        self._since: dict[K, float] = {}
        self._working: set[K] = set()
        self._again: set[K] = set()
        self._later: list[tuple[float, int, K]] = []
        self._due: dict[K, float] = {}
        self._failures: dict[K, int] = {}
        self._count = 0
        self._shut = False
        self._changed = threading.Condition()
        metrics.declare("workqueue_depth", "gauge", "Keys that wait for a worker")
        metrics.declare("workqueue_adds_total", "counter", "Keys that were added")
        metrics.declare("workqueue_retries_total", "counter", "Keys that were added again with a delay")
        metrics.declare("workqueue_queue_duration_seconds", "histogram", "Wait for a worker")
        metrics.declare("workqueue_work_duration_seconds", "histogram", "Work on one key")
        metrics.set("workqueue_depth", 0, name=self.name, controller=self.name)

    def add(self, key: K) -> None:
        """Ask for one look at a key, soon."""
        with self._changed:
            self._add(key)

    def _add(self, key: K) -> None:
        if self._shut or key in self._since or (self._stubborn and key in self._failures and key in self._due):
            return
        self._since[key] = self._clock()
        self._metrics.add("workqueue_adds_total", name=self.name, controller=self.name)
        if key in self._working:
            self._again.add(key)
            return
        self._ready.append(key)
        self._metrics.set("workqueue_depth", len(self._ready), name=self.name, controller=self.name)
        self._changed.notify()

    def add_after(self, key: K, seconds: float) -> None:
        """Ask for a look in so many seconds. Of two such wishes the earlier one wins."""
        with self._changed:
            self._add_after(key, seconds)

    def _add_after(self, key: K, seconds: float) -> None:
        at = self._clock() + seconds
        if self._shut or self._due.get(key, float("inf")) <= at:
            return
        self._due[key] = at
        self._count += 1
        heapq.heappush(self._later, (at, self._count, key))
        self._changed.notify()

    def retry(self, key: K) -> None:
        """Ask for a look after the back-off of a key that has just failed."""
        with self._changed:
            failures = self._failures.get(key, 0)
            self._failures[key] = failures + 1
            self._metrics.add("workqueue_retries_total", name=self.name, controller=self.name)
            self._add_after(key, self._backoff.delay(failures))

    def forget(self, key: K) -> None:
        """Let the next failure of a key start from the shortest back-off again."""
        with self._changed:
            self._failures.pop(key, None)

    def get(self) -> K | None:
        """Wait for a key and take it; None when the queue is shut. Call `done` afterwards."""
        with self._changed:
            while not self._shut:
                wait = self._release_due()
                if self._ready:
                    return self._take()
                self._changed.wait(wait)
            return None

    def _take(self) -> K:
        key = self._ready.popleft()
        self._working.add(key)
        self._metrics.set("workqueue_depth", len(self._ready), name=self.name, controller=self.name)
        waited = self._clock() - self._since.pop(key)
        self._metrics.observe("workqueue_queue_duration_seconds", waited, name=self.name, controller=self.name)
        return key

    def _release_due(self) -> float | None:
        """Move keys whose time has come; return the seconds until the next one."""
        while self._later:
            at, _, key = self._later[0]
            wait = at - self._clock()
            if wait > 0:
                return wait
            heapq.heappop(self._later)
            if self._due.get(key) == at:
                del self._due[key]
                self._add(key)
        return None

    def done(self, key: K, seconds: float) -> None:
        """Give a key back that `get` handed out, with the time that the work took."""
        with self._changed:
            self._working.discard(key)
            self._metrics.observe("workqueue_work_duration_seconds", seconds, name=self.name, controller=self.name)
            if key in self._again:
                self._again.discard(key)
                self._ready.append(key)
                self._metrics.set("workqueue_depth", len(self._ready), name=self.name, controller=self.name)
                self._changed.notify()

    def shut(self) -> None:
        """Wake everybody and hand out nothing more."""
        with self._changed:
            self._shut = True
            self._changed.notify_all()
