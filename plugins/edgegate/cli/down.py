"""`edgegate down`: stop a kept edge; nothing of it stays."""

import argparse

from edgegate.cli import labs
from edgegate.cli.talk import EXIT_DONE, Talk
from edgegate.kind import leftovers
from edgegate.kind.cluster import RECORD as CLUSTERS
from edgegate.kind.engine import Engine


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    which = parser.add_mutually_exclusive_group()
    labs.add_name(which)
    which.add_argument("--all", action="store_true", help="Every running edge")


def run(args: argparse.Namespace, talk: Talk) -> int:
    """Stop one edge, or all; none running is fine too, so that it can be called twice."""
    running = labs.every()
    stopped = running if args.all or not running else [labs.chosen(args.name)]
    with_clusters = [lab.name for lab in stopped if (lab.folder / CLUSTERS).exists()]
    for lab in stopped:
        lab.down()
    if with_clusters:
        leftovers.reap(Engine.find())
    labs.every()  # looking for what runs clears away the folders of what does not
    names = [lab.name for lab in stopped]
    talk.result({"stopped": names}, "\n".join(f"stopped {name}" for name in names) or "no edge runs")
    return EXIT_DONE
