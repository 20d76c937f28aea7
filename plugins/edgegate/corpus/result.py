"""What came out of a corpus run, by rule family, and what differs between two rule sets."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from edgegate.corpus.ignores import Ignore


@dataclass(frozen=True)
class Outcome:
    """One case."""

    name: str
    """Its name."""
    family: str
    """Its rule family."""
    verdict: str
    """With the enforcing policy; empty where that was not run."""
    faults: tuple[str, ...] = ()
    """What is not as expected."""
    ignored: Ignore | None = None
    """Why that is borne."""
    benign: bool = False
    """Whether it is harmless and must pass."""

    @property
    def passed(self) -> bool:
        """Whether all is as expected."""
        return not self.faults

    @property
    def failed(self) -> bool:
        """Whether something is not, and no ignore bears it."""
        return bool(self.faults) and self.ignored is None


@dataclass(frozen=True)
class Family:
    """The cases of one rule family."""

    name: str
    """As in `942 SQLI`."""
    passed: int
    """As expected."""
    ignored: int
    """Not, and borne."""
    failed: int
    """Not, and not borne."""
    blocked: int
    """Blocked by the enforcing policy, whatever was expected."""


@dataclass(frozen=True)
class Result:
    """A whole run."""

    versions: Mapping[str, str]
    """What ran."""
    outcomes: tuple[Outcome, ...]
    """Every case."""
    controls: tuple[str, ...] = ()
    """What was wrong with the run itself."""
    seconds: Mapping[str, float] = field(default_factory=dict)
    """Door to the seconds that the corpus took."""
    empty: tuple[str, ...] = ()
    """Files of the corpus without a test."""
    cost: Mapping[str, float] = field(default_factory=dict)
    """What the firewall costs, see `cost`."""
    excluded: tuple[str, ...] = ()
    """Cases that are known to be blocked although they are harmless, each with exclusions that mend it."""

    @property
    def failed(self) -> bool:
        """Whether the verdict is fail."""
        return bool(self.controls) or any(one.failed for one in self.outcomes)

    @property
    def stale(self) -> tuple[str, ...]:
        """Cases that come out as expected although they are ignored."""
        return tuple(one.name for one in self.outcomes if one.ignored and one.passed)

    @property
    def benign(self) -> tuple[Outcome, ...]:
        """Harmless cases that must pass."""
        return tuple(one for one in self.outcomes if one.benign)

    @property
    def wrongly_blocked(self) -> tuple[str, ...]:
        """Those of them that do not."""
        return tuple(one.name for one in self.benign if one.verdict != "passed")

    def families(self) -> list[Family]:
        """Return the counts of each family."""
        by_name: dict[str, list[Outcome]] = {}
        for one in self.outcomes:
            by_name.setdefault(one.family, []).append(one)
        return [_family(name, several) for name, several in sorted(by_name.items())]

    def as_data(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            "versions": dict(self.versions),
            "verdict": "fail" if self.failed else "pass",
            "cases": len(self.outcomes),
            "passed": sum(one.passed for one in self.outcomes),
            "ignored": sum(bool(one.faults) and not one.failed for one in self.outcomes),
            "failed": {one.name: list(one.faults) for one in self.outcomes if one.failed},
            "benign": {"cases": len(self.benign), "not passed": list(self.wrongly_blocked)},
            "known false positives": list(self.excluded),
            "controls": list(self.controls),
            "stale ignores": list(self.stale),
            "empty files": list(self.empty),
            "seconds": {door: round(took, 2) for door, took in self.seconds.items()},
            "cost": dict(self.cost),
            "families": [vars(one) for one in self.families()],
        }


def _family(name: str, several: Iterable[Outcome]) -> Family:
    counted = list(several)
    return Family(
        name,
        passed=sum(one.passed for one in counted),
        ignored=sum(bool(one.faults) and not one.failed for one in counted),
        failed=sum(one.failed for one in counted),
        blocked=sum(one.verdict == "blocked" for one in counted),
    )


@dataclass(frozen=True)
class Change:
    """A case that two rule sets judge differently."""

    name: str
    """The case."""
    family: str
    """Its family."""
    before: str
    """The verdict of the first."""
    after: str
    """That of the second."""


def changes(before: Result, after: Result) -> list[Change]:
    """Return the cases whose verdict differs; both results are of the same corpus."""
    old = {one.name: one.verdict for one in before.outcomes}
    return [
        Change(one.name, one.family, old[one.name], one.verdict)
        for one in after.outcomes
        if one.name in old and old[one.name] != one.verdict
    ]
