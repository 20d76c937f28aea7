"""Which running edge a command is about."""

import argparse
import os

from edgegate import arguments as table
from edgegate.errors import NoEdgeRuns, WhichEdge
from edgegate.lab import Lab, registry


def add_name(parser: argparse._ActionsContainer) -> None:
    """Add the option that names one of several edges."""
    parser.add_argument("--name", metavar="EDGE", help="Name of the edge, where several run (see `edgegate status`)")


def every() -> list[Lab]:
    """Return all running edges of this user, oldest first; folders of dead ones are cleared away.

    None is asked anything, so that one whose supervisor hangs can be listed and stopped too.
    """
    cache = table.from_arguments(argparse.Namespace(), os.environ).cache
    registry.sweep(cache)
    found = sorted(registry.labs(cache), key=lambda one: one[1].created)
    return [Lab(folder, record) for folder, record in found]


def chosen(name: str | None) -> Lab:
    """Return the edge of that name, or the only one, or the only kept one beside those of running tests.

    Raises:
        NoEdgeRuns: none runs, or none of that name.
        WhichEdge: several run and no name was given.
    """
    labs = [lab for lab in every() if name is None or lab.name == name]
    if not labs:
        raise NoEdgeRuns(name)
    kept = [lab for lab in labs if lab.record.kept]
    if len(labs) > 1 and len(kept) == 1:
        return kept[0]
    if len(labs) > 1:
        raise WhichEdge([lab.name for lab in labs])
    return labs[0]
