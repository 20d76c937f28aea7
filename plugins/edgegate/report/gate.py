"""What a scenario tells while it looks: findings, the poison, notes, tables, timings; and the text of its failure."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any, NoReturn, Protocol

from edgegate.budgets import Budgets, Explain, Growth, Judgement, causes, judge, judge_growth
from edgegate.errors import EnvironmentFault, MachineSaturated, NeverReady, NotShown, PoisonNotLive
from edgegate.records import Finding, Source, Versions
from edgegate.report.outcome import headline
from edgegate.stages import WIRE, Course
from edgegate.traffic import MachineLoad


def inconclusive(reason: str) -> NoReturn:
    """End the test as inconclusive: this edge cannot show what the scenario asks for.

    Raises:
        NotShown: always.
    """
    raise NotShown(reason)


class HasCourse(Protocol):
    """What knows the way of one subject through its stages, as a stage clock does."""

    def course(self) -> Course:
        """Return what is known now."""
        ...


@dataclass
class Evidence:
    """All that one test has told; the part of a gate that goes into the report."""

    poison: dict[str, str] | None = None
    """`what` was planted and the `evidence` that it was live; None when the test proved no poison."""
    findings: list[Finding] = field(default_factory=list)
    """What was other than it must be, in the order in which it was seen."""
    checks: dict[str, int] = field(default_factory=dict)
    """Source to the number of looks that were right."""
    phases: list[str] = field(default_factory=list)
    """Phases that the scenario went through, in order; one without a finding was right."""
    notes: list[str] = field(default_factory=list)
    """Sentences that a reader of the report should know."""
    tables: list[dict[str, Any]] = field(default_factory=list)
    """`title`, `columns` and `rows`."""
    timings: dict[str, float] = field(default_factory=dict)
    """Stage to seconds."""
    stages: list[dict[str, Any]] = field(default_factory=list)
    """Groups of subjects and how their stages were judged, see docs/report.md."""
    doubts: list[str] = field(default_factory=list)
    """Timings over budget while the machine was saturated: nothing follows for the system under test."""
    running: dict[str, str] = field(default_factory=dict)
    """Component to the version that really ran, asked from the process when the test began or failed."""

    def as_data(self) -> dict[str, Any]:
        """Return it as plain values, as they stand in report.json and cross from a worker to the controller."""
        plain: dict[str, Any] = json.loads(json.dumps(asdict(self)))  # execnet refuses enums, str or not
        return plain


class Gate:
    """The notebook of one scenario; the fixture `gate` gives it. A test with findings fails once, at its end."""

    def __init__(self, name: str, *, versions: Callable[[], Versions], again: str) -> None:
        """Begin a notebook.

        Args:
            name: the gate.
            versions: asks the processes what they are.
            again: the command that shows a failure again.
        """
        self.name, self.again, self.evidence = name, again, Evidence()
        self._versions = versions
        self._phase = ""
        self._ask()

    @contextmanager
    def during(self, phase: str) -> Iterator[None]:
        """Name the phase of the scenario, for all that is found and noted while the block runs."""
        self.evidence.phases.append(phase)
        self._phase, before = phase, self._phase
        try:
            yield
        finally:
            self._phase = before

    def expect(self, source: Source, subject: str, expected: object, seen: object) -> bool:
        """Compare, and keep a finding when it is wrong; return whether it is right.

        Args:
            source: the kind of evidence.
            subject: who or what is affected, as `tenant-a https` or `policy b/oidc`.
            expected: what is right.
            seen: what is there.
        """
        return self.check(source, subject, expected, seen, right=expected == seen)

    def check(self, source: Source, subject: str, expected: object, seen: object, *, right: bool) -> bool:
        """Keep a finding unless `right`; for what is not decided by equality. Returns `right`."""
        if right:
            self.evidence.checks[source] = self.evidence.checks.get(source, 0) + 1
        else:
            self.evidence.findings.append(Finding(source, subject, str(expected), str(seen), self._phase))
        return right

    @contextmanager
    def must(self, source: Source, subject: str, expected: object) -> Iterator[None]:
        """Turn a wait that runs out inside the block into a finding.

        A wait alone is inconclusive, because what did not come may be the lab's fault. Inside this block the
        scenario says that it is the system's promise.
        """
        try:
            yield
        except NeverReady as late:
            seen = "nothing" if late.last is None else late.last
            self.check(source, subject, f"{expected} within {late.limit}", seen, right=False)
        else:
            self.check(source, subject, expected, expected, right=True)

    def poison(self, what: str, *, live: bool, evidence: str) -> None:
        """State what was planted, and the proof that it took effect.

        Raises:
            PoisonNotLive: it did not; what survives a poison that is not live proves nothing.
        """
        if not live:
            raise PoisonNotLive(what, evidence=evidence)
        self.evidence.poison = {"what": what, "evidence": evidence}

    def note(self, text: str) -> None:
        """Add a sentence to the report."""
        self.evidence.notes.append(f"{self._phase}: {text}" if self._phase else text)

    def table(self, title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        """Add a table to the report."""
        shown = [[str(cell) for cell in row] for row in rows]
        self.evidence.tables.append({"title": title, "columns": list(columns), "rows": shown})

    def timing(self, stage: str, seconds: float) -> None:
        """Add the seconds that a stage took."""
        self.evidence.timings[stage] = seconds

    def stages(
        self,
        *clocks: HasCourse,
        budgets: Budgets | None = None,
        load: MachineLoad | None = None,
        explain: Explain | None = None,
    ) -> list[Judgement]:
        """Add the stages of some subjects to the report, and judge them by budgets; return the judgements.

        What is over its budget is a finding that names the stage which ate the time. While the machine was saturated
        it is a doubt instead: the test ends as inconclusive, unless something else was found.

        Args:
            clocks: one a subject.
            budgets: what each stage may take; without it, only that every expected stage has come is judged.
            load: how busy the machine was, where the clocks do not know it themselves.
            explain: tells for what a stage waited; asked on a breach only.
        """
        courses = [clock.course() for clock in clocks]
        limits = budgets or Budgets("")
        judged = judge(courses, limits, load, explain)
        self._judged(judged, subjects=[one.as_data() for one in courses], budgets=limits)
        return judged

    def growth(self, one: Sequence[HasCourse], many: Sequence[HasCourse], allowed: Growth) -> list[Judgement]:
        """Judge how much slower the stages are with many subjects than with one; return the judgements.

        Args:
            one: clocks of subjects that had the edge for themselves.
            many: clocks of subjects among many others.
            allowed: the factor.
        """
        judged = judge_growth([clock.course() for clock in one], [clock.course() for clock in many], allowed)
        self._judged(judged, subjects=[], budgets=Budgets(f"growth ≤ {allowed.factor:g}"))
        return judged

    def _judged(self, judged: Sequence[Judgement], *, subjects: list[dict[str, Any]], budgets: Budgets) -> None:
        for one in judged:
            if one.right:
                self.check(_source([one]), str(one.stage), one.expected, one.found, right=True)
        for group in causes(judged):
            last, with_it = group[-1], _with_it(group)
            if last.saturated:
                self.evidence.doubts.append(f"{last.describe()}{with_it}")
            else:
                self.check(_source(group), last.about, last.expected, f"{last.found}{with_it}", right=False)
        self.evidence.stages.append(
            {
                "during": self._phase,
                "budgets": budgets.name,
                "limits": budgets.as_data(),
                "subjects": subjects,
                "judged": [one.as_data() for one in judged],
            }
        )

    def doubt(self) -> MachineSaturated | None:
        """Return why nothing follows from this test although it ran to its end; None when there is no such reason."""
        return MachineSaturated(self.evidence.doubts) if self.evidence.doubts else None

    def story(self, *, then: str = "") -> str:
        """Return what an engineer reads at 3 a.m.: what broke, for whom, on which pair, and how to see it again.

        Args:
            then: what ended the test after the findings, if it did not run to its end.
        """
        found = _traffic_first(self.evidence.findings)
        affected = [one for one in found if one.source is Source.TRAFFIC] or found
        return "\n".join(
            [
                f"gate {self.name}: FAIL on {self._pair()}",
                *self._poison(),
                f"affected  {', '.join(dict.fromkeys(one.subject for one in affected))}",
                *(f"  {_heading(one)}: {one.subject}: expected {one.expected}, seen {one.seen}" for one in found),
                *self._disagreement(),
                *(f"doubt     {text}" for text in self.evidence.doubts),
                *(f"note      {text}" for text in self.evidence.notes),
                *([f"then      {then}"] if then else []),
                f"again     {self.again}",
            ]
        )

    def _ask(self) -> Versions:
        versions = self._versions()
        self.evidence.running = dict(versions.running)
        return versions

    def _pair(self) -> str:
        """Return the pair that runs now. What cannot be asked any more is told as it was when the test began."""
        try:
            return self._ask().pair()
        except EnvironmentFault as fault:
            return f"{Versions(self.evidence.running).pair()} (as it was at the start; now: {headline(str(fault))})"

    def _poison(self) -> list[str]:
        poison = self.evidence.poison
        return [f"poison    {poison['what']} (live: {poison['evidence']})"] if poison else []

    def _disagreement(self) -> list[str]:
        """Return the line that names which source tells another story than the traffic."""
        wrong = {one.source for one in self.evidence.findings}
        right = set(self.evidence.checks) - wrong
        if Source.TRAFFIC in wrong and right:
            return [f"but       {' and '.join(sorted(right))} looked right: do not trust it alone here"]
        if Source.TRAFFIC in right:
            return [f"but       traffic was right: {' and '.join(sorted(wrong))} tells another story"]
        return []


def _source(judged: Sequence[Judgement]) -> Source:
    return Source.TRAFFIC if any(one.stage in WIRE for one in judged) else Source.STATUS


def _with_it(group: Sequence[Judgement]) -> str:
    """Return what else is late for the same reason, a stage once with all its measures."""
    measures: dict[str, list[str]] = {}
    for one in group[:-1]:
        measures.setdefault(str(one.stage), []).append(one.measure)
    told = [f"{stage} ({', '.join(which)})" for stage, which in measures.items()]
    return f"; late with it: {', '.join(told)}" if told else ""


def _heading(finding: Finding) -> str:
    return f"{finding.source}, {finding.during}" if finding.during else str(finding.source)


def _traffic_first(findings: Sequence[Finding]) -> list[Finding]:
    order = list(Source)
    return sorted(findings, key=lambda one: order.index(one.source))
