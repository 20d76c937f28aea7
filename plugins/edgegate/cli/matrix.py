"""`edgegate matrix GATE`: run one gate over several version pairs and print the table."""

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rich.console import Group
from rich.markup import escape
from rich.table import Table

from edgegate import arguments as table
from edgegate import pins as pin_files
from edgegate.cli.gates import GATES, GateRun, run_gate, try_gate
from edgegate.cli.talk import EXIT_DONE, EXIT_FAIL, EXIT_UNAVAILABLE, Talk
from edgegate.errors import BadPair
from edgegate.pins import Pins
from edgegate.records import Verdict
from edgegate.report.folder import new_run_dir

GATEWAYS = ("1.7.0", "1.8.3", "1.9.1")
"""One release of each minor line of Envoy Gateway that production may meet."""
OLD_PROXY = "1.37.0"
"""The Envoy that production pins: every Envoy Gateway must be tried with it, because that is how #194 came about."""
_COLOURS = {"pass": "green", "fail": "red", "inconclusive": "yellow", "waived": "cyan"}


@dataclass(frozen=True)
class Cell:
    """What one phase of one scenario showed."""

    scenario: str
    """The test, as `valid_policy[Gateway]`."""
    phase: str
    """Its phase."""
    verdict: str
    """`pass`, `fail` or `inconclusive`."""
    subjects: tuple[str, ...]
    """Who was affected."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("gate", choices=sorted(GATES), help="The gate")
    parser.add_argument(
        "--pair",
        action="append",
        metavar="GATEWAY:ENVOY",
        help="A pair, as 1.8.3:1.37.0 (repeatable; built-in: each Envoy Gateway with its own Envoy and with 1.37.0)",
    )
    parser.add_argument("-k", dest="keyword", metavar="EXPRESSION", help="Only scenarios that match, as for pytest")
    table.add_arguments(parser, ("run_dir", "pins"))


def run(args: argparse.Namespace, talk: Talk) -> int:
    """Run every pair one after the other; exit status 1 when a pair fails, 75 when one is inconclusive."""
    settings = table.from_arguments(args, os.environ)
    pairs = chosen_pairs(pin_files.load(settings.pins), args.pair)
    folder = settings.run_dir or new_run_dir(Path.cwd())
    options = ["-k", args.keyword] if args.keyword else []
    options += ["--edge-pins", args.setting_pins] if args.setting_pins else []
    runs = {}
    for gateway, envoy in pairs:
        versions = {"envoy-gateway": gateway, "envoy": envoy}
        run_one = partial(run_gate, args.gate, versions, folder / f"{gateway}-{envoy}", talk, options=options)
        runs[gateway, envoy] = try_gate(run_one, talk)
    talk.result(_data(args.gate, runs), Group(*(_drawn(pair, one) for pair, one in runs.items()), summary(runs)))
    verdicts = {one.verdict for one in runs.values()}
    if Verdict.FAIL in verdicts:
        return EXIT_FAIL
    return EXIT_UNAVAILABLE if Verdict.INCONCLUSIVE in verdicts else EXIT_DONE


def chosen_pairs(pins: Pins, asked: Sequence[str] | None) -> list[tuple[str, str]]:
    """Return the pairs of Envoy Gateway and Envoy to run, each once.

    Raises:
        BadPair: a pair that was asked for is not of the form GATEWAY:ENVOY.
        UnknownVersion: pins.toml does not have one of them.
    """
    if not asked:
        own = [(gateway, pins.select({"envoy-gateway": gateway}).version("envoy")) for gateway in GATEWAYS]
        return list(dict.fromkeys(pair for gateway, envoy in own for pair in ((gateway, OLD_PROXY), (gateway, envoy))))
    pairs: dict[tuple[str, str], None] = {}
    for text in asked:
        gateway, colon, envoy = text.partition(":")
        if not (gateway and colon and envoy):
            raise BadPair(text)
        pairs[pins.pin("envoy-gateway").check(gateway), pins.pin("envoy").check(envoy)] = None
    return list(pairs)


def cells(report: GateRun) -> list[Cell]:
    """Return what each phase of each scenario showed."""
    found = []
    for test in report.report["tests"]:
        name = test["id"].partition("::")[2].removeprefix("test_")
        phases = test.get("phases") or [""]
        for phase in phases:
            wrong = [one for one in test["findings"] if one.get("during", "") == phase]
            verdict = test["verdict"] if test["verdict"] == "inconclusive" else "fail" if wrong else "pass"
            found.append(Cell(name, phase, verdict, tuple(dict.fromkeys(one["subject"] for one in wrong))))
    return found


def summary(runs: dict[tuple[str, str], GateRun]) -> Table:
    """Return one line a pair: its verdict, and how many phases were red."""
    drawn = Table("Envoy Gateway", "Envoy", "verdict", "red phases", "report", title="matrix", title_justify="left")
    for (gateway, envoy), one in runs.items():
        every = cells(one)
        red = sum(cell.verdict == "fail" for cell in every)
        verdict = f"[{_COLOURS[one.verdict]}]{one.verdict}[/]"
        ran = one.running
        drawn.add_row(
            ran.get("envoy-gateway", f"{gateway}?"),
            ran.get("envoy", f"{envoy}?"),
            verdict,
            f"{red} of {len(every)}",
            str(one.folder / "report.html"),
        )
    return drawn


def _drawn(pair: tuple[str, str], one: GateRun) -> Table:
    drawn = Table("scenario", "phase", "verdict", "affected", title=" × ".join(pair), title_justify="left")
    for cell in cells(one):
        verdict = f"[{_COLOURS[cell.verdict]}]{cell.verdict}[/]"
        drawn.add_row(escape(cell.scenario), escape(cell.phase), verdict, escape(", ".join(cell.subjects)))
    return drawn


def _data(gate: str, runs: dict[tuple[str, str], GateRun]) -> dict[str, object]:
    return {
        "gate": gate,
        "pairs": [
            {
                "asked": {"envoy-gateway": gateway, "envoy": envoy},
                "running": one.running,
                "verdict": one.verdict,
                "folder": str(one.folder),
                "cells": [vars(cell) for cell in cells(one)],
            }
            for (gateway, envoy), one in runs.items()
        ],
    }
