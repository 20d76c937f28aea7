"""How long stages may take, and the judgement of what they took: which stage ate the time, and what it waited for."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

from edgegate.clock import show_duration
from edgegate.errors import EnvironmentFault
from edgegate.stages import TIMED, Course, Stage, StageTime, ancestors
from edgegate.traffic import MachineLoad, Spread

FEWEST: Mapping[str, int] = {"p50": 5, "p95": 20, "max": 1}
"""Subjects from which on a measure is judged. The median of two is one of them, and the 95th percentile of fewer than
twenty is the greatest."""
NAMED = 3
"""Subjects that a text names; the rest is counted."""

Explain = Mapping[Stage, Callable[[Course], str]]
"""Stage to what can tell for what it waited: a queue, a back-off, a requeue floor, a cache. Asked on a breach only."""


@dataclass(frozen=True)
class Budget:
    """What a stage may take, in seconds since the subject was created."""

    most: float
    """What no subject may be over."""
    p50: float | None = None
    """What half of the subjects may be over; None where that is not limited."""
    p95: float | None = None
    """What 5 of 100 subjects may be over; None where that is not limited."""
    source: str = ""
    """Who says so, or what it was measured with."""
    why: str = ""
    """Why it is not more."""

    def limit(self, measure: str) -> float | None:
        """Return the limit for `p50`, `p95` or `max`."""
        return {"p50": self.p50, "p95": self.p95, "max": self.most}[measure]

    def usual(self, measure: str) -> float:
        """Return the limit for a measure, or the nearest looser one that there is."""
        order = ["p50", "p95", "max"]
        return next(limit for one in order[order.index(measure) :] if (limit := self.limit(one)) is not None)


@dataclass(frozen=True)
class Budgets:
    """The budgets of every stage under one condition."""

    name: str
    """The condition, as `reference fast` or `reference fast burst`."""
    stages: Mapping[Stage, Budget] = field(default_factory=dict)
    """Stage to its budget; a stage without one is not judged."""

    def as_data(self) -> dict[str, Any]:
        """Return the limits as plain values, as they stand in report.json: stage to `p50`, `p95` and `max`."""
        return {
            str(stage): {measure: budget.limit(measure) for measure in FEWEST} for stage, budget in self.stages.items()
        }


@dataclass(frozen=True)
class Growth:
    """How much slower a stage may be with many subjects than with one."""

    factor: float
    """Median with many, divided by the median with one."""
    subjects: int
    """How many are many."""
    floor: float
    """Seconds of growth that do not count: twice nothing is nothing."""
    factors: Mapping[Stage, float] = field(default_factory=dict)
    """Stages with a factor of their own."""
    source: str = ""
    """Who says so."""
    why: str = ""
    """Why it is not more."""


@dataclass(frozen=True)
class Judgement:
    """One measure of one stage against its limit."""

    stage: Stage
    """The stage."""
    measure: str
    """`p50`, `p95`, `max`, `growth`, or `all` for subjects that never came to it."""
    limit: float | None
    """Seconds that were allowed; None for `all`."""
    seen: float | None
    """Seconds that it took; None for `all`."""
    subjects: int
    """How many subjects it is about."""
    right: bool
    """Whether it is within its limit."""
    saturated: bool = False
    """Whether it is not, and the machine had nothing to spare meanwhile."""
    budgets: str = ""
    """Name of the budgets."""
    eater: Stage | None = None
    """The stage that ate the time; None when it is right, or never came."""
    ate: str = ""
    """What ate the time, and how, for a person; empty when it is right."""

    @property
    def expected(self) -> str:
        """What is right, for a person."""
        if self.limit is None:
            return "every subject comes to it"
        return f"{self.measure} ≤ {show_duration(self.limit)} ({self.budgets})"

    @property
    def found(self) -> str:
        """What was seen, for a person."""
        took = "" if self.seen is None else show_duration(self.seen)
        return "; ".join(part for part in (took, self.ate) if part)

    def as_data(self) -> dict[str, Any]:
        """Return it as plain values, as they stand in report.json."""
        return {**asdict(self), "stage": str(self.stage), "eater": str(self.eater) if self.eater else None}

    def describe(self) -> str:
        """Return one line for a person."""
        return f"{self.about}: {self.expected}, seen {self.found}"

    @property
    def about(self) -> str:
        """What it is about, for a person."""
        return f"{self.stage} of {self.subjects} subjects" if self.subjects > 1 else str(self.stage)


def judge(
    courses: Sequence[Course],
    budgets: Budgets,
    load: MachineLoad | None = None,
    explain: Explain | None = None,
) -> list[Judgement]:
    """Return every measure of every stage that has a budget, and every stage that some subject never came to.

    A stage that never came is wrong on a saturated machine too: whoever waited has waited for much more than a budget.

    Args:
        courses: one a subject.
        budgets: what each stage may take.
        load: how busy the machine was in all; what a course knows about its own steps is better.
        explain: tells for what a stage waited.
    """
    missing = _lacking(courses)
    held_up = _held_up(missing, explain or {})
    found = [_missing(stage, lacking, held_up) for stage, lacking in missing.items()]
    for stage, budget in budgets.stages.items():
        times = [(one.seconds, course) for course in courses if (one := course.time(stage)) is not None]
        for measure, fewest in FEWEST.items():
            limit = budget.limit(measure)
            if limit is not None and len(times) >= fewest:
                found.append(_measure(stage, measure, limit, times, budgets, load, explain or {}))
    return found


def judge_growth(one: Sequence[Course], many: Sequence[Course], growth: Growth) -> list[Judgement]:
    """Return for each stage whether its median with many subjects is within the factor of the one with few.

    Args:
        one: courses of subjects that had the edge for themselves.
        many: courses of subjects among many others.
        growth: what is allowed.
    """
    before, after = _medians(one), _medians(many)
    both = [stage for stage in TIMED if stage in before and stage in after]
    found = []
    for stage in both:
        factor = growth.factors.get(stage, growth.factor)
        seen, once = after[stage].seconds, before[stage].seconds
        limit = max(once * factor, once + growth.floor)
        told = f"{factor:g} × the time of one"
        judged = partial(Judgement, stage, "growth", limit, seen, len(many), budgets=told)
        if seen <= limit:
            found.append(judged(right=True))
            continue
        way = [step for step in both if step is stage or step in ancestors(stage)]
        eater = max(way, key=lambda step: after[step].own - before[step].own)
        took, took_once = show_duration(after[eater].own), show_duration(before[eater].own)
        ate = f"{eater} ate it: {took} after the stage before it, {took_once} with one"
        busy = after[stage].saturated
        found.append(judged(right=False, saturated=busy, eater=eater, ate=ate))
    return found


def causes(judged: Iterable[Judgement]) -> list[list[Judgement]]:
    """Return what is wrong, grouped by what ate the time: what comes after a late stage is late with it.

    In each group the last stage is the last one, and its greatest time behind its median.
    """
    groups: dict[object, list[Judgement]] = {}
    order = list(Stage)
    for one in sorted(judged, key=lambda one: order.index(one.stage)):
        if not one.right:
            groups.setdefault((one.eater or one.ate, one.saturated), []).append(one)
    return list(groups.values())


@dataclass(frozen=True)
class _Median:
    """Medians of one stage over some subjects."""

    seconds: float
    own: float
    saturated: bool


def _medians(courses: Sequence[Course]) -> dict[Stage, _Median]:
    found = {}
    for stage in Stage:
        times = [time for course in courses if (time := course.time(stage)) is not None]
        if times:
            seconds, own = (Spread.of([getattr(time, name) for time in times]).p50 for name in ("seconds", "own"))
            found[stage] = _Median(seconds, own, any(time.saturated for time in times if time.seconds >= seconds))
    return found


def _lacking(courses: Sequence[Course]) -> dict[Stage, list[Course]]:
    return {stage: lacking for stage in Stage if (lacking := [one for one in courses if stage in one.missing])}


def _held_up(missing: Mapping[Stage, list[Course]], explain: Explain) -> str:
    """Return what the first of the stages that never came waits for: the others wait for it."""
    for stage, lacking in missing.items():
        waited = _waited(lacking[0], stage, explain)
        return f"; {stage} waits for {waited}" if waited else ""
    return ""


def _missing(stage: Stage, lacking: list[Course], held_up: str) -> Judgement:
    told = []
    for course in lacking[:NAMED]:
        last = course.times[-1] if course.times else None
        told.append(f"{course.subject} ({f'last seen: {last.describe()}' if last else 'nothing was seen of it'})")
    more = f" and {len(lacking) - NAMED} more" if len(lacking) > NAMED else ""
    return Judgement(
        stage, "all", None, None, len(lacking), right=False, ate=f"never came for {', '.join(told)}{more}{held_up}"
    )


def _measure(
    stage: Stage,
    measure: str,
    limit: float,
    times: Iterable[tuple[float, Course]],
    budgets: Budgets,
    load: MachineLoad | None,
    explain: Explain,
) -> Judgement:
    ordered = sorted(times, key=lambda one: one[0])
    spread = Spread.of([seconds for seconds, _ in ordered])
    seen = {"p50": spread.p50, "p95": spread.p95, "max": spread.most}[measure]
    judged = partial(Judgement, stage, measure, limit, seen, len(ordered), budgets=budgets.name)
    if seen <= limit:
        return judged(right=True)
    culprit = next(course for seconds, course in ordered if seconds == seen)
    allowed = {step: _own_limit(step, measure, budgets, limit) for step in culprit.path(stage)}
    step = max(allowed, key=lambda one: one.own - allowed[one])
    saturated = step.saturated or (step.load is None and load is not None and load.saturated)
    ate = _tell(culprit, step, allowed[step], explain, load)
    return judged(right=False, saturated=saturated, eater=step.stage, ate=ate)


def _own_limit(step: StageTime, measure: str, budgets: Budgets, limit: float) -> float:
    """Return the seconds that the budgets leave to a step after the one that it waited for.

    No step may be over the limit of the stage that is judged: a status may have more time than the traffic.
    """
    own, before = budgets.stages.get(step.stage), budgets.stages.get(step.after) if step.after else None
    until = min(limit, own.usual(measure)) if own else limit
    return max(0.0, until - (min(limit, before.usual(measure)) if before else 0.0))


def _tell(course: Course, step: StageTime, allowed: float, explain: Explain, load: MachineLoad | None) -> str:
    ate = f"{step.stage} ate it for {course.subject}: {show_duration(step.own)} after {step.after}"
    waited = _waited(course, step.stage, explain)
    busy = step.own_load or step.load or load
    parts = [f"{ate} instead of {show_duration(allowed)}", f"waited for {waited}" if waited else ""]
    return "; ".join(part for part in (*parts, busy.describe() if busy else "") if part)


def _waited(course: Course, stage: Stage, explain: Explain) -> str:
    if stage not in explain:
        return ""
    try:
        return explain[stage](course)
    except EnvironmentFault as fault:
        return f"something that could not be asked: {fault}"
