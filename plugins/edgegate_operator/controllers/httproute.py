"""HTTPRoute upstream → HTTPRoute and backends downstream, held while a login policy is; and its status."""

import time
from dataclasses import replace

from edgegate_operator import faults, names
from edgegate_operator.controllers import guard, listeners, routes
from edgegate_operator.core.controller import Request
from edgegate_operator.core.plan import Plan, Plane
from edgegate_operator.kinds import (
    BACKEND_TLS,
    ENDPOINT_SLICE,
    GATEWAY,
    GATEWAY_CLASS,
    HTTP_ROUTE,
    HTTP_ROUTE_FILTER,
    SECRET,
    SECURITY_POLICY,
    SERVICE,
    Obj,
)
from edgegate_operator.settings import Settings
from edgegate_operator.site import Controller, Do, Names, Site, Watch, itself, origin


def _gateways(site: Site, route: Obj) -> list[Obj]:
    """Return the route's Gateways that are ours."""
    space, found = route["metadata"]["namespace"], []
    for ref in route["spec"].get("parentRefs") or []:
        gateway = site.up(GATEWAY).get(space, ref["name"])
        if gateway is None or "deletionTimestamp" in gateway["metadata"]:
            continue
        klass = site.up(GATEWAY_CLASS).get("", gateway["spec"]["gatewayClassName"])
        if listeners.is_ours(klass, site.settings):
            found.append(gateway)
    return found


def _has_secret(site: Site, namespace: str, name: str) -> bool:
    secret = site.up(SECRET).get(namespace, name)
    return secret is not None and "deletionTimestamp" not in secret["metadata"]


def _held(site: Site, route: Obj, gateways: list[Obj], below: Obj | None) -> tuple[str, ...]:
    space = route["metadata"]["namespace"]
    policies = site.up(SECURITY_POLICY).all(space)
    if not policies or site.settings.has(faults.OIDC_FAIL_OPEN):
        return ()
    if guard.holds_late(site.settings):
        policies = [policy for policy in policies if guard.held_since(policy, time.time()) >= guard.LATE]
    copies = {obj["metadata"]["name"]: obj for obj in site.down(SECURITY_POLICY).all(site.downstream_namespace(space))}
    held_now = names.HELD_ANNOTATION in ((below or {}).get("metadata", {}).get("annotations") or {})
    return tuple(
        guard.holding(route, gateways, policies, copies, lambda name: _has_secret(site, space, name), held_now)
    )


def _gather(site: Site, request: Request) -> routes.Seen | None:
    space, name = request.namespace, request.name
    route, down = site.up(HTTP_ROUTE).get(space, name), site.downstream_namespace(space)
    if route is None or down is None:
        return None
    kinds = (SERVICE, ENDPOINT_SLICE, BACKEND_TLS, HTTP_ROUTE_FILTER)
    made = tuple(obj for kind in kinds for obj in site.made_from(kind, space, name) if _is_of_route(obj))
    gateways, below = _gateways(site, route), site.down(HTTP_ROUTE).get(down, name)
    return routes.Seen(
        project=site.project,
        route=route,
        space=down,
        attached=bool(gateways),
        slices={obj["metadata"]["name"]: obj for obj in site.up(ENDPOINT_SLICE).all(space)},
        below=below,
        made=made,
        held=_held(site, route, gateways, below),
    )


def _is_of_route(obj: Obj) -> bool:
    return bool((obj["metadata"].get("labels") or {}).get(names.KIND_LABEL) == HTTP_ROUTE.kind)


def _reconcile(site: Site, request: Request, _do: Do) -> Plan:
    seen = _gather(site, request)
    plan = routes.decide(seen, site.settings, time.time()) if seen else Plan()
    return replace(plan, after=guard.LATE / 2) if guard.holds_late(site.settings) else plan


def _users_of_slice(site: Site, slice_: Obj) -> Names:
    meta = slice_["metadata"]
    for route in site.up(HTTP_ROUTE).all(meta["namespace"]):
        refs = [ref for rule in route["spec"].get("rules") or [] for ref in rule.get("backendRefs") or []]
        if any(ref.get("kind") == ENDPOINT_SLICE.kind and ref["name"] == meta["name"] for ref in refs):
            yield meta["namespace"], route["metadata"]["name"]


def _children(site: Site, gateway: Obj) -> Names:
    meta = gateway["metadata"]
    for route in site.up(HTTP_ROUTE).all(meta["namespace"]):
        if routes.is_parent(route, meta["name"]):
            yield meta["namespace"], route["metadata"]["name"]


def _governed(site: Site, policy: Obj) -> Names:
    """Wake the routes that a policy acts on, if it can be held at all."""
    space = policy["metadata"]["namespace"]
    for route in site.up(HTTP_ROUTE).all(space) if guard.secret_names(policy) else ():
        parents = [
            gateway for gateway in site.up(GATEWAY).all(space) if routes.is_parent(route, gateway["metadata"]["name"])
        ]
        if guard.concerns(policy, route, parents):
            yield space, route["metadata"]["name"]


def _governed_by_copy(site: Site, copy: Obj) -> Names:
    found = site.origin(copy)
    policy = site.up(SECURITY_POLICY).get(*found) if found else None
    return _governed(site, policy) if policy else ()


def _governed_by_secret(site: Site, secret: Obj) -> Names:
    for policy in site.up(SECURITY_POLICY).all(secret["metadata"]["namespace"]):
        if secret["metadata"]["name"] in guard.secret_names(policy):
            yield from _governed(site, policy)


def _of_class(site: Site, klass: Obj) -> Names:
    for gateway in site.up(GATEWAY).all():
        if gateway["spec"]["gatewayClassName"] == klass["metadata"]["name"]:
            yield from _children(site, gateway)


def controller(settings: Settings) -> Controller:
    """Return the controller."""
    return Controller(
        name="gateway_downstream_resources",
        reconcile=_reconcile,
        workers=settings.gateway.max_concurrent_reconciles,
        watches=(
            Watch(Plane.UP, HTTP_ROUTE, itself),
            Watch(Plane.UP, ENDPOINT_SLICE, _users_of_slice),
            Watch(Plane.UP, GATEWAY, _children),
            Watch(Plane.UP, GATEWAY_CLASS, _of_class),
            Watch(Plane.UP, SECURITY_POLICY, _governed),
            Watch(Plane.UP, SECRET, _governed_by_secret),
            Watch(Plane.DOWN, SECURITY_POLICY, _governed_by_copy),
            *(
                Watch(Plane.DOWN, kind, origin)
                for kind in (HTTP_ROUTE, SERVICE, ENDPOINT_SLICE, BACKEND_TLS, HTTP_ROUTE_FILTER)
            ),
        ),
    )
