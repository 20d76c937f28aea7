"""Copies policies, filters, backends and secrets downstream, and brings status back; the guard of login is in it."""

import time
from collections.abc import Callable
from functools import partial

from edgegate_operator import faults, names
from edgegate_operator.controllers import copies, guard
from edgegate_operator.controllers.routes import is_parent
from edgegate_operator.core.controller import Request
from edgegate_operator.core.plan import Plan, Plane
from edgegate_operator.kinds import (
    BACKEND,
    BACKEND_TLS_UP,
    BACKEND_TRAFFIC_POLICY,
    CONFIG_MAP,
    CONNECTOR,
    GATEWAY,
    HTTP_PROXY,
    HTTP_ROUTE,
    HTTP_ROUTE_FILTER,
    SECRET,
    SECURITY_POLICY,
    TRAFFIC_PROTECTION_POLICY,
    Kind,
    Obj,
)
from edgegate_operator.settings import Settings
from edgegate_operator.site import Controller, Do, Names, Site, Watch

KINDS = {
    kind.kind: kind
    for kind in (
        CONFIG_MAP, SECRET, BACKEND, BACKEND_TRAFFIC_POLICY, SECURITY_POLICY, HTTP_ROUTE_FILTER, BACKEND_TLS_UP,
        TRAFFIC_PROTECTION_POLICY, HTTP_PROXY, CONNECTOR,
    )
}  # fmt: skip


def _key(kind: Kind, obj_name: str) -> str:
    """Return how an object stands in the queue, which all kinds share."""
    return f"{kind.kind}/{obj_name}"


def _has_secret(site: Site, space: str, name: str) -> bool:
    """Return whether a Secret is downstream, and is to stay there."""
    copy = site.down(SECRET).get(space, name)
    origin = site.origin(copy) if copy else None
    original = site.up(SECRET).get(*origin) if origin else None
    return original is not None and "deletionTimestamp" not in original["metadata"]


def _governed(site: Site, policy: Obj, space: str) -> tuple[Obj, ...]:
    """Return the downstream routes that a policy acts on."""
    upstream, found = policy["metadata"]["namespace"], []
    for route in site.up(HTTP_ROUTE).all(upstream):
        gateways = [g for g in site.up(GATEWAY).all(upstream) if is_parent(route, g["metadata"]["name"])]
        below = site.down(HTTP_ROUTE).get(space, route["metadata"]["name"])
        if below is not None and guard.concerns(policy, route, gateways):
            found.append(below)
    return tuple(found)


def _using(policies: list[Obj], secret: str) -> tuple[str, ...]:
    return tuple(p["metadata"]["name"] for p in policies if secret in guard.secret_names(p))


def _gather(site: Site, request: Request) -> copies.Seen | None:
    kind_name, _, name = request.name.partition("/")
    kind = KINDS[kind_name]
    obj, space = site.up(kind).get(request.namespace, name), site.downstream_namespace(request.namespace)
    if obj is None or space is None:
        return None
    seen = copies.Seen(site.project, obj, space, site.down(copies.downstream_kind(kind)).get(space, name))
    if kind == SECRET:
        alive = [p for p in site.up(SECURITY_POLICY).all(request.namespace) if "deletionTimestamp" not in p["metadata"]]
        copied = site.down(SECURITY_POLICY).all(space)
        return copies.Seen(
            site.project, obj, space, seen.below, users=_using(alive, name), copies_using=_using(copied, name)
        )
    if kind == SECURITY_POLICY:
        missing = tuple(guard.missing(obj, partial(_has_secret, site, space)))
        return copies.Seen(site.project, obj, space, seen.below, missing, _governed(site, obj, space))
    return seen


def _reconcile(site: Site, request: Request, _do: Do) -> Plan:
    seen = _gather(site, request)
    return copies.decide(seen, site.settings, time.time()) if seen else Plan()


def _self(kind: Kind) -> Callable[[Site, Obj], Names]:
    """Wake for the object itself, under the name that the queue uses."""

    def wake(_site: Site, obj: Obj) -> Names:
        yield obj["metadata"]["namespace"], _key(kind, obj["metadata"]["name"])

    return wake


def _secret(site: Site, secret: Obj) -> Names:
    """Wake for a Secret if it is, was, or should be copied. Other Secrets are none of our business."""
    meta = secret["metadata"]
    labelled = copies.SYNC in (meta.get("labels") or {})
    used = _using(site.up(SECURITY_POLICY).all(meta["namespace"]), meta["name"])
    if labelled or (used and not site.settings.has(faults.HELD_FOR_EVER)):
        yield meta["namespace"], _key(SECRET, meta["name"])


def _config_map(_site: Site, obj: Obj) -> Names:
    if copies.SYNC in (obj["metadata"].get("labels") or {}):
        yield obj["metadata"]["namespace"], _key(CONFIG_MAP, obj["metadata"]["name"])


def _secrets_of_policy(_site: Site, policy: Obj) -> Names:
    """Wake for the Secrets that a policy names, so that they are copied."""
    for name in guard.secret_names(policy):
        yield policy["metadata"]["namespace"], _key(SECRET, name)


def _origin(kind: Kind) -> Callable[[Site, Obj], Names]:
    """Wake for the original of a copy."""

    def wake(site: Site, copy: Obj) -> Names:
        found = site.origin(copy)
        if found and (copy["metadata"].get("labels") or {}).get(names.KIND_LABEL) == kind.kind:
            yield found[0], _key(kind, found[1])

    return wake


def _secrets_of_copy(site: Site, copy: Obj) -> Names:
    """Wake for the Secrets that a downstream policy names: they may be waiting to leave."""
    found = site.origin(copy)
    for name in guard.secret_names(copy) if found else ():
        yield found[0] if found else "", _key(SECRET, name)


def _policies_of_secret(site: Site, secret: Obj) -> Names:
    """Wake the policies that wait for a Secret, or that must leave because it does."""
    space = secret["metadata"]["namespace"]
    found = site.origin(secret)
    upstream = found[0] if found else space
    for name in _using(site.up(SECURITY_POLICY).all(upstream), secret["metadata"]["name"]):
        yield upstream, _key(SECURITY_POLICY, name)


def _policies_of_route(site: Site, route: Obj) -> Names:
    """Wake the policies that wait until a route is held: those on the edge whose Secret is gone."""
    found, space = site.origin(route), route["metadata"]["namespace"]
    for policy in site.up(SECURITY_POLICY).all(found[0]) if found else ():
        name = policy["metadata"]["name"]
        copied = site.down(SECURITY_POLICY).get(space, name)
        if copied and guard.missing(policy, partial(_has_secret, site, space)):
            yield policy["metadata"]["namespace"], _key(SECURITY_POLICY, name)


def controller(settings: Settings) -> Controller:
    """Return the controller."""
    plain = [KINDS[name] for name in settings.replicator.kinds if name not in ("ConfigMap", "Secret")]
    return Controller(
        name="gateway_resource_replicator",
        reconcile=_reconcile,
        workers=settings.replicator.max_concurrent_reconciles,
        watches=(
            *(Watch(Plane.UP, kind, _self(kind)) for kind in plain),
            *(Watch(Plane.DOWN, copies.downstream_kind(kind), _origin(kind)) for kind in plain),
            Watch(Plane.UP, CONFIG_MAP, _config_map),
            Watch(Plane.DOWN, CONFIG_MAP, _origin(CONFIG_MAP)),
            Watch(Plane.UP, SECRET, _secret),
            Watch(Plane.UP, SECRET, _policies_of_secret),
            Watch(Plane.DOWN, SECRET, _origin(SECRET)),
            Watch(Plane.DOWN, SECRET, _policies_of_secret),
            Watch(Plane.UP, SECURITY_POLICY, _secrets_of_policy),
            Watch(Plane.DOWN, SECURITY_POLICY, _secrets_of_copy),
            Watch(Plane.DOWN, HTTP_ROUTE, _policies_of_route),
        ),
    )
