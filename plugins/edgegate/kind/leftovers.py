"""Clusters of ours whose creator is gone: found by the label of their network, told dead by a lock, removed."""

import logging
import re
from collections.abc import Callable
from pathlib import Path

from edgegate.artifacts.lock import unless_locked
from edgegate.kind.cluster import ALIVE_LABEL, NAME_LABEL, see_gone
from edgegate.kind.engine import CLUSTER_LABEL, Engine

_FORM = re.compile(r"(edgegate-[0-9a-f]{6})-(?:upstream|downstream)")
_log = logging.getLogger("edgegate.kind")


def is_dead(alive: Path) -> bool:
    """Tell whether nobody holds the lock of an edge any more; a file that is gone was held by nobody."""
    if not alive.is_file():
        return True
    with unless_locked(alive) as ours:
        return ours


def reap(engine: Engine, dead: Callable[[Path], bool] = is_dead) -> list[str]:
    """Remove the clusters and networks of edges that nobody uses any more; return the edges' names.

    Whatever has neither a label of ours nor a name of our form is never touched.

    Raises:
        ClusterNotGone, CommandFailed: one of them resists.
    """
    reaped = []
    for network in engine.networks(NAME_LABEL):
        labels = network["Labels"]
        if not dead(Path(labels.get(ALIVE_LABEL, ""))):
            continue
        name = labels[NAME_LABEL]
        _log.info("removing what a dead edge left: %s", name)
        remove(engine, name)
        reaped.append(name)
    return [*reaped, *_orphans(engine)]


def _orphans(engine: Engine) -> list[str]:
    """Remove clusters with names of our form whose network is gone; return the edges' names.

    A container that was asked for just before its creator was killed can come to be after the rest was removed. An edge
    that is alive has its network from before its first cluster until after its last one.
    """
    known = {network["Labels"][NAME_LABEL] for network in engine.networks(NAME_LABEL)}
    found = {cluster: form[1] for cluster in _clusters(engine, "edgegate") if (form := _FORM.fullmatch(cluster))}
    left = {cluster: edge for cluster, edge in found.items() if edge not in known}
    for cluster in left:
        see_gone(engine, cluster)
    return sorted(set(left.values()))


def remove(engine: Engine, name: str) -> None:
    """Remove everything of one edge: every container of its clusters, then its network. Raises as `reap`."""
    for cluster in _clusters(engine, name):
        see_gone(engine, cluster)
    engine.remove_network(name)


def _clusters(engine: Engine, name: str) -> list[str]:
    """Return the names of an edge's clusters, those included that kind has only begun."""
    form = f'{{{{.Label "{CLUSTER_LABEL}"}}}}'
    said = engine.run("ps", "--all", "--filter", f"label={CLUSTER_LABEL}", "--format", form).stdout
    return sorted({line for line in said.splitlines() if line.startswith(f"{name}-")})
