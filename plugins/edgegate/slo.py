"""Read `slo.toml`: how long each stage may take. Whatever is malformed is refused, with file, key and accepted form."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from edgegate.budgets import Budget, Budgets, Growth
from edgegate.clock import parse_duration, show_duration
from edgegate.errors import NotADuration, SloFault
from edgegate.stages import TIMED, Stage
from edgegate.tables import Table, read

OPERATORS = ("reference", "real")
"""Whose operator: ours, or the one that production runs."""
SETTINGS = ("fast", "production")
"""With the issuer's waiting shortened, or as production has it."""
LOADS = ("one", "burst", "fresh-zone", "full-zone")
"""Subjects one after the other, twenty at once, or one together with its zone."""
DURATION = 'a duration with a unit, as in "250ms" or "3s"'


@dataclass(frozen=True)
class Slo:
    """What a file of budgets says."""

    path: Path
    """The file."""
    end_to_end: Budget
    """What no stage of any subject may be over, whoever the operator is: the service-level objective."""
    stages: Mapping[tuple[str, str, str], Mapping[Stage, Budget]]
    """Operator, setting and load to the budget of each stage."""
    growth: Growth
    """How much slower stages may become with size."""

    def budgets(self, operator: str = "reference", setting: str = "fast", load: str = "one") -> Budgets:
        """Return the budgets under a condition; the objective stands in for every stage that has none of its own.

        Raises:
            SloFault: the file has none for it.
        """
        own = self.stages.get((operator, setting, load))
        if own is None:
            known = ", ".join(".".join(one) for one in self.stages)
            raise SloFault(self.path, f"budget.{operator}.{setting}.{load}", "is missing", f"it; there are {known}")
        each: dict[Stage, Budget] = {stage: own.get(stage, self.end_to_end) for stage in TIMED}
        return Budgets(f"{operator} {setting} {load}", each)


def load(path: Path) -> Slo:
    """Return what a file of budgets says.

    Raises:
        SloFault: the file cannot be read, is no TOML, or breaks one of the rules in docs/budgets.md.
    """
    top = Table(path, "", read(path, SloFault), SloFault)
    objective = _present(top, "objective")
    budget = Budget(_seconds(objective, "max"), source=objective.text("source"), why=objective.text("why"))
    objective.finish()
    growth = _growth(_present(top, "growth"))
    tables = _present(top, "budget")
    stages = {}
    for operator, setting, words in _conditions(tables):
        for load_name, _ in words.items():
            if load_name not in LOADS:
                raise words.fault(load_name, "is unknown", f"one of {', '.join(LOADS)}")
            stages[operator, setting, load_name] = _stages(words.inner(load_name), budget)
    top.finish()
    return Slo(path, budget, stages, growth)


def _present(table: Table, key: str) -> Table:
    if not table.has(key):
        raise table.fault(key, "is missing", f"a table [{key}]")
    return table.inner(key)


def _conditions(tables: Table) -> list[tuple[str, str, Table]]:
    """Return operator, setting and the table of each condition that has one."""
    found = []
    for operator, _ in tables.items():
        if operator not in OPERATORS:
            raise tables.fault(operator, "is unknown", f"one of {', '.join(OPERATORS)}")
        settings = tables.inner(operator)
        for setting, _ in settings.items():
            if setting not in SETTINGS:
                raise settings.fault(setting, "is unknown", f"one of {', '.join(SETTINGS)}")
            found.append((operator, setting, settings.inner(setting)))
    if not found:
        raise tables.fault("", "has no condition", "tables [budget.<operator>.<setting>.<load>.<stage>]")
    return found


def _stages(table: Table, objective: Budget) -> dict[Stage, Budget]:
    found = {}
    for name, _ in table.items():
        if name not in TIMED:
            raise table.fault(name, "is no stage with a budget", f"one of {', '.join(TIMED)}")
        found[Stage(name)] = _budget(table.inner(name), objective)
    return found


def _budget(table: Table, objective: Budget) -> Budget:
    found = Budget(
        most=_seconds(table, "max"),
        p50=_seconds(table, "p50") if table.has("p50") else None,
        p95=_seconds(table, "p95") if table.has("p95") else None,
        source=table.text("source"),
        why=table.text("why"),
    )
    table.finish()
    _in_order(table, found)
    if found.most > objective.most:
        most = show_duration(objective.most)
        raise table.fault("max", f"is {show_duration(found.most)}", f"at most the objective, which is {most}")
    return found


def _in_order(table: Table, budget: Budget) -> None:
    given = [(key, limit) for key in ("p50", "p95", "max") if (limit := budget.limit(key)) is not None]
    for (key, less), (other, more) in pairwise(given):
        if less > more:
            raise table.fault(key, f"is {show_duration(less)}", f"at most {other}, which is {show_duration(more)}")


def _growth(table: Table) -> Growth:
    found = Growth(
        factor=_factor(table),
        subjects=_whole(table, "subjects"),
        floor=_seconds(table, "floor"),
        factors={stage: _own_factor(table.inner(stage)) for stage in TIMED if table.has(stage)},
        source=table.text("source"),
        why=table.text("why"),
    )
    table.finish()
    return found


def _own_factor(table: Table) -> float:
    found = _factor(table)
    table.text("source")
    table.text("why")
    table.finish()
    return found


def _factor(table: Table) -> float:
    accepted = "a number from 1 on, as in 2.0"
    value = table.number("factor", accepted)
    if value < 1:
        raise table.fault("factor", f"is {value:g}", accepted)
    return value


def _whole(table: Table, key: str) -> int:
    accepted = "a whole number above 1"
    value = table.number(key, accepted)
    if value < 2 or value != int(value):
        raise table.fault(key, f"is {value:g}", accepted)
    return int(value)


def _seconds(table: Table, key: str) -> float:
    text = table.text(key, DURATION)
    try:
        seconds = parse_duration(text)
    except NotADuration as unreadable:
        raise table.fault(key, f"is '{text}'", DURATION) from unreadable
    if seconds <= 0:
        raise table.fault(key, f"is '{text}'", f"{DURATION}, above 0")
    return seconds
