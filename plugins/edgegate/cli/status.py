"""`edgegate status`: the running edges and their parts."""

import argparse
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from rich.console import Group, RenderableType
from rich.table import Table

from edgegate.cli import labs
from edgegate.cli.talk import EXIT_DONE, Talk
from edgegate.clock import show_duration
from edgegate.errors import LabGone
from edgegate.lab import Lab, ProcessStatus, registry

_COLOURS = {"running": "green", "paused": "yellow", "starting": "yellow", "restarting": "red", "exited": "red"}


@dataclass(frozen=True)
class Seen:
    """One edge as it was at a moment."""

    lab: Lab
    """Its lab."""
    parts: list[ProcessStatus]
    """Its process table."""
    leases: int
    """How many hold it."""
    kept: bool
    """Whether it lives without any."""

    @property
    def rss_bytes(self) -> int:
        """Resident memory of all its parts."""
        return sum(part.rss_bytes for part in self.parts)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    labs.add_name(parser)


def run(args: argparse.Namespace, talk: Talk) -> int:
    """Show each edge's processes: state, age, memory, restarts."""
    seen = list(_seen(labs.every() if args.name is None else [labs.chosen(args.name)]))
    drawn: list[RenderableType] = [_drawn(one) for one in seen]
    shown = Group(*drawn) if drawn else "no edge runs; start one with `edgegate up`"
    talk.result({"edges": [_data(one) for one in seen]}, shown)
    return EXIT_DONE


def _seen(edges: list[Lab]) -> Iterator[Seen]:
    """Yield each edge; one that has ended since it was listed is left out."""
    for lab in edges:
        try:
            yield Seen(lab, lab.status(), *lab.leases())
        except LabGone:
            if registry.alive(lab.folder):
                raise


def _data(seen: Seen) -> dict[str, object]:
    return {
        "name": seen.lab.name,
        "kept": seen.kept,
        "leases": seen.leases,
        "folder": str(seen.lab.folder),
        "network": seen.lab.net.block,
        "rss_bytes": seen.rss_bytes,
        "parts": [asdict(part) for part in seen.parts],
    }


def _drawn(seen: Seen) -> Table:
    users = "kept" if seen.kept else f"{seen.leases} users"
    title = f"{seen.lab.name} · {seen.lab.net.block} · {users} · {seen.rss_bytes / 2**20:,.0f} MiB"
    table = Table("part", "state", "for", "MiB", "restarts", title=title, title_justify="left")
    for part in seen.parts:
        colour = _COLOURS.get(part.state, "white")
        age = show_duration(part.uptime) if part.uptime else ""
        memory = f"{part.rss_bytes / 2**20:,.0f}"
        table.add_row(part.name, f"[{colour}]{part.state}[/]", age, memory, str(part.restarts))
    return table
