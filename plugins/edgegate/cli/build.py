"""`edgegate build`: build or download what a run needs."""

import argparse
import os
import time
from collections.abc import Sequence

from rich.table import Table

from edgegate import arguments as table
from edgegate import pins as pin_files
from edgegate.artifacts import Artifact, Store
from edgegate.cli.talk import EXIT_DONE, Talk
from edgegate.clock import show_duration
from edgegate.errors import BadSetting
from edgegate.pins import Pins
from edgegate.settings import Settings


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument(
        "components", nargs="*", metavar="COMPONENT", help="What to build (built-in: what an edge needs)"
    )
    parser.add_argument("--parts", action="store_true", help="Also what the further parts need: DNS, ACME, operator")
    parser.add_argument("--all", action="store_true", help="Every component in every pinned version, to copy elsewhere")
    table.add_arguments(parser, ("set", "pins"))


def run(args: argparse.Namespace, talk: Talk) -> int:
    """See that every artifact is in the store, and say where it is."""
    settings = table.from_arguments(args, os.environ)
    pins = pin_files.load(settings.pins)
    wanted = _wanted(pins, settings, args.components, parts=args.parts, every=args.all)
    store, began = Store(settings.cache), time.monotonic()
    built = [f"{name} {version}" for name, version in wanted if store.find(pins, name, version) is None]
    with talk.progress() as progress:
        artifacts = store.ensure_each(pins, wanted, progress)
    seconds = time.monotonic() - began
    data = {"artifacts": [_data(one) for one in artifacts], "built": built, "seconds": round(seconds, 3)}
    talk.result(data, _shown(store, artifacts, built, seconds))
    return EXIT_DONE


def _wanted(pins: Pins, settings: Settings, names: Sequence[str], *, parts: bool, every: bool) -> list[tuple[str, str]]:
    """Return name and version of each artifact that was asked for."""
    from edgegate.components.bring_up import PINS
    from edgegate.components.parts import PARTS, Parts

    selection = pins.select(settings.set, settings.parts("set"))
    if every and (names or settings.set):
        raise BadSetting("--all", "a component or a version is named too, which --all would ignore. Leave one out.")
    if every:
        return [(name, version) for name, pin in pins.pins.items() for version in pin.versions]
    # A version that was asked for is built, whether or not an edge is made of that component.
    chosen = dict.fromkeys([*names] or [*PINS, *settings.set])
    chosen |= dict.fromkeys(Parts.choose(tuple(PARTS)).pins if parts else ())
    return [(name, selection.version(name)) for name in chosen]


def _data(artifact: Artifact) -> dict[str, object]:
    return {
        "name": artifact.name,
        "version": artifact.version,
        "path": str(artifact.path),
        "binaries": {name: str(artifact.binary(name)) for name in artifact.manifest.binaries},
        "environment": artifact.env,
        "built_with": artifact.manifest.built_with,
        "seconds": artifact.manifest.seconds,
    }


def _shown(store: Store, artifacts: Sequence[Artifact], built: Sequence[str], seconds: float) -> Table:
    caption = f"{len(built)} made in {show_duration(seconds)}, {len(artifacts) - len(built)} were there · {store.root}"
    shown = Table("component", "version", "made in", "folder", caption=caption, caption_justify="left")
    for one in artifacts:
        shown.add_row(one.name, one.version, show_duration(one.manifest.seconds), one.path.name)
    return shown
