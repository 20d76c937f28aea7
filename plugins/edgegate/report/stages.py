"""Stages against budgets, a table a gate; made from the content of report.json's tests and nothing else."""

from collections.abc import Iterable, Iterator
from typing import Any

from edgegate.report.folder import Document
from edgegate.stages import TIMED, Stage
from edgegate.traffic import Spread

MEASURES = ("p50", "p95", "max")
"""What is known of a stage of several subjects."""


def tables(tests: Iterable[Document]) -> list[Document]:
    """Return one table for each phase and budgets that the tests of a gate have; subjects of several tests are one.

    Each has `budgets`, `during`, `subjects` (how many), `measures` (its columns), `rows` and `causes`. A row has
    `stage`, `p50`, `p95`, `max` in seconds, `limits` with the same names, `over` (which of them is over its limit) and
    `saturated`. A cause has `text`, `saturated` and the `stages` that are late by it.
    """
    groups: dict[tuple[str, str], list[Document]] = {}
    for test in tests:
        for group in test["stages"]:
            groups.setdefault((group["during"], group["budgets"]), []).append(group)
    return [_table(during, budgets, found) for (during, budgets), found in groups.items()]


def _table(during: str, budgets: str, groups: list[Document]) -> Document:
    subjects = [subject for group in groups for subject in group["subjects"]]
    judged = [one for group in groups for one in group["judged"]]
    rows = [row for stage in TIMED if (row := _row(stage, subjects, judged)) is not None]
    return {
        "budgets": budgets,
        "during": during,
        "subjects": len(subjects),
        "measures": MEASURES if len(subjects) > 1 else MEASURES[2:] if subjects else MEASURES[:1],
        "rows": rows,
        "causes": _causes(judged),
    }


def _row(stage: Stage, subjects: list[Document], judged: list[Document]) -> Document | None:
    """Return the row of a stage; None when nothing is known of it."""
    times = [one["seconds"] for subject in subjects for one in subject["times"] if one["stage"] == stage]
    own = [one for one in judged if one["stage"] == stage]
    wrong = [one for one in own if not one["right"]]
    # Growth is judged by medians, and the subjects are in other groups.
    medians = [] if subjects else [one["seen"] for one in own if one["measure"] == "growth"]
    if not (times or wrong or medians):
        return None
    spread = Spread.of(times or medians)
    seen = (spread.p50, spread.p95, spread.most) if times or medians else (None, None, None)
    return {
        "stage": str(stage),
        **dict(zip(MEASURES, seen, strict=True)),
        "limits": {**dict.fromkeys(MEASURES), **{_column(one): one["limit"] for one in own if one["limit"]}},
        "over": list(dict.fromkeys(_column(one) for one in wrong)),
        "saturated": bool(wrong) and all(one["saturated"] for one in wrong),
    }


def _column(judged: Document) -> str:
    """Return the column in which a judgement is shown."""
    measure: str = judged["measure"]
    return {"growth": "p50", "all": "max"}.get(measure, measure)


def _causes(judged: list[Document]) -> list[Document]:
    """Return what ate the time, the greatest times first: what was judged last in a group tells most."""
    groups: dict[Any, list[Document]] = {}
    for one in judged:
        if not one["right"]:
            groups.setdefault((one["eater"] or one["ate"], one["saturated"]), []).append(one)
    return [
        {
            "text": group[-1]["ate"],
            "saturated": group[-1]["saturated"],
            "stages": list(dict.fromkeys(one["stage"] for one in group)),
        }
        for group in groups.values()
    ]


def lines(table: Document) -> Iterator[tuple[str, str]]:
    """Yield a table's lines for a terminal, each with `fail`, `inconclusive` or an empty text: how it is to be shown.

    A cell is `seconds/limit`. What ate the time comes behind the rows.
    """
    phase = f", {table['during']}" if table["during"] else ""
    many = f"{table['subjects']} subject{'' if table['subjects'] == 1 else 's'}, " if table["subjects"] else ""
    yield f"{many}{table['budgets'] or 'no budgets'}{phase}; seconds/budget:", ""
    for row in table["rows"]:
        cells = "  ".join(f"{measure} {_cell(row, measure):<12}" for measure in table["measures"])
        mark = f"  {'saturated' if row['saturated'] else 'OVER'}" if row["over"] else ""
        yield f"  {row['stage']:<17}  {cells if mark else cells.rstrip()}{mark}", standing(row)
    for cause in table["causes"]:
        yield f"  {cause['text']}", "inconclusive" if cause["saturated"] else "fail"


def standing(row: Document) -> str:
    """Return `fail` for a row that is over a limit, `inconclusive` when that says nothing, else an empty text."""
    return ("inconclusive" if row["saturated"] else "fail") if row["over"] else ""


def _cell(row: Document, measure: str) -> str:
    if row[measure] is None:
        return "never came"
    limit = row["limits"][measure]
    return f"{row[measure]:.2f}" + ("" if limit is None else f"/{limit:.2f}")
