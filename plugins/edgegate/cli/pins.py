"""`edgegate pins`: every pinned version, its age, why it is pinned, and whether that is what runs."""

import argparse
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import date

from rich.console import Group, RenderableType
from rich.text import Text

from edgegate import arguments as table
from edgegate import pins as pin_files
from edgegate.cli import labs
from edgegate.cli.talk import EXIT_DONE, EXIT_FAIL, Talk
from edgegate.pins import Chosen, Pin
from edgegate.pins.model import FROM_PINS


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    table.add_arguments(parser, ("set", "pins"))


def run(args: argparse.Namespace, talk: Talk) -> int:
    """Show the pins; 1 when one has drifted or its review is overdue."""
    settings = table.from_arguments(args, os.environ)
    pins = pin_files.load(settings.pins)
    selection = pins.select(settings.set, settings.parts("set"))
    running, today = running_versions(), date.today()
    rows = [_row(pin, selection.chosen(name), running.get(name), today) for name, pin in pins.pins.items()]
    wrong = [row for row in rows if row.drift or row.overdue]
    talk.result({"file": str(pins.path), "pins": [asdict(row) for row in rows]}, _shown(rows))
    for row in wrong:
        talk.say(_complaint(row))
    return EXIT_FAIL if wrong else EXIT_DONE


def running_versions() -> Mapping[str, str]:
    """Return component to the version that runs, asked from the process itself; empty where no edge runs."""
    running = labs.every()
    if not running:
        return {}
    from edgegate.edge.versions import versions_in
    from edgegate.lab.privileges import ensure_privileges

    ensure_privileges(running[0].record.launcher_pid)
    return versions_in(running[0]).running


@dataclass(frozen=True)
class Row:
    """What is told about one pin."""

    name: str
    """The component."""
    asked: str
    """The version of this run."""
    origin: str
    """Who chose it."""
    running: str | None
    """The version that runs, where an edge does."""
    drift: bool
    """What runs is not what was asked for."""
    age_days: int
    """Days since `age_since`."""
    age_since: str
    """`published`, or `pinned` where the day of the release is not known."""
    review_by: date
    """When somebody has to look at the pin again."""
    overdue: bool
    """That day has passed."""
    why: str
    """Why this version."""
    unpin_when: str
    """What has to be true before another one may be the default."""
    production: str | None
    """What production runs, where the pin deviates."""
    production_why: str | None
    """Why it deviates."""


def _row(pin: Pin, chosen: Chosen, running: str | None, today: date) -> Row:
    return Row(
        name=pin.name,
        asked=chosen.version,
        origin=chosen.origin,
        running=running,
        drift=running is not None and running != chosen.version,
        age_days=(today - pin.published.get(chosen.version, pin.pinned)).days,
        age_since="published" if chosen.version in pin.published else "pinned",
        review_by=pin.review_by,
        overdue=today > pin.review_by,
        why=pin.why,
        unpin_when=pin.unpin_when,
        production=pin.production,
        production_why=pin.production_why,
    )


def _complaint(row: Row) -> str:
    if row.drift:
        return (
            f"drift: {row.name} {row.running} runs, but {row.asked} is asked for ({row.origin}). "
            "Stop the edge with `edgegate down`, or ask for the running version with --set."
        )
    return (
        f"overdue: the review of {row.name} {row.asked} was due on {row.review_by}. It may be unpinned when: "
        f"{row.unpin_when} Look at it, then move review-by in pins.toml."
    )


def _shown(rows: list[Row]) -> Group:
    return Group(*(part for row in rows for part in _lines(row)))


def _lines(row: Row) -> list[RenderableType]:
    """Return one pin as a head line and indented sentences, which fit every width."""
    asked = row.asked if row.origin == FROM_PINS else f"{row.asked} ({row.origin})"
    running = f" · [red]{row.running} runs[/]" if row.drift else f" · {row.running} runs" if row.running else ""
    review = f"[red]review was due {row.review_by}[/]" if row.overdue else f"review by {row.review_by}"
    story = [f"why: {row.why}", f"unpin when: {row.unpin_when}"]
    if row.production:
        story.append(f"production runs {row.production}: {row.production_why}")
    head = f"[bold]{row.name}[/] {asked}{running} · {row.age_since} {row.age_days} days ago · {review}"
    return [head, *(Text(f"    {line}") for line in story)]
