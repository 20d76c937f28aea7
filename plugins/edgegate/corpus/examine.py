"""Examine a rule set: its own regression tests by the rules that match, ours by what is blocked."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from edgegate.artifacts import Artifact
from edgegate.corpus import exclusions, ftw, ignores
from edgegate.corpus.cases import Case, Corpus
from edgegate.corpus.cost import measure
from edgegate.corpus.judge import UNSEEN, case_verdict, control, rule_faults, verdict_faults
from edgegate.corpus.policies import DETECT, ENFORCE
from edgegate.corpus.result import Outcome, Result
from edgegate.corpus.rig import Rig, rig
from edgegate.corpus.rules import check_rules, known_rules
from edgegate.corpus.run import Run, run


@dataclass(frozen=True)
class Material:
    """What is sent."""

    theirs: Corpus
    """The rule set's own regression tests."""
    ours: Corpus
    """Attacks, each with a harmless twin, and requests that are known to be blocked wrongly."""
    ignored: Mapping[str, ignores.Ignore]
    """Cases that may come out otherwise."""
    excluded: tuple[exclusions.Exclusion, ...] = ()
    """What mends the cases that are blocked although they are harmless."""

    @property
    def cases(self) -> tuple[Case, ...]:
        """All of them."""
        return (*self.theirs.cases, *self.ours.cases)


def material(theirs: Path, ours: Path, *, ignored: Path | None, rules: Path, excluded: Path | None = None) -> Material:
    """Read everything before anything is started.

    Args:
        theirs: folder `tests` of the rule set.
        ours: folder of our own corpus.
        ignored: list of cases that may fail; None for none.
        rules: folder `rules` of the rule set.
        excluded: list of exclusions that mend what is blocked wrongly; None for none.

    Raises:
        CorpusFault: one of the files is malformed, holds nothing, or names what is not there.
    """
    first, second, known = ftw.read(theirs), ftw.read(ours), known_rules(rules)
    check_rules(first, known, absent_too=False)
    check_rules(second, known, absent_too=True)
    names = {case.name for case in (*first.cases, *second.cases)}
    mine = {case.name for case in second.cases}
    return Material(
        first,
        second,
        ignores.load(ignored, names) if ignored else {},
        exclusions.load(excluded, mine, known) if excluded else (),
    )


def examine(
    artifacts: Mapping[str, Artifact],
    sent: Material,
    *,
    directives: Path | None = None,
    fault: str = "",
    say: Callable[[str], None] = lambda line: None,
) -> Result:
    """Send everything through both policies and return what came out.

    Args:
        artifacts: those of the pins `coraza`, `coreruleset` and `envoy`.
        sent: see `material`.
        directives: a file of further directives for the enforcing policy.
        fault: a defect of the firewall, by name.
        say: told how far it is.

    Raises:
        DirectiveRefused: one of the directives is none that the engine takes.
        FirewallMissing: nothing can be said, because the firewall is not there.
    """
    excluding = {one.door: one.ids for one in sent.excluded}
    with rig(artifacts, directives=directives, excluding=excluding, fault=fault) as running:
        say("controls")
        controls = control(running)
        runs = {}
        for door in (DETECT, ENFORCE):
            say(f"{door}: {len(sent.cases)} cases")
            runs[door] = run(running, door, sent.cases)
            say(f"{door}: {runs[door].requests} requests in {runs[door].seconds:.1f} s")
        say(f"exclusions: {len(sent.excluded)}")
        mended = exclusions.judge(running, sent.excluded, {case.name: case for case in sent.ours.cases})
        say("cost")
        return replace(_result(running, sent, runs, controls, mended), cost=measure(running).as_data())


def _result(
    running: Rig, sent: Material, runs: Mapping[str, Run], controls: list[str], mended: Mapping[str, list[str]]
) -> Result:
    detected, enforced = runs[DETECT].seen, runs[ENFORCE].seen
    ours = {case.name for case in sent.ours.cases}
    outcomes = []
    for case in sent.cases:
        judged = verdict_faults(case, enforced[case.name]) if case.name in ours else []
        judged += rule_faults(case, detected[case.name], status=case.name not in ours)
        judged += mended.get(case.name, [])
        verdict = case_verdict(enforced[case.name])
        judged += ["it reached the origin, and the enforcing policy does not know of it"] if verdict == UNSEEN else []
        benign = case.name in ours and case.stages[-1].expected.status == 200
        outcomes.append(
            Outcome(case.name, case.family, verdict, tuple(judged), sent.ignored.get(case.name), benign=benign)
        )
    return Result(
        versions=running.versions,
        outcomes=tuple(outcomes),
        controls=tuple(controls),
        seconds={door: one.seconds for door, one in runs.items()},
        empty=(*sent.theirs.empty, *sent.ours.empty),
        excluded=tuple(name for one in sent.excluded for name in one.harmless),
    )
