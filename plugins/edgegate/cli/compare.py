"""`edgegate compare`: two runs of the same gates side by side."""

import argparse
import json
from collections.abc import Iterable
from pathlib import Path

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table

from edgegate.cli.talk import EXIT_DONE, EXIT_FAIL, Talk
from edgegate.errors import BadReport
from edgegate.report.comparison import Comparison, GatePair, compare
from edgegate.report.folder import SCHEMA, Document

COLOURS = {"pass": "green", "fail": "red", "inconclusive": "yellow", "waived": "cyan", "missing": "magenta"}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    for name, which in (("first", "one run"), ("second", "the other one")):
        parser.add_argument(name, metavar="RUN", type=Path, help=f"Folder of {which}, or its report.json")


def run(args: argparse.Namespace, talk: Talk) -> int:
    """Show both; 1 when a verdict differs."""
    both = compare(read(args.first), read(args.second))
    talk.result(both.as_data(), _shown(both))
    return EXIT_FAIL if both.differs else EXIT_DONE


def read(path: Path) -> Document:
    """Return what a run reported.

    Raises:
        BadReport: there is no report at that place, or one of another schema.
    """
    file = path / "report.json" if path.is_dir() else path
    try:
        found: Document = json.loads(file.read_text())
        schema = found["schema"]
    except OSError as error:
        raise BadReport(file, f"cannot be read: {error.strerror}") from error
    except (ValueError, TypeError, KeyError) as error:
        raise BadReport(file, "is no report.json") from error
    if schema != SCHEMA:
        raise BadReport(file, f"has schema {schema}, this edgegate reads {SCHEMA}")
    try:
        compare(found, found)  # whatever it lacks, it is this file that lacks it
    except (AttributeError, KeyError, TypeError) as error:
        named = "it lacks " if isinstance(error, KeyError) else ""
        raise BadReport(file, f"is no whole report.json: {named}{error}") from error
    return found


def _shown(both: Comparison) -> RenderableType:
    tables: list[RenderableType] = [_gates(both.gates)]
    if both.stages:
        tables.append(_stages(both))
    if both.versions:
        told = (escape(f"{name} {one or '–'} · {other or '–'}") for name, (one, other) in both.versions.items())
        tables.append(f"running differently: {', '.join(told)}")
    tables.append(_told(both))
    return Group(*tables)


def _told(both: Comparison) -> str:
    if not both.gates:
        return "neither run has a gate, so there is nothing to compare"
    return "the verdicts differ" if both.differs else "the verdicts are the same"


def _gates(gates: Iterable[GatePair]) -> Table:
    table = Table("gate", "first", "second", "first, s", "second, s", title="verdicts")
    for gate in gates:
        table.add_row(escape(gate.name), *map(_verdict, gate.verdicts), *map(_seconds, gate.seconds))
        for test, said in gate.tests.items():
            table.add_row(escape(f"  {test.rpartition('::')[2]}"), *map(_verdict, said))
    return table


def _stages(both: Comparison) -> Table:
    table = Table("gate", "stage", "measure", "first, s", "second, s", "second/first", title="stages")
    for row in both.stages:
        one, other = row.seconds
        ratio = f"{other / one:.2f}" if one and other else "–"
        gate = f"{row.gate}, {row.during}" if row.during else row.gate
        table.add_row(escape(gate), escape(row.stage), row.measure, _seconds(one), _seconds(other), ratio)
    return table


def _verdict(said: str) -> str:
    colour = COLOURS.get(said)
    return f"[{colour}]{said}[/]" if colour else escape(said)


def _seconds(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
