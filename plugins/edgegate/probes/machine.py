"""How busy the machine is, so that a timing can say what it was measured on."""

from dataclasses import dataclass
from pathlib import Path

from edgegate.clock import MONOTONIC, Clock
from edgegate.traffic import MachineLoad

PROC = Path("/proc")

_IDLE, _IOWAIT, _STEAL = 3, 4, 7
"""Columns of the line `cpu` in /proc/stat, see proc(5). The two of guests behind them are counted in others."""


@dataclass(frozen=True)
class Reading:
    """What the kernel has counted until a moment."""

    at: float
    """Monotonic second."""
    ticks: tuple[int, ...]
    """What the processors did since the start of the machine, in hundredths of seconds, by kind."""
    stalled: int | None
    """Microseconds since the start of the machine in which some task waited; None when the kernel does not tell."""


class Machine:
    """Measures from its creation on."""

    def __init__(self, *, proc: Path = PROC, clock: Clock = MONOTONIC) -> None:
        """Take the first reading."""
        self._proc, self._clock = proc, clock
        self._first = self.reading()

    def load(self) -> MachineLoad:
        """Return how busy the machine was since the creation."""
        return between(self._first, self.reading())

    def reading(self) -> Reading:
        """Return what the kernel has counted until now; two of them make a load, see `between`."""
        line = (self._proc / "stat").read_text().partition("\n")[0]
        return Reading(self._clock.now(), tuple(map(int, line.split()[1:9])), self._stalled())

    def _stalled(self) -> int | None:
        """Read `some … total=N`; the file is missing, or cannot be read, where the kernel does not measure it."""
        try:
            line = (self._proc / "pressure" / "cpu").read_text().partition("\n")[0]
        except OSError:
            return None
        return int(line.rpartition("total=")[2])


def between(first: Reading, later: Reading) -> MachineLoad:
    """Return how busy the machine was from one reading to another."""
    ticks = [after - before for before, after in zip(first.ticks, later.ticks, strict=True)]
    total, seconds = sum(ticks) or 1, later.at - first.at
    stalled = None
    if first.stalled is not None and later.stalled is not None:
        stalled = min(1.0, (later.stalled - first.stalled) / 1e6 / seconds) if seconds > 0 else 0.0
    busy = total - ticks[_IDLE] - ticks[_IOWAIT] - ticks[_STEAL]
    return MachineLoad(
        seconds=seconds,
        busy=max(0.0, busy / total) if sum(ticks) else 0.0,
        stolen=ticks[_STEAL] / total,
        stalled=stalled,
    )
