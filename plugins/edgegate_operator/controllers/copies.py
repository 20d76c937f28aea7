"""What becomes of an object that is copied downstream: policies, filters, backends, secrets."""

import json
from dataclasses import dataclass, field

from edgegate_operator import conditions, faults, names
from edgegate_operator.controllers import guard
from edgegate_operator.controllers.mapped import anchor, namespace, reference
from edgegate_operator.core.plan import Apply, Plan, Plane, Status, Step, removal
from edgegate_operator.kinds import (
    BACKEND,
    BACKEND_TLS,
    BACKEND_TLS_UP,
    BACKEND_TRAFFIC_POLICY,
    CONFIG_MAP,
    CONNECTOR,
    SECRET,
    SECURITY_POLICY,
    Kind,
    Obj,
    kind_of,
)
from edgegate_operator.settings import Settings

SYNC = "networking.datumapis.com/gateway-sync"
SYNC_MANAGED = f"{SYNC}-managed"
UPSTREAM_STATUS = "networking.datumapis.com/upstream-status"
WITH_ANCESTORS = (SECURITY_POLICY, BACKEND_TRAFFIC_POLICY, BACKEND_TLS_UP)
"""Kinds whose status the proxy's control plane writes for each target."""


@dataclass(frozen=True)
class Seen:
    """What a decision is based on."""

    project: str
    """Project."""
    obj: Obj
    """The object upstream."""
    space: str
    """Namespace downstream."""
    below: Obj | None = None
    """Its copy."""
    missing: tuple[str, ...] = ()
    """Secrets that a SecurityPolicy names and that are not downstream."""
    governed: tuple[Obj, ...] = ()
    """Downstream routes that a SecurityPolicy acts on."""
    users: tuple[str, ...] = ()
    """SecurityPolicies upstream that name a Secret."""
    copies_using: tuple[str, ...] = field(default_factory=tuple)
    """SecurityPolicies downstream that name a Secret."""


def downstream_kind(kind: Kind) -> Kind:
    """Return the kind of the copy; only the version can differ."""
    return BACKEND_TLS if kind == BACKEND_TLS_UP else kind


def is_wanted(seen: Seen) -> bool:
    """Return whether an object is copied at all: ConfigMaps and Secrets only on request, or if a policy needs them."""
    if kind_of(seen.obj) not in (SECRET, CONFIG_MAP):
        return True
    meta = seen.obj["metadata"]
    labelled = SYNC in (meta.get("labels") or {})
    managed = SYNC_MANAGED in (meta.get("annotations") or {})
    return bool(seen.users) or (labelled and not managed)


def copy_of(seen: Seen) -> Obj:
    """Return the copy: spec or data, and nothing of the user's metadata."""
    kind, meta = kind_of(seen.obj), seen.obj["metadata"]
    labels = names.provenance(seen.project, kind, meta["namespace"], meta["name"])
    copy = downstream_kind(kind).named(seen.space, meta["name"], labels=labels, ownerReferences=[reference(seen.obj)])
    copy |= {part: seen.obj[part] for part in ("spec", "data") if part in seen.obj}
    if kind == CONNECTOR:
        copy["metadata"]["annotations"] = {UPSTREAM_STATUS: json.dumps(seen.obj.get("status") or {}, sort_keys=True)}
    return copy


def _touch(seen: Seen, present: bool) -> Apply:
    """Return what we add to the user's object, or its removal."""
    kind, meta = kind_of(seen.obj), seen.obj["metadata"]
    more: Obj = {"finalizers": [names.REPLICATOR_FINALIZER]} if present else {}
    if present and seen.users:
        more |= {"labels": {SYNC: "true"}, "annotations": {SYNC_MANAGED: "true"}}
    return Apply(Plane.UP, kind.named(meta["namespace"], meta["name"], uid=meta["uid"], **more), touch=True)


def _removed(seen: Seen) -> list[Step]:
    """Return the removal of the copy. A Secret stays until no policy downstream needs it: the guard withdraws those."""
    if names.REPLICATOR_FINALIZER not in (seen.obj["metadata"].get("finalizers") or []):
        return []
    steps: list[Step] = []
    if seen.below is not None:
        if seen.copies_using:
            return []
        steps.append(removal(Plane.DOWN, seen.below, downstream_kind(kind_of(seen.obj))))
    name = names.anchor_name(seen.obj["metadata"]["uid"])
    steps.append(removal(Plane.DOWN, CONFIG_MAP.named(seen.space, name), CONFIG_MAP))
    return [*steps, _touch(seen, present=False)]


def _is_stopped(route: Obj) -> bool:
    """Return whether a downstream route is held, and the edge has taken that over."""
    generation = route["metadata"]["generation"]
    parents = (route.get("status") or {}).get("parents") or []
    taken = [conditions.find(parent.get("conditions"), "Accepted").get("observedGeneration") for parent in parents]
    held = names.HELD_ANNOTATION in (route["metadata"].get("annotations") or {})
    return held and bool(taken) and all(seen == generation for seen in taken)


def _held(seen: Seen, settings: Settings, now: float) -> Plan:
    """Return what is to be done with a policy whose Secret is missing.

    It leaves the edge once its routes are stopped there, and says that it is held once it has left.
    """
    stopped = all(_is_stopped(route) for route in seen.governed) or guard.holds_late(settings)
    leaves = seen.below is not None and not settings.has(faults.POLICY_NOT_WITHDRAWN)
    if leaves and not stopped:
        return Plan((_touch(seen, present=True),))
    controller = settings.gateway.controller_name
    ancestors = guard.pending_ancestors(seen.obj, controller, list(seen.missing), now)
    steps: list[Step] = [removal(Plane.DOWN, seen.below, SECURITY_POLICY)] if seen.below is not None and leaves else []
    return Plan((*steps, Status(Plane.UP, seen.obj, {"ancestors": ancestors}), _touch(seen, present=True)))


def _generation(seen: Seen, condition: Obj) -> int:
    """Return the upstream generation that a downstream condition speaks of: the present one, or the one before."""
    below, now = seen.below or {}, int(seen.obj["metadata"]["generation"])
    current = condition.get("observedGeneration") in (None, below["metadata"].get("generation"))
    return now if current and below.get("spec") == seen.obj.get("spec") else max(0, now - 1)


def _conditions(seen: Seen, found: list[Obj] | None) -> list[Obj]:
    return [item | {"observedGeneration": _generation(seen, item)} for item in found or []]


def status_back(seen: Seen, settings: Settings) -> Obj | None:
    """Return the status that the copy's has for the original, or None if there is none to give."""
    kind, below = kind_of(seen.obj), (seen.below or {}).get("status")
    if not below or settings.has(faults.POLICY_STATUS_LOST):
        return None
    if kind == BACKEND and below.get("conditions"):
        return {"conditions": _conditions(seen, below["conditions"])}
    if kind not in WITH_ANCESTORS or not below.get("ancestors"):
        return None
    ancestors = []
    for item in below["ancestors"]:
        ref = item["ancestorRef"]
        ref = ref | ({"namespace": seen.obj["metadata"]["namespace"]} if "namespace" in ref else {})
        head = {"ancestorRef": ref, "controllerName": settings.gateway.controller_name}
        ancestors.append(head | {"conditions": _conditions(seen, item.get("conditions"))})
    return {"ancestors": ancestors}


def decide(seen: Seen, settings: Settings, now: float) -> Plan:
    """Return what follows from what was seen."""
    meta = seen.obj["metadata"]
    if "deletionTimestamp" in meta or not is_wanted(seen):
        forgotten = kind_of(seen.obj) == SECRET and not seen.users and settings.has(faults.SECRET_NEVER_LET_GO)
        return Plan(() if forgotten else tuple(_removed(seen)))
    if seen.missing and not settings.has(faults.NO_OIDC_GUARD):
        return _held(seen, settings, now)
    steps: list[Step] = [
        _touch(seen, present=True),
        namespace(seen.project, meta["namespace"], seen.space),
        anchor(seen.project, seen.obj, seen.space),
        Apply(Plane.DOWN, copy_of(seen)),
    ]
    status = status_back(seen, settings)
    if status:
        steps.append(Status(Plane.UP, seen.obj, status))
    return Plan(tuple(steps))
