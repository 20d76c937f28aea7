"""Clusters of ours whose creator is gone: found by the label of their network, told dead by a lock, removed."""

import logging
from collections.abc import Callable
from pathlib import Path

from edgegate.artifacts.lock import unless_locked
from edgegate.kind.cluster import ALIVE_LABEL, NAME_LABEL, see_gone
from edgegate.kind.engine import CLUSTER_LABEL, Engine

_log = logging.getLogger("edgegate.kind")


def is_dead(alive: Path) -> bool:
    """Tell whether nobody holds the lock of an edge any more; a file that is gone was held by nobody."""
    if not alive.is_file():
        return True
    with unless_locked(alive) as ours:
        return ours


def reap(engine: Engine, dead: Callable[[Path], bool] = is_dead) -> list[str]:
    """Remove the clusters and networks of edges that nobody uses any more; return the edges' names.

    Whatever has no label of ours is never looked at.

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
    return reaped


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
