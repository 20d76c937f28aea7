"""Carries out plans, and leaves out every step whose effect is there already."""

import copy
import logging
import threading
from typing import Any

from edgegate_operator.core.cache import Cache
from edgegate_operator.core.kube import Cluster, Conflict, NotFound
from edgegate_operator.core.plan import Apply, Claim, Delete, Plan, Plane, Status, Step
from edgegate_operator.kinds import Kind, Obj, key_of, kind_of

LOG = logging.getLogger("edgegate_operator.executor")


class OwnerMissing(Exception):
    """An owner that a new object refers to does not exist (any more); the next event or retry settles it."""


class Vanished(Exception):
    """The object that a plan is about has gone meanwhile; whatever else it says would be left behind by that object."""


_KEYS = ("uid", "name", "type")
"""What tells the items of a list apart that several writers share; the first one that an item has counts."""


def covers(actual: Any, wanted: Any, *, shared: bool = False) -> bool:
    """Return whether everything in `wanted` is in `actual`.

    Lists must agree item by item. Where they are shared with other writers, each wanted item must be there, by its key.
    """
    if isinstance(wanted, dict):
        return isinstance(actual, dict) and all(
            covers(actual.get(key), value, shared=shared) for key, value in wanted.items()
        )
    if isinstance(wanted, list):
        if not isinstance(actual, list) or (len(actual) != len(wanted) and not shared):
            return False
        pairs = ((_partner(actual, item), item) for item in wanted) if shared else zip(actual, wanted, strict=True)
        return all(covers(a, w, shared=shared) for a, w in pairs)
    return bool(actual == wanted)


def _partner(actual: list[Any], item: Any) -> Any:
    if not isinstance(item, dict):
        return item if item in actual else None
    key = next((name for name in _KEYS if name in item), "")
    return next((other for other in actual if isinstance(other, dict) and other.get(key) == item.get(key)), None)


def _is_there(held: Obj, wanted: Obj, *, touch: bool) -> bool:
    """Return whether an object has all fields that we want; owners and finalizers are always shared."""
    body = {key: value for key, value in wanted.items() if key != "metadata"}
    return covers(held["metadata"], wanted["metadata"], shared=True) and covers(held, body, shared=touch)


class Planes:
    """The API servers of one project: its own, and the shared downstream one, each with its caches."""

    def __init__(self, clusters: dict[Plane, Cluster], caches: dict[tuple[Plane, Kind], Cache]) -> None:
        self.clusters, self.caches = clusters, caches

    def cached(self, plane: Plane, kind: Kind, namespace: str, name: str) -> Obj | None:
        """Return an object as last seen, or None; None too for kinds without a cache."""
        cache = self.caches.get((plane, kind))
        return cache.get(namespace, name) if cache else None

    def observe(self, plane: Plane, obj: Obj) -> None:
        """Put the answer to a write into the cache."""
        cache = self.caches.get((plane, kind_of(obj)))
        if cache:
            cache.observe(obj)


_Memory = dict[tuple[int, Kind, str, str, str], tuple[str, Obj]]


class Executor:
    """Carries out the plans of one controller, under its own name as field manager."""

    def __init__(self, controller: str, *, insists: bool = False) -> None:
        """Work for a controller.

        Args:
            controller: its name.
            insists: whether a write fails when the object has changed since it was seen; only a defect wants that.
        """
        self.manager = f"edgegate-{controller}"
        self._insists = insists
        self._applied: _Memory = {}
        self._lock = threading.Lock()

    def run(self, planes: Planes, plan: Plan) -> int:
        """Do the steps of a plan in order; return how many calls it took.

        Raises:
            ApiError: a call was refused; the steps before it are done.
            OwnerMissing: an owner is gone.
            Vanished: an object to which something was to be added is gone; the steps before it are done.
        """
        return sum(self._step(planes, step) for step in plan.steps)

    def _step(self, planes: Planes, step: Step) -> int:
        if isinstance(step, Delete):
            return self._delete(planes, step)
        if isinstance(step, Claim):
            return self._claim(planes, step)
        if isinstance(step, Status):
            meta = {key: step.obj["metadata"][key] for key in ("name", "namespace") if key in step.obj["metadata"]}
            head = {"apiVersion": step.obj["apiVersion"], "kind": step.obj["kind"], "metadata": meta}
            return self._unless_gone(planes, step.plane, head | {"status": step.status}, "status")
        if step.touch:
            return self._unless_gone(planes, step.plane, step.obj, "")
        return self._apply(planes, step.plane, self._with_owners(planes, step), "")

    def _unless_gone(self, planes: Planes, plane: Plane, obj: Obj, sub: str) -> int:
        try:
            return self._apply(planes, plane, obj, sub, touch=not sub)
        except (NotFound, Conflict) as gone:  # deleted, or made anew: the event that says so is on its way
            if self._insists:
                raise
            if sub:
                return 1
            raise Vanished(f"{obj['kind']} {obj['metadata']['name']}") from gone

    def _with_owners(self, planes: Planes, step: Apply) -> Obj:
        owners = step.obj["metadata"].get("ownerReferences") or []
        if all("uid" in owner for owner in owners):
            return step.obj
        obj = copy.copy(step.obj)
        obj["metadata"] = obj["metadata"] | {"ownerReferences": [self._owner(planes, step, o) for o in owners]}
        return obj

    def _owner(self, planes: Planes, step: Apply, owner: Obj) -> Obj:
        kind = kind_of(owner)
        namespace = step.obj["metadata"].get("namespace", "") if kind.namespaced else ""
        held = planes.cached(step.plane, kind, namespace, owner["name"])
        if held is None:
            raise OwnerMissing(f"{kind.kind} {namespace}/{owner['name']}, owner of {step.obj['metadata']['name']}")
        return owner | {"uid": held["metadata"]["uid"]}

    def _apply(self, planes: Planes, plane: Plane, obj: Obj, sub: str, *, touch: bool = False) -> int:
        kind, (namespace, name) = kind_of(obj), key_of(obj)
        cluster, held = planes.clusters[plane], planes.cached(plane, kind, namespace, name)
        memory = (id(cluster), kind, namespace, name, sub)
        known = held is not None and self._applied.get(memory) == (held["metadata"]["uid"], obj)
        if held is not None and known and _is_there(held, obj, touch=touch):
            return 0
        LOG.debug("%s applies %s %s/%s %s on %s", self.manager, kind.kind, namespace, name, sub, cluster.name)
        version = {"resourceVersion": held["metadata"]["resourceVersion"]} if held and self._insists else {}
        answer = cluster.apply(obj | {"metadata": obj["metadata"] | version}, self.manager, sub)
        planes.observe(plane, answer)
        with self._lock:
            self._applied[memory] = (answer["metadata"]["uid"], obj)
        return 1

    def _claim(self, planes: Planes, step: Claim) -> int:
        kind, (namespace, name) = kind_of(step.obj), key_of(step.obj)
        if planes.cached(step.plane, kind, namespace, name) is not None:
            return 0
        cluster = planes.clusters[step.plane]
        try:
            planes.observe(step.plane, cluster.create(step.obj))
        except Conflict:
            planes.observe(step.plane, cluster.get(kind, namespace, name))
        return 1

    def _delete(self, planes: Planes, step: Delete) -> int:
        cluster, cache = planes.clusters[step.plane], planes.caches.get((step.plane, step.kind))
        held = cache.get(step.namespace, step.name) if cache else None
        if cache and (held is None or "deletionTimestamp" in held["metadata"]):
            return 0
        cluster.delete(step.kind, step.namespace, step.name, step.uid)
        with self._lock:
            for sub in ("", "status"):
                self._applied.pop((id(cluster), step.kind, step.namespace, step.name, sub), None)
        return 1
