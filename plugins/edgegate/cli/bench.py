"""`edgegate bench`: how long an edge takes to start, to be used again and to stop, what it weighs, and how closely
its probes look."""

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from rich.table import Table

from edgegate import arguments as table
from edgegate.cli import labs
from edgegate.cli.gates import scenario_file
from edgegate.cli.talk import EXIT_DONE, Talk
from edgegate.clock import MONOTONIC
from edgegate.edge import sentinel, tenant
from edgegate.errors import CommandFailed, EdgeInTheWay
from edgegate.probes.machine import Machine
from edgegate.settings import Settings

GATE = "oidc-isolation"
"""The gate whose duration is measured, on an edge of its own from a kept base state."""
IDLE_SECONDS = 5.0
"""How long a started edge is left alone before its memory is read."""
UNITS = {"memory_mib": "MiB", "probe_cpu": "of one core"}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--rounds", type=_rounds, default=5, help="Rounds, %(default)s by default")
    parser.add_argument("--without-gate", action="store_true", help=f"Leave the gate {GATE} out")


def _rounds(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"'{text}' is no number of rounds. Accepted: 1, 2, 3 …")
    return int(text)


def run(args: argparse.Namespace, talk: Talk) -> int:
    """Measure and print minimum, median and maximum of each figure."""
    settings = table.from_arguments(args, os.environ)
    if running := labs.every():
        raise EdgeInTheWay([lab.name for lab in running])
    figures: dict[str, list[float]] = {}
    machine = Machine()
    for number in range(1, args.rounds + 1):
        talk.say(f"round {number} of {args.rounds}")
        for name, value in _round(settings, with_gate=not args.without_gate).items():
            figures.setdefault(name, []).append(value)
            talk.say(f"  {name:<18} {value:8.3f} {UNITS.get(name, 's')}")
    data = {
        "machine": {"processors": os.cpu_count(), "kernel": platform.release(), **vars(machine.load())},
        "figures": {name: _spread(values) | {"unit": UNITS.get(name, "s")} for name, values in figures.items()},
    }
    talk.result(data, _drawn(figures))
    return EXIT_DONE


def _round(settings: Settings, *, with_gate: bool) -> dict[str, float]:
    """Return one value of each figure."""
    shutil.rmtree(settings.cache / "base", ignore_errors=True)
    found = {"first_start": _up()["seconds"]}
    _timed(["down"])
    started = _up()
    found["warm_start"] = started["seconds"]
    found["up_again"], again = _timed(["up"])
    found["reuse"] = again["seconds"]
    MONOTONIC.sleep(IDLE_SECONDS)
    (edge,) = _edgegate(["status"])["edges"]
    found["memory_mib"] = edge["rss_bytes"] / 2**20
    found |= _probes(started["address"])
    found["down"], _ = _timed(["down"])
    if with_gate:
        found["gate"] = _gate()
    return found


def _up() -> dict[str, Any]:
    return _edgegate(["up"])


def _probes(address: str) -> dict[str, float]:
    where = ["--http", f"{address}:80", "--https", f"{address}:443", "--host", tenant.host_of(sentinel.NAMESPACE)]
    seen = _json([sys.executable, "-m", "edgegate.probes.measure", *where, "--copies", "2", "--seconds", "5"])
    return {"probe_gap_p95": seen["gap_p95"], "probe_gap_max": seen["gap_max"], "probe_cpu": seen["cpu"]}


def _gate() -> float:
    began = MONOTONIC.now()
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(scenario_file(GATE))]
    done = subprocess.run(argv, check=False, stdout=sys.stderr)
    if done.returncode != 0:
        raise CommandFailed(argv, status=done.returncode, output="a figure of a red run says nothing")
    return MONOTONIC.now() - began


def _timed(words: Sequence[str]) -> tuple[float, dict[str, Any]]:
    began = MONOTONIC.now()
    answer = _edgegate(words)
    return MONOTONIC.now() - began, answer


def _edgegate(words: Sequence[str]) -> dict[str, Any]:
    return _json([sys.executable, "-m", "edgegate.cli", *words, "--json"])


def _json(argv: Sequence[str]) -> dict[str, Any]:
    """Run one of our own commands and return the object that it prints."""
    done = subprocess.run(argv, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        raise CommandFailed(list(argv), status=done.returncode, output=done.stdout + done.stderr)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _spread(values: list[float]) -> dict[str, Any]:
    return {"min": min(values), "median": statistics.median(values), "max": max(values), "values": values}


def _drawn(figures: dict[str, list[float]]) -> Table:
    drawn = Table("figure", "unit", "minimum", "median", "maximum")
    for name, values in figures.items():
        spread = _spread(values)
        drawn.add_row(name, UNITS.get(name, "s"), *(f"{spread[key]:.3f}" for key in ("min", "median", "max")))
    return drawn
