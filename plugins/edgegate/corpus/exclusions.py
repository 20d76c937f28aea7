"""Harmless requests that a rule set is known to block, and the exclusions of a policy that mend each of them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from edgegate.corpus.cases import Case
from edgegate.corpus.judge import BLOCKED, PASSED, verdict
from edgegate.corpus.rig import Rig
from edgegate.corpus.run import Seen, run
from edgegate.errors import CorpusFault
from edgegate.tables import Table, read

_RULES = "a list of rule numbers, as in [942100]"


@dataclass(frozen=True)
class Exclusion:
    """What a customer excludes for some harmless requests."""

    harmless: tuple[str, ...]
    """Names of the cases that are blocked without it, and pass with it."""
    attacks: tuple[str, ...]
    """Names of attacks in the same place, which stay blocked with it."""
    ids: tuple[int, ...]
    """The rules, as `ruleExclusions.ids` of a policy has them."""
    reason: str
    """Why such a request is blocked."""

    @property
    def door(self) -> str:
        """The door of the policy that has it."""
        return f"without-{'-'.join(str(rule) for rule in self.ids)}"


def load(path: Path, cases: Collection[str], rules: Collection[int]) -> tuple[Exclusion, ...]:
    """Return what a file says.

    Args:
        path: the file.
        cases: names of the cases that there are.
        rules: numbers of the rules that there are.

    Raises:
        CorpusFault: it cannot be read, breaks the format, or names a case or a rule that is not there.
    """
    table = Table(path, "", read(path, CorpusFault), CorpusFault)
    raw = table.take("exclusion", list, "tables [[exclusion]]") or []
    found = tuple(_entry(Table(path, f"exclusion[{at}]", one, CorpusFault), cases, rules) for at, one in enumerate(raw))
    table.finish()
    return found


def _entry(table: Table, cases: Collection[str], rules: Collection[int]) -> Exclusion:
    made = Exclusion(
        _names(table, "harmless", cases), _names(table, "attacks", cases), _ids(table, rules), table.text("reason")
    )
    table.finish()
    return made


def _names(table: Table, key: str, cases: Collection[str]) -> tuple[str, ...]:
    found = table.texts(key)
    if not found:
        raise table.fault(key, "is missing or empty", 'a list of names, as in ["search-1"]')
    for name in found:
        if name not in cases:
            raise table.fault(key, f"names '{name}', which is no case", "a case of our own corpus")
    return found


def _ids(table: Table, rules: Collection[int]) -> tuple[int, ...]:
    found = table.take("ids", list, _RULES)
    if not found:
        raise table.fault("ids", "is missing or empty", _RULES)
    for one in found:
        if not isinstance(one, int) or one not in rules:
            raise table.fault("ids", f"names rule {one!r}, which does not exist", _RULES)
    return tuple(found)


def judge(rig: Rig, exclusions: Sequence[Exclusion], cases: Mapping[str, Case]) -> dict[str, list[str]]:
    """Send the cases of each exclusion through its own policy, and return what is wrong with which.

    Raises:
        FirewallMissing: the firewall's process ended, or it has seen none of the requests.
    """
    faults: dict[str, list[str]] = {}
    for one in exclusions:
        names = (*one.harmless, *one.attacks)
        seen = run(rig, one.door, [cases[name] for name in names]).seen
        for name in names:
            wanted = PASSED if name in one.harmless else BLOCKED
            if text := _fault(seen[name][-1], wanted):
                faults.setdefault(name, []).append(f"without rules {', '.join(map(str, one.ids))}: {text}")
    return faults


def _fault(seen: Seen, wanted: str) -> str:
    found = verdict(seen)
    if found == wanted and (wanted == BLOCKED or seen.answer.status == 200):
        return ""
    rules = f" by {', '.join(map(str, sorted(seen.verdict.rules)))}" if seen.verdict and seen.verdict.rules else ""
    return f"expected {wanted}, seen {found} ({seen.answer.status or seen.answer.error}){rules}"
