"""Gates that are known to fail under some condition: `waivers.toml`, read, and asked for one test at a time."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from edgegate.errors import FileFault, WaiversFault
from edgegate.tables import Table, read

OPERATORS = ("reference", "nso")
"""Whose operator: ours, or the one that production runs."""
_NAME = r"[a-z0-9][a-z0-9-]*"
_VERSION = r"\d+(\.\d+)*([.+~-][0-9A-Za-z.+~-]*)?"
_CONDITION = rf"(<=|>=|<|>|==|!=)?\s*({_VERSION})"
CONDITION_FORM = "a version, or comparisons joined by commas, as in '1.38.3' or '>=1.8, <1.9'"
_COMPARE: Mapping[str, Callable[[list[int], list[int]], bool]] = {
    "<": lambda running, named: running < named,
    "<=": lambda running, named: running <= named,
    ">": lambda running, named: running > named,
    ">=": lambda running, named: running >= named,
    "==": lambda running, named: running == named,
    "!=": lambda running, named: running != named,
}


@dataclass(frozen=True)
class Waiver:
    """A gate may fail where a condition holds, until a day, for a reason."""

    name: str
    """Its name in the file."""
    gate: str
    """The gate."""
    when: Mapping[str, str]
    """`operator` to whose it is, and component to what its running version must fulfil; all of them."""
    reason: str
    """Why it fails, and why that is borne."""
    link: str
    """Where the defect is tracked."""
    expires: date
    """The last day on which it holds, UTC."""
    tests: tuple[str, ...] = ()
    """Patterns of node ids: `*` stands for anything, `?` for one character; empty for every test of the gate."""

    def covers(self, gate: str, test: str, operator: str, running: Mapping[str, str]) -> bool:
        """Say whether it is about a test of a gate, with that operator and those running versions."""
        if gate != self.gate or (self.tests and not any(_fits(test, pattern) for pattern in self.tests)):
            return False
        facts = {**running, "operator": operator}
        return all(name in facts and _holds(name, said, facts[name]) for name, said in self.when.items())

    def expired(self, today: date) -> bool:
        """Say whether its last day has passed."""
        return today > self.expires

    def as_data(self) -> dict[str, Any]:
        """Return it as plain values, as they stand in report.json."""
        return {
            "name": self.name,
            "gate": self.gate,
            "tests": list(self.tests),
            "when": dict(self.when),
            "reason": self.reason,
            "link": self.link,
            "expires": self.expires.isoformat(),
        }


@dataclass(frozen=True)
class Waivers:
    """What a file of waivers says."""

    path: Path | None = None
    """The file; None when there is none."""
    waivers: tuple[Waiver, ...] = ()
    """In the order of the file."""

    def covering(
        self, gate: str, test: str, operator: str, running: Mapping[str, str], today: date | None = None
    ) -> Waiver | None:
        """Return the waiver for a test: one that still holds before one that has expired; None when there is none."""
        day = today or datetime.now(UTC).date()
        found = [one for one in self.waivers if one.covers(gate, test, operator, running)]
        return min(found, key=lambda one: one.expired(day), default=None)


def load(path: Path | None) -> Waivers:
    """Return what a file says; no waivers when there is no file to read.

    Raises:
        WaiversFault: the file cannot be read, is no TOML, or breaks one of the rules in docs/budgets.md.
    """
    if path is None:
        return Waivers()
    raw = read(path, WaiversFault)
    for key in raw:
        if key != "waiver":
            raise WaiversFault(path, key, "is unknown", "tables [waiver.<name>] only")
    tables = Table(path, "", raw, WaiversFault).inner("waiver")
    return Waivers(path, tuple(_waiver(tables.inner(name), name) for name, _ in tables.items()))


def _waiver(table: Table, name: str) -> Waiver:
    if not re.fullmatch(_NAME, name):
        raise table.fault("", "is no name", "lower-case letters, digits and dashes")
    found = Waiver(
        name=name,
        gate=table.text("gate", "the name of a gate"),
        when=_when(table),
        reason=table.text("reason"),
        link=_link(table),
        expires=table.day("expires"),
        tests=table.texts("tests"),
    )
    table.finish()
    return found


def _when(table: Table) -> Mapping[str, str]:
    """Return the conditions. One is needed: what fails everywhere is no exception."""
    found = table.mapping("when", _condition)
    if not found:
        accepted = (
            f"at least one condition: operator = one of {', '.join(OPERATORS)}, or <component> = {CONDITION_FORM}"
        )
        raise table.fault("when", "is missing or empty", accepted)
    return found


def _condition(table: Table, key: str) -> str:
    if key == "operator":
        accepted = f"one of {', '.join(OPERATORS)}"
        value = table.text(key, accepted)
        if value not in OPERATORS:
            raise table.fault(key, f"is '{value}'", accepted)
        return value
    value = table.text(key, CONDITION_FORM)
    if not all(re.fullmatch(_CONDITION, part.strip()) for part in value.split(",")):
        raise _unreadable(table, key, value)
    return value


def _unreadable(table: Table, key: str, value: str) -> FileFault:
    hint = ", without a leading v" if value.startswith("v") else ""
    if value in OPERATORS:
        hint = f"; whose operator it is says operator = '{value}'"
    return table.fault(key, f"is '{value}'", f"{CONDITION_FORM}{hint}")


def _link(table: Table) -> str:
    accepted = "an address, as in https://example.com/issues/1"
    value = table.text("link", accepted)
    if not re.fullmatch(r"https?://\S+", value):
        raise table.fault("link", f"is '{value}'", accepted)
    return value


def _fits(test: str, pattern: str) -> bool:
    """Compare without the classes of a shell, because node ids have brackets of their own."""
    words = {"*": ".*", "?": "."}
    return re.fullmatch("".join(words.get(one, re.escape(one)) for one in pattern), test) is not None


def _holds(name: str, said: str, fact: str) -> bool:
    if name == "operator":
        return fact == said
    for part in said.split(","):
        found = re.fullmatch(_CONDITION, part.strip())
        assert found is not None
        running, named = _numbers(fact), _numbers(found[2])
        length = max(len(running), len(named))
        if not _COMPARE[found[1] or "=="](_padded(running, length), _padded(named, length)):
            return False
    return True


def _numbers(version: str) -> list[int]:
    """Return the numbers of a version; what comes after them, as in `1.9.0-rc.1`, does not count."""
    release = re.match(r"\d+(\.\d+)*", version)
    return [int(number) for number in release[0].split(".")] if release else []


def _padded(numbers: list[int], length: int) -> list[int]:
    return numbers + [0] * (length - len(numbers))
