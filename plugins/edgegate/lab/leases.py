"""Who still needs a lab: counted by open connections, which the kernel closes for holders that die."""

import threading
from collections.abc import Callable

from edgegate.clock import MONOTONIC, Clock, Deadline

GRACE = 2.0
"""Seconds that a lab outlives its last lease, so that one holder can hand over to the next."""


class Leases:
    """The number of leases, and whether the lab goes on without any."""

    def __init__(self, wake: Callable[[], None], *, kept: bool, clock: Clock = MONOTONIC) -> None:
        self._wake, self._clock = wake, clock
        self._lock = threading.Lock()
        self._count = 0
        self._kept = kept
        self._left: Deadline | None = None

    @property
    def count(self) -> int:
        """How many hold the lab."""
        return self._count

    @property
    def kept(self) -> bool:
        """Whether the lab lives without a lease."""
        return self._kept

    def take(self) -> None:
        """Count one more."""
        self._change(count=1)

    def drop(self) -> None:
        """Count one less."""
        self._change(count=-1)

    def keep(self, flag: bool) -> None:
        """Say whether the lab shall live without a lease."""
        self._change(kept=flag)

    def remaining(self) -> float | None:
        """Return the seconds that the lab has left, 0 when it must end now; None without such a limit."""
        with self._lock:
            return None if self._left is None else self._left.left(self._clock)

    def _change(self, *, count: int = 0, kept: bool | None = None) -> None:
        with self._lock:
            self._count += count
            self._kept = self._kept if kept is None else kept
            needed = self._kept or self._count > 0
            self._left = None if needed else Deadline.after(GRACE, self._clock)
        self._wake()
