"""`edgegate doctor`: check this machine and say how to fix what is missing."""

import argparse
import os
from dataclasses import asdict

from rich.table import Table
from rich.text import Text

from edgegate import arguments as table
from edgegate import pins as pin_files
from edgegate.artifacts import Store
from edgegate.artifacts.toolchain import on_path
from edgegate.cli.checks import Finding, examine
from edgegate.cli.machine import Machine
from edgegate.cli.talk import EXIT_DONE, EXIT_FAIL, Talk
from edgegate.settings import Settings


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    table.add_arguments(parser, ("set", "pins"))


def run(args: argparse.Namespace, talk: Talk) -> int:
    """Show every finding with its fix; 1 when one of them stops a run."""
    findings = examine(this_machine(table.from_arguments(args, os.environ)))
    ready = not any(found.stops and not found.ok for found in findings)
    talk.result({"ready": ready, "findings": [asdict(found) for found in findings]}, _shown(findings))
    talk.say("An edge can run here." if ready else "An edge cannot run here as long as a finding says 'stops'.")
    return EXIT_DONE if ready else EXIT_FAIL


def this_machine(settings: Settings) -> Machine:
    """Return the machine that we are on, and what a run with these settings would still have to build."""
    from edgegate.components.bring_up import PINS

    pins, store = pin_files.load(settings.pins), Store(settings.cache)
    selection = pins.select(settings.set, settings.parts("set"))
    there = {name: store.find(pins, name, selection.version(name)) for name in PINS}
    nftables = there["nftables"]
    return Machine(
        cache=store.root,
        missing=[pins.pin(name) for name, artifact in there.items() if artifact is None],
        nft=nftables.binary("nft") if nftables else None,
        nft_env=nftables.env if nftables else {},
        go=_go_version,
    )


def _go_version() -> str | None:
    found = on_path(os.environ.get("PATH"))
    return found.version if found else None


def _shown(findings: list[Finding]) -> Table:
    shown = Table.grid(padding=(0, 2))
    for found in findings:
        mark = "[green]ok[/]" if found.ok else "[red]stops[/]" if found.stops else "[yellow]note[/]"
        shown.add_row(mark, found.what, Text(found.seen))
        if not found.ok:
            shown.add_row("", "", Text(f"→ {found.fix}"))
    return shown
