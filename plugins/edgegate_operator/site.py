"""What a controller sees of the world: one project's API server and the downstream one, by way of their caches."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from edgegate_operator.core.cache import Cache
from edgegate_operator.core.controller import Request
from edgegate_operator.core.executor import Planes
from edgegate_operator.core.metrics import Metrics
from edgegate_operator.core.plan import Plan, Plane
from edgegate_operator.core.queue import Backoff
from edgegate_operator.kinds import NAMESPACE, Kind, Obj
from edgegate_operator.names import CLUSTER_LABEL, NAME_LABEL, NAMESPACE_LABEL, cluster_label, namespace_for, origin_key
from edgegate_operator.settings import Settings


@dataclass(frozen=True)
class Site:
    """One project together with the downstream cluster; without a project: the downstream cluster alone."""

    project: str
    """Name of the project; empty for the downstream cluster alone."""
    planes: Planes
    """API servers and caches."""
    settings: Settings
    """Configuration."""
    metrics: Metrics
    """Metrics of this process."""

    def up(self, kind: Kind) -> Cache:
        """Return the cache of a kind upstream."""
        return self.planes.caches[Plane.UP, kind]

    def down(self, kind: Kind) -> Cache:
        """Return the cache of a kind downstream."""
        return self.planes.caches[Plane.DOWN, kind]

    def downstream_namespace(self, namespace: str) -> str | None:
        """Return where objects of an upstream namespace go, or None if that namespace is gone."""
        space = self.up(NAMESPACE).get("", namespace)
        return namespace_for(space) if space else None

    def made_from(self, kind: Kind, namespace: str, name: str) -> list[Obj]:
        """Return the downstream objects of a kind whose labels name that upstream object of this project."""
        return self.down(kind).find("origin", origin_key(cluster_label(self.project), namespace, name))

    def origin(self, obj: Obj) -> tuple[str, str] | None:
        """Return namespace and name of the upstream object of a downstream one; None if it is not this project's."""
        labels = obj["metadata"].get("labels") or {}
        if labels.get(CLUSTER_LABEL) != cluster_label(self.project):
            return None
        return labels.get(NAMESPACE_LABEL, ""), labels.get(NAME_LABEL, "")


Names = Iterable[tuple[str, str]]
"""Namespaces and names."""


@dataclass(frozen=True)
class Watch:
    """A change to an object of that kind makes the controller look at what `wake` names."""

    plane: Plane
    """Where."""
    kind: Kind
    """Which kind."""
    wake: Callable[[Site, Obj], Names]
    """Asked for the object before and after the change."""
    about: Callable[[Obj], object] | None = None
    """What of the object matters: a change that leaves it equal wakes nobody. None: everything."""


def itself(_site: Site, obj: Obj) -> Names:
    """Wake for the object itself."""
    yield obj["metadata"].get("namespace", ""), obj["metadata"]["name"]


def origin(site: Site, obj: Obj) -> Names:
    """Wake for the upstream object that a downstream one was made from."""
    found = site.origin(obj)
    if found:
        yield found


def owned_by(kind: Kind) -> Callable[[Site, Obj], Names]:
    """Wake for the owner of that kind."""

    def wake(_site: Site, obj: Obj) -> Names:
        for owner in obj["metadata"].get("ownerReferences") or []:
            if owner["kind"] == kind.kind and owner["apiVersion"].startswith(kind.group):
                yield obj["metadata"].get("namespace", ""), owner["name"]

    return wake


Do = Callable[[Plan], int]
"""Carries out a plan before the decision is complete; afterwards the caches show its effect."""


@dataclass(frozen=True)
class Controller:
    """One controller: what wakes it, and how it decides."""

    name: str
    """Name in metrics."""
    reconcile: Callable[[Site, Request, Do], Plan]
    """Reads caches and decides."""
    watches: tuple[Watch, ...]
    """What wakes it."""
    workers: int = 1
    """Objects that are looked at at the same time."""
    reads: tuple[tuple[Plane, Kind], ...] = ()
    """Further kinds that it reads without being woken by them."""
    indexes: tuple[tuple[Plane, Kind, str, Callable[[Obj], Iterable[str]]], ...] = ()
    """Indexes that it wants: where, kind, name, values of an object."""
    downstream_only: bool = False
    """Whether it knows no project."""
    backoff: Backoff = field(default_factory=Backoff)
    """Waits after failures."""
