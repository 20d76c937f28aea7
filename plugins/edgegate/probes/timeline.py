"""From single looks to outages and gaps. Knows no sockets and no clock."""

from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise

from edgegate.clock import RESOLUTION
from edgegate.traffic import Gap, Outage, Second, Spread, TargetReport, Wrong

LATENESS = 0.002
"""Seconds that a look may be late without the watcher counting as blind: timers are rounded to milliseconds."""

Sample = tuple[float, float, str | None]
"""When a look began, how long it took, and what was wrong."""


class Samples:
    """Every look at one target, 24 bytes each; a watch of an hour holds five million bytes a target."""

    def __init__(self) -> None:
        """Hold none yet."""
        self._at, self._took = array("d"), array("d")
        self._fault = array("q")
        self._names: dict[str | None, int] = {None: 0}

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._fault)

    def add(self, at: float, took: float, fault: str | None) -> None:
        """Keep one look; they may come in any order."""
        self._at.append(at)
        self._took.append(took)
        self._fault.append(self._names.setdefault(fault, len(self._names)))

    def in_order(self) -> list[Sample]:
        """Return the looks in the order in which they began; may be asked while another thread adds."""
        count = len(self._fault)  # appended last, so the other two have as many
        names = list(self._names)
        rows = zip(self._at[:count], self._took[:count], self._fault[:count], strict=True)
        return sorted(((at, took, names[fault]) for at, took, fault in rows), key=lambda sample: sample[0])


def report(
    name: str, every: float, samples: Sequence[Sample], *, began: float, ended: float, whole: bool = True
) -> TargetReport:
    """Return what the looks at one target, in order, come to.

    Args:
        name: the target's name.
        every: seconds that were meant to lie between two looks.
        samples: the looks in the order in which they began.
        began: monotonic second from which on it was meant to be looked at.
        ended: second until which it was meant to be looked at, or the second of now.
        whole: whether these are all looks until `ended`; otherwise some may still be open.
    """
    between = [Gap(at, later - at) for (at, _, _), (later, _, _) in pairwise(samples)]
    gaps = [*_edges(samples, began, ended if whole else None), *between]
    allowed = max(RESOLUTION, every + LATENESS)
    return TargetReport(
        name=name,
        every=every,
        looks=len(samples),
        outages=tuple(outages(name, samples)),
        wrong=tuple(Wrong(at, took, what) for at, took, what in samples if what is not None),
        gaps=Spread.of([gap.seconds for gap in between]),
        longest_gap=max(gaps, key=lambda gap: gap.seconds, default=Gap(began, ended - began)),
        blind=sum(gap.seconds - allowed for gap in gaps if gap.seconds > allowed),
        latency=Spread.of([took for _, took, what in samples if what is None]),
        timeline=tuple(_seconds(samples, began, ended)),
    )


def _edges(samples: Sequence[Sample], began: float, ended: float | None) -> Iterator[Gap]:
    """Yield the time before the first look and the time after the last."""
    if samples:
        yield Gap(began, samples[0][0] - began)
        if ended is not None:
            yield Gap(samples[-1][0], max(0.0, ended - samples[-1][0]))


def outages(name: str, samples: Sequence[Sample]) -> Iterator[Outage]:
    """Yield each run of looks that found something wrong."""
    last_right: float | None = None
    open_run: list[Sample] = []
    for wrong, group in groupby(samples, key=lambda sample: sample[2] is not None):
        run = list(group)
        if wrong:
            open_run = run
            continue
        if open_run:
            yield _outage(name, open_run, last_right, run[0][0])
        last_right, open_run = run[-1][0], []
    if open_run:
        yield _outage(name, open_run, last_right, None)


def _outage(name: str, run: Sequence[Sample], last_right: float | None, end: float | None) -> Outage:
    counts = Counter(what for _, _, what in run if what is not None)
    return Outage(
        target=name,
        begin=run[0][0],
        end=end,
        last_right=last_right,
        last_wrong=run[-1][0],
        looks=len(run),
        faults=tuple(counts.most_common()),
    )


def _seconds(samples: Sequence[Sample], began: float, ended: float) -> Iterator[Second]:
    looks = Counter(int(at - began) for at, _, _ in samples)
    wrong = Counter(int(at - began) for at, _, what in samples if what is not None)
    for offset in range(int(ended - began) + 1):
        yield Second(offset, looks[offset], wrong[offset])
