"""Two reports of the same gates side by side: verdicts, what each test said, and the times of stages."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from edgegate.report.folder import Document
from edgegate.report.stages import MEASURES

MISSING = "missing"
"""Verdict of a gate or a test that only one of the reports has."""
Both = tuple[str, str]
Seconds = tuple[float | None, float | None]


@dataclass(frozen=True)
class StageTimes:
    """What one stage took in either run."""

    gate: str
    during: str
    """Phase of the gate; empty where it has none."""
    stage: str
    measure: str
    """`p50`, `p95` or `max`."""
    seconds: Seconds
    """None where it never came, or was not looked at."""


@dataclass(frozen=True)
class GatePair:
    """One gate in both reports."""

    name: str
    verdicts: Both
    seconds: Seconds
    tests: Mapping[str, Both] = field(default_factory=dict)
    """Tests whose verdicts differ."""

    @property
    def differs(self) -> bool:
        """Tell whether the reports do not say the same of it."""
        return self.verdicts[0] != self.verdicts[1] or bool(self.tests)


@dataclass(frozen=True)
class Comparison:
    """What two reports say."""

    gates: tuple[GatePair, ...]
    """Every gate that one of them has, in the order of the first."""
    stages: tuple[StageTimes, ...]
    """Every stage whose times one of them has."""
    versions: Mapping[str, Both]
    """Components that ran in different versions; empty where one of them did not run."""

    @property
    def differs(self) -> bool:
        """Tell whether a verdict differs, of a gate or of one of its tests."""
        return any(gate.differs for gate in self.gates)

    def as_data(self) -> Document:
        """Return it as plain values."""
        return {
            "same": not self.differs,
            "gates": [
                {"name": one.name, "verdicts": list(one.verdicts), "seconds": list(one.seconds)}
                | {"tests": {test: list(said) for test, said in one.tests.items()}}
                for one in self.gates
            ],
            "stages": [{**vars(one), "seconds": list(one.seconds)} for one in self.stages],
            "versions": {name: list(both) for name, both in self.versions.items()},
        }


def compare(first: Document, second: Document) -> Comparison:
    """Return what two reports say, gate by gate."""
    names = dict.fromkeys(str(gate["name"]) for report in (first, second) for gate in report["gates"])
    pairs = [(name, _gate(first, name), _gate(second, name)) for name in names]
    return Comparison(
        tuple(_pair(name, (one, other), (first, second)) for name, one, other in pairs),
        tuple(row for name, one, other in pairs for row in _stages(name, one, other)),
        _versions(first["versions"]["running"], second["versions"]["running"]),
    )


def _gate(report: Document, name: str) -> Document:
    found: Document = next((gate for gate in report["gates"] if str(gate["name"]) == name), {})
    return found


def _pair(name: str, gates: tuple[Document, Document], reports: tuple[Document, Document]) -> GatePair:
    verdicts = [str(gate.get("verdict", MISSING)) for gate in gates]
    said = [_tests(report, set(gate.get("tests", []))) for report, gate in zip(reports, gates, strict=True)]
    tests = {
        test: (said[0].get(test, MISSING), said[1].get(test, MISSING)) for test in dict.fromkeys([*said[0], *said[1]])
    }
    # A gate that is missing altogether says so once, and not test by test.
    differing = {test: both for test, both in tests.items() if both[0] != both[1] and all(gates)}
    return GatePair(name, (verdicts[0], verdicts[1]), (gates[0].get("seconds"), gates[1].get("seconds")), differing)


def _tests(report: Document, own: set[str]) -> dict[str, str]:
    return {test["id"]: str(test["verdict"]) for test in report["tests"] if test["id"] in own}


def _stages(name: str, first: Document, second: Document) -> Iterator[StageTimes]:
    mine, theirs = _times(first), _times(second)
    for during, stage, measure in dict.fromkeys([*mine, *theirs]):
        key = during, stage, measure
        yield StageTimes(name, during, stage, measure, (mine.get(key), theirs.get(key)))


def _times(gate: Document) -> dict[tuple[str, str, str], float | None]:
    """Return phase, stage and measure to seconds; the budgets' names are not compared, they may differ."""
    return {
        (table["during"], row["stage"], measure): row[measure]
        for table in gate.get("stages", [])
        for row in table["rows"]
        for measure in MEASURES
        if measure in table["measures"]
    }


def _versions(first: Mapping[str, str], second: Mapping[str, str]) -> dict[str, Both]:
    both = {name: (first.get(name, ""), second.get(name, "")) for name in dict.fromkeys([*first, *second])}
    return {name: one for name, one in both.items() if one[0] != one[1]}
