"""`edgegate images build`: the node image and the components' images, from the store and without a registry."""

import argparse
import os
import time

from rich.table import Table

from edgegate import arguments as table
from edgegate import pins as pin_files
from edgegate.artifacts import Store
from edgegate.cli.talk import EXIT_DONE, Talk
from edgegate.clock import show_duration
from edgegate.settings import Settings


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("verb", choices=("build",), help="What to do: build them, unless they are in the cache")
    table.add_arguments(parser, ("set", "pins"))


def run(args: argparse.Namespace, talk: Talk) -> int:
    """See that every image is in the cache, and say where it is."""
    from edgegate.kind.images import COMPONENT_PINS, NODE_PINS, Images, tags

    settings: Settings = table.from_arguments(args, os.environ)
    pins = pin_files.load(settings.pins)
    selection = pins.select(settings.set, settings.parts("set"))
    wanted = dict.fromkeys((*NODE_PINS, *COMPONENT_PINS))
    with talk.progress() as progress:
        artifacts = Store(settings.cache).ensure_all(pins, selection, wanted, progress)
        began = time.monotonic()
        images = Images(settings.cache, artifacts, progress)
        made = [images.node(), *(images.component(pin, tags(pins, artifacts[pin])) for pin in COMPONENT_PINS)]
        seconds = time.monotonic() - began
    data = [{"name": one.name, "tags": one.tags, "id": one.id, "path": str(one.path)} for one in made]
    shown = Table("image", "reference", "MiB", "file", caption=show_duration(seconds), caption_justify="left")
    for one in made:
        shown.add_row(one.name, one.tags[0], f"{one.path.stat().st_size / 2**20:.0f}", one.path.name)
    talk.result({"images": data, "seconds": round(seconds, 3)}, shown)
    return EXIT_DONE
