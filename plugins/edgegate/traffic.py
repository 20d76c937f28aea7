"""What continuous traffic showed: outages, how closely it was looked, and how busy the machine was meanwhile."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from edgegate.clock import RESOLUTION, show_duration

BUSY = 0.9
"""Share of all processors from which on a machine counts as saturated."""
STALLED = 0.4
"""Share of the time in which some task waited for a processor, from which on a machine counts as saturated."""
MOST_TOLD = 20
"""Outages that a text for a person lists; the report has them all."""


@dataclass(frozen=True)
class Spread:
    """How a number was spread."""

    p50: float
    """Half of the values were at most this."""
    p95: float
    """95 of 100 values were at most this."""
    most: float
    """The greatest value."""

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        """Return the spread of some values, zeros when there are none."""
        ordered = sorted(values)
        if not ordered:
            return cls(0.0, 0.0, 0.0)
        last = len(ordered) - 1
        return cls(ordered[round(last * 0.5)], ordered[round(last * 0.95)], ordered[last])


@dataclass(frozen=True)
class MachineLoad:
    """How busy the machine was over an interval."""

    seconds: float
    """Length of the interval."""
    busy: float
    """Share of all processors that did something, 0 to 1."""
    stolen: float
    """Share that the hypervisor gave to somebody else, 0 to 1."""
    stalled: float | None
    """Share of the time in which some task waited for a processor; None when the kernel does not tell."""

    @property
    def saturated(self) -> bool:
        """Whether timings of the interval say more about the machine than about what was measured."""
        return self.busy + self.stolen >= BUSY or (self.stalled is not None and self.stalled >= STALLED)

    def describe(self) -> str:
        """Return one line for a person."""
        waited = "" if self.stalled is None else f", tasks waited for it {self.stalled:.0%} of the time"
        stolen = f", {self.stolen:.0%} stolen" if self.stolen >= 0.01 else ""
        return f"processor {self.busy:.0%} busy{stolen}{waited}{' (saturated)' if self.saturated else ''}"


@dataclass(frozen=True)
class Outage:
    """A time in which every look at a target found something wrong."""

    target: str
    """Name of the target."""
    begin: float
    """Monotonic second of the first look that found something wrong."""
    end: float | None
    """Second of the first look that found all right again; None when there was none until the watch ended."""
    last_right: float | None
    """Second of the last right look before: the fault came after it. None when there was none."""
    last_wrong: float
    """Second of the last look that found something wrong."""
    looks: int
    """How many looks found something wrong."""
    faults: tuple[tuple[str, int], ...]
    """What was found and how often, the most frequent first."""

    @property
    def seconds(self) -> float:
        """Length, as far as it was seen."""
        return (self.last_wrong if self.end is None else self.end) - self.begin

    def describe(self, origin: float = 0.0) -> str:
        """Return one line for a person; times count from `origin`."""
        what = ", ".join(f"{fault} ×{count}" for fault, count in self.faults)
        length = show_duration(self.seconds) + (", not over" if self.end is None else "")
        return f"{self.target}: {what} from {self.begin - origin:.2f} s on, for {length}"


@dataclass(frozen=True)
class Wrong:
    """One look that found something wrong."""

    at: float
    """Monotonic second at which it began."""
    took: float
    """Seconds that it took."""
    what: str
    """What was wrong."""


@dataclass(frozen=True)
class Second:
    """One second of a watch."""

    offset: int
    """Seconds since the watch began."""
    looks: int
    """Looks that began in it."""
    wrong: int
    """How many of them found something wrong."""


@dataclass(frozen=True)
class Gap:
    """A time in which nobody looked."""

    at: float
    """Monotonic second at which it began."""
    seconds: float
    """Its length."""


@dataclass(frozen=True)
class TargetReport:
    """What was seen of one target."""

    name: str
    """Name of the target."""
    every: float
    """Seconds that were meant to lie between two looks."""
    looks: int
    """How many looks there were."""
    outages: tuple[Outage, ...]
    """Times in which something was wrong, oldest first."""
    wrong: tuple[Wrong, ...]
    """Each look that found something wrong, oldest first."""
    gaps: Spread
    """Seconds between the beginnings of two looks."""
    longest_gap: Gap
    """The longest time in which nobody looked; an outage that fits in may have been missed."""
    blind: float
    """Seconds in which nobody looked although it was time to: what gaps are longer than the resolution of 20 ms, or
    than `every` and its usual lateness of 2 ms when that is more."""
    latency: Spread
    """Seconds that right answers took, from the first packet to the last."""
    timeline: tuple[Second, ...]
    """Looks and wrong looks of each second; a second without looks is there too."""

    @property
    def ok(self) -> bool:
        """Whether there were looks, and all of them found what is right."""
        return self.looks > 0 and not self.wrong


@dataclass(frozen=True)
class WatchReport:
    """What a watch saw of all its targets."""

    started: float
    """Wall-clock time (seconds since 1970) at which it began."""
    began: float
    """Monotonic second at which it began."""
    ended: float
    """Monotonic second at which it ended, or at which this report was made."""
    targets: tuple[TargetReport, ...]
    """One report a target, in their order."""
    cpu: float
    """Share of one processor that the watch itself took."""
    load: MachineLoad
    """How busy the machine was."""
    scheduling: str
    """How the system let the watcher run: `real time`, `nice -10` or `normal`. Only the first looks on time always."""

    @property
    def ok(self) -> bool:
        """Whether every target was looked at and always right."""
        return all(target.ok for target in self.targets)

    @property
    def outages(self) -> tuple[Outage, ...]:
        """The outages of all targets, oldest first."""
        return tuple(sorted((o for target in self.targets for o in target.outages), key=lambda outage: outage.begin))

    @property
    def resolution(self) -> float:
        """Seconds: 95 of 100 gaps between looks were at most this, at the target that fared worst."""
        return max((target.gaps.p95 for target in self.closely), default=0.0)

    @property
    def longest_gap(self) -> Gap:
        """The longest time in which nobody looked at some target."""
        return max((target.longest_gap for target in self.closely), key=lambda gap: gap.seconds)

    @property
    def closely(self) -> list[TargetReport]:
        """The targets to look at every 20 ms; all when there is none. Others would hide how well those were seen."""
        return [target for target in self.targets if target.every <= RESOLUTION] or list(self.targets)

    @property
    def blind(self) -> float:
        """Seconds in which nobody looked although it was time to, at the target that fared worst."""
        return max((target.blind for target in self.targets), default=0.0)

    def describe(self) -> str:
        """Return the result for a person: one line in all, then one an outage."""
        looks = sum(target.looks for target in self.targets)
        wrong = sum(len(target.wrong) for target in self.targets)
        first = (
            f"{looks} looks at {len(self.targets)} targets in {show_duration(self.ended - self.began)}, {wrong} wrong; "
            f"every {show_duration(self.resolution)}, nobody looked for {show_duration(self.longest_gap.seconds)} "
            f"at the worst and {show_duration(self.blind)} too long in all; {self.load.describe()}"
        )
        told = [f"  {outage.describe(self.began)}" for outage in self.outages[:MOST_TOLD]]
        left = len(self.outages) - MOST_TOLD
        return "\n".join([first, *told, *([f"  … and {left} more"] if left > 0 else [])])

    def as_data(self) -> dict[str, Any]:
        """Return it as plain values for a report; single wrong looks are left out, outages and seconds tell them."""
        data = asdict(self)
        for target in data["targets"]:
            target["wrong"] = len(target["wrong"])
        return {**data, "resolution": self.resolution, "blind": self.blind, "ok": self.ok}
