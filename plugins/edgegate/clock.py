"""Time: durations as users write them, deadlines, and the only wait loop of the project."""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from edgegate.errors import NeverReady, NotADuration

T = TypeVar("T")

RESOLUTION = 0.02
"""Seconds between two looks. Design limit of every probe: what happens is seen within 20 ms."""

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")


class Clock(Protocol):
    """What a wait needs of time; tests pass one that does not really sleep."""

    def now(self) -> float:
        """Return monotonic seconds."""
        ...

    def sleep(self, seconds: float) -> None:
        """Let that many seconds pass."""
        ...


class _Monotonic:
    def now(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


MONOTONIC: Clock = _Monotonic()


def parse_duration(text: str) -> float:
    """Return the seconds that a text such as `250ms`, `30s`, `2m` or `1h` means.

    Raises:
        NotADuration: the text has no unit, or is not a number with one.
    """
    found = _DURATION.fullmatch(text.strip())
    if not found:
        raise NotADuration(text)
    return float(found[1]) * _UNITS[found[2]]


def show_duration(seconds: float) -> str:
    """Return seconds the way a person reads them: `240 ms`, `1.30 s`, `4 min 10 s`."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 100:
        return f"{seconds:.2f} s"
    return f"{seconds // 60:.0f} min {seconds % 60:.0f} s"


@dataclass(frozen=True)
class Deadline:
    """A moment after which a wait gives up."""

    limit: float
    """Seconds that were allowed in all."""
    ends: float
    """Monotonic second at which they are used up."""

    @classmethod
    def after(cls, seconds: float, clock: Clock = MONOTONIC) -> "Deadline":
        """Return the deadline that many seconds from now."""
        return cls(limit=seconds, ends=clock.now() + seconds)

    def left(self, clock: Clock = MONOTONIC) -> float:
        """Return the seconds still allowed, 0 when none are."""
        return max(0.0, self.ends - clock.now())


def wait_until(
    what: str,
    ready: Callable[[], T | None],
    *,
    deadline: Deadline | float,
    failed: Callable[[], Exception | None] = lambda: None,
    last: Callable[[], object] = lambda: None,
    in_a_row: int = 1,
    every: float = RESOLUTION,
    clock: Clock = MONOTONIC,
) -> T:
    """Look until `ready` gives something truthy `in_a_row` times; return the last such answer.

    The first look comes at once. `failed` is asked before each look, so that a process that has died is
    reported as dead and not as late. `last` supplies the last thing seen for the error.

    Raises:
        NeverReady: the deadline passed; names `what`, the limit, and the last thing seen.
        Exception: whatever `failed` returned.
    """
    until = deadline if isinstance(deadline, Deadline) else Deadline.after(deadline, clock)
    hits = 0
    while True:
        trouble = failed()
        if trouble is not None:
            raise trouble
        answer = ready()
        hits = hits + 1 if answer else 0
        if answer and hits >= in_a_row:
            return answer
        left = until.left(clock)
        if left <= 0:
            raise NeverReady(what, limit=show_duration(until.limit), last=last() or answer)
        clock.sleep(min(every, left))
