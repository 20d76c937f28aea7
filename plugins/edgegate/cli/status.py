"""`edgegate status`: the running edges and their parts."""

import argparse
from dataclasses import asdict

from rich.console import Group, RenderableType
from rich.table import Table

from edgegate.cli import labs
from edgegate.cli.talk import EXIT_DONE, Talk
from edgegate.clock import show_duration
from edgegate.lab import Lab, ProcessStatus

_COLOURS = {"running": "green", "paused": "yellow", "starting": "yellow", "exited": "red"}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    labs.add_name(parser)


def run(args: argparse.Namespace, talk: Talk) -> int:
    """Show each edge's processes: state, age, memory, restarts."""
    shown = [(lab, lab.status()) for lab in labs.every() if args.name in (None, lab.name)]
    data = [_data(lab, parts) for lab, parts in shown]
    drawn: list[RenderableType] = [_drawn(lab, parts) for lab, parts in shown]
    talk.result({"edges": data}, Group(*drawn) if drawn else "no edge runs; start one with `edgegate up`")
    return EXIT_DONE


def _data(lab: Lab, parts: list[ProcessStatus]) -> dict[str, object]:
    leases, kept = lab.leases()
    return {
        "name": lab.name,
        "kept": kept,
        "leases": leases,
        "folder": str(lab.folder),
        "network": lab.net.block,
        "rss_bytes": sum(part.rss_bytes for part in parts),
        "parts": [asdict(part) for part in parts],
    }


def _drawn(lab: Lab, parts: list[ProcessStatus]) -> Table:
    leases, kept = lab.leases()
    total = sum(part.rss_bytes for part in parts) / 2**20
    title = f"{lab.name} · {lab.net.block} · {'kept' if kept else f'{leases} users'} · {total:,.0f} MiB"
    table = Table("part", "state", "for", "MiB", "restarts", title=title, title_justify="left")
    for part in parts:
        colour = _COLOURS.get(part.state, "white")
        age = show_duration(part.uptime) if part.uptime else ""
        memory = f"{part.rss_bytes / 2**20:,.0f}"
        table.add_row(part.name, f"[{colour}]{part.state}[/]", age, memory, str(part.restarts))
    return table
