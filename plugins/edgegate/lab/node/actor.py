"""A thread that does one thing after the other: what it is sent, and what is due."""

import heapq
import itertools
import logging
import queue
import threading
from collections.abc import Callable
from typing import TypeVar

from edgegate.clock import MONOTONIC, Clock

T = TypeVar("T")
Act = Callable[[], None]
LOG = logging.getLogger("edgegate.lab.node")
AFTER_FAILURE = 1.0
"""Seconds after which an actor whose step failed settles again, whether or not anything else happens."""


class Timer:
    """Something that is due later."""

    def __init__(self, act: Act) -> None:
        self._act: Act | None = act

    def cancel(self) -> None:
        """Let it not happen; fine if it has happened."""
        self._act = None

    def fire(self) -> None:
        """Do it, unless it was cancelled."""
        act, self._act = self._act, None
        if act is not None:
            act()


class Actor:
    """Owns state that only its own thread touches; others send it functions to call.

    So nothing in a pod needs a lock: probes, hooks and the ends of processes come back as functions, in order.
    """

    def __init__(self, name: str, clock: Clock = MONOTONIC) -> None:
        self.name = name
        """What its log lines begin with."""
        self.clock = clock
        """The time that it goes by."""
        self._box: queue.SimpleQueue[Act] = queue.SimpleQueue()
        self._due: list[tuple[float, int, Timer]] = []
        self._number = itertools.count()
        self._over = False

    def start(self) -> None:
        """Let its thread begin."""
        threading.Thread(target=self.run, name=self.name, daemon=True).start()

    def post(self, act: Act) -> None:
        """Have something done by the actor's thread, soon; may be called by any thread."""
        self._box.put(act)

    def later(self, seconds: float, act: Act) -> Timer:
        """Have something done in that many seconds; to be called by the actor's own thread."""
        timer = Timer(act)
        heapq.heappush(self._due, (self.clock.now() + seconds, next(self._number), timer))
        return timer

    def aside(self, work: Callable[[], T], then: Callable[[T], None]) -> None:
        """Do slow work in a thread of its own, then hand its result to the actor's thread."""

        def body() -> None:
            result = work()
            self.post(lambda: then(result))

        threading.Thread(target=body, name=f"{self.name} aside", daemon=True).start()

    def finish(self) -> None:
        """Let the thread end after what it does now."""
        self._over = True

    def settle(self) -> None:
        """Called after each thing done; whoever has state to publish does it here."""

    def run(self) -> None:
        """Do things until `finish`; one that fails is logged, and the next one still runs."""
        while not self._over:
            try:
                self.turn()
            except Exception:
                LOG.exception("%s: a step failed", self.name)
                self.later(AFTER_FAILURE, lambda: None)

    def turn(self) -> None:
        """Wait for the next thing, do it and everything else that is waiting, then settle."""
        act = self._next()
        while act is not None:
            act()
            act = self._ready()
        self.settle()

    def _next(self) -> Act | None:
        """Return the next thing to do; waits for it. None when a cancelled timer was all."""
        wait = None if not self._due else max(0.0, self._due[0][0] - self.clock.now())
        try:
            return self._box.get(timeout=wait)
        except queue.Empty:
            return self._ready()

    def _ready(self) -> Act | None:
        try:
            return self._box.get_nowait()
        except queue.Empty:
            pass
        if self._due and self._due[0][0] <= self.clock.now():
            return heapq.heappop(self._due)[2].fire
        return None
