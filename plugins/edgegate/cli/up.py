"""`edgegate up`: start an edge and keep it."""

import argparse
import os
import secrets
from collections.abc import Mapping
from dataclasses import replace

from rich.table import Table

from edgegate import arguments as table
from edgegate.cli.talk import EXIT_DONE, Talk
from edgegate.clock import show_duration
from edgegate.components.graph import Took
from edgegate.edge import Edge
from edgegate.errors import BadSetting
from edgegate.forms import ATTACH


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    table.add_arguments(parser, ("backend", "nodes", "images", "set", "reuse", "replicas", "limit", "pins"))


def run(args: argparse.Namespace, talk: Talk) -> int:
    """Start an edge, or find that one which fits is running, and say how to use it."""
    inside_only = os.geteuid() != 0  # asked now: without root, opening the edge enters a namespace where we are root
    # Asked before the settings are read: they would ask for a kubeconfig, which `up` has no use for either.
    if (args.setting_backend or os.environ.get("EDGEGATE_BACKEND")) == ATTACH:
        origin = "--backend" if args.setting_backend else "EDGEGATE_BACKEND"
        raise BadSetting(origin, "an edge that somebody else runs is up already; pytest attaches.")
    settings = replace(table.from_arguments(args, os.environ), keep=True)

    def tell(took: Took) -> None:
        talk.say(f"  {took.name:<22} {show_duration(took.seconds):>9}")

    with talk.progress() as progress:
        edge = Edge.open(settings, f"kept-{secrets.token_hex(4)}", done=tell, progress=progress)
    with edge:
        try:
            data, shown = _described(edge, inside_only=inside_only)
        except BaseException:  # Ctrl-C too: nobody has been told of this edge, so nobody would end it
            if edge.opened.steps:  # it was not running before
                edge.lab.down()
            raise
        talk.result(data, shown)
    return EXIT_DONE


def _described(edge: Edge, *, inside_only: bool) -> tuple[dict[str, object], Table]:
    """Return what there is to say of an edge, for a program and for a person."""
    running = edge.versions().running
    data = {
        "name": edge.lab.name,
        "how": edge.opened.how,
        "seconds": round(edge.opened.seconds, 3),
        "address": edge.site.address,
        "versions": running,
        "kubeconfigs": {plane.name: str(plane.kubeconfig) for plane in (edge.downstream, edge.upstream)},
        "steps": {step.name: round(step.seconds, 3) for step in edge.opened.steps},
    }
    return data, _shown(edge, running, inside_only=inside_only)


def _shown(edge: Edge, running: Mapping[str, str], *, inside_only: bool) -> Table:
    shown = Table.grid(padding=(0, 2))
    shown.add_row("edge", f"{edge.lab.name} ({edge.opened.how}, {show_duration(edge.opened.seconds)})")
    shown.add_row("address", edge.site.address)
    shown.add_row("running", ", ".join(f"{name} {version}" for name, version in running.items()))
    for plane in (edge.downstream, edge.upstream):
        shown.add_row(plane.name, f"export KUBECONFIG={plane.kubeconfig}")
    if inside_only:
        shown.add_row("reach", "without root only from inside: edgegate exec -- COMMAND")
    shown.add_row("next", "edgegate status · pytest e2e/test_oidc_isolation.py · edgegate down")
    return shown
