"""What becomes of an HTTPRoute: the downstream route and a Service with its endpoints for each backend."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from edgegate_operator import conditions, names
from edgegate_operator.controllers.mapped import anchor, namespace, reference
from edgegate_operator.core.plan import Apply, Plan, Plane, Status, Step, removal
from edgegate_operator.kinds import (
    BACKEND_TLS,
    CONFIG_MAP,
    ENDPOINT_SLICE,
    HTTP_ROUTE,
    HTTP_ROUTE_FILTER,
    SERVICE,
    Obj,
)
from edgegate_operator.settings import Settings

CERTIFICATE_HOST = "networking.datumapis.com/backend-cert-hostname"


@dataclass(frozen=True)
class Seen:
    """What a decision is based on."""

    project: str
    """Project."""
    route: Obj
    """The HTTPRoute upstream."""
    space: str
    """Namespace downstream."""
    attached: bool
    """Whether a parent is a Gateway of ours."""
    slices: dict[str, Obj] = field(default_factory=dict)
    """EndpointSlices of the namespace upstream, by name."""
    below: Obj | None = None
    """The HTTPRoute downstream."""
    made: tuple[Obj, ...] = ()
    """Services, EndpointSlices, BackendTLSPolicies and filters downstream that were made from it."""
    held: tuple[str, ...] = ()
    """Policies for whose sake it must not answer."""


def is_parent(route: Obj, gateway: str) -> bool:
    """Return whether a route names that Gateway of its namespace as a parent."""
    refs = route["spec"].get("parentRefs") or []
    return any(ref["name"] == gateway and ref.get("kind", "Gateway") == "Gateway" for ref in refs)


@dataclass(frozen=True)
class Backend:
    """A backend as it stands downstream."""

    name: str
    """Name of all its objects."""
    slice: Obj
    """EndpointSlice upstream."""
    port: Obj
    """Its port."""
    certificate_host: str | None
    """Name in the origin's certificate; None: plain HTTP."""


def _certificate_host(found: Obj, port: Obj, rule: Obj) -> str | None:
    if port.get("appProtocol") != "https":
        return None
    annotations = found["metadata"].get("annotations") or {}
    rewrites = [item.get("urlRewrite") or {} for item in rule.get("filters") or []]
    by_rule = next((str(item["hostname"]) for item in rewrites if item.get("hostname")), None)
    return annotations.get(CERTIFICATE_HOST) or by_rule


def _backends(seen: Seen) -> Iterator[tuple[tuple[int, int], Backend]]:
    """Yield the place of each backend reference to an EndpointSlice that exists, and what it becomes."""
    for i, rule in enumerate(seen.route["spec"].get("rules") or []):
        for j, ref in enumerate(rule.get("backendRefs") or []):
            found = seen.slices.get(ref["name"]) if ref.get("kind") == ENDPOINT_SLICE.kind else None
            if found is None:
                continue
            port = next((p for p in found.get("ports") or [] if p.get("port") == ref.get("port")), None)
            if port is not None:
                name = names.backend(seen.route["metadata"]["uid"], i, j)
                yield (i, j), Backend(name, found, port, _certificate_host(found, port, rule))


def _reference(ref: Obj, backend: Backend | None) -> Obj:
    kept = {key: ref[key] for key in ("weight", "filters") if key in ref}
    if backend is not None:
        return kept | {"group": "", "kind": SERVICE.kind, "name": backend.name, "port": backend.port["port"]}
    if ref.get("kind") == ENDPOINT_SLICE.kind:  # a slice that is missing: the edge must answer 500, as for any such ref
        return kept | {"group": "", "kind": SERVICE.kind, "name": ref["name"], "port": ref.get("port", 80)}
    return ref


def _rules(seen: Seen, backends: dict[tuple[int, int], Backend]) -> list[Obj]:
    found = []
    for i, rule in enumerate(seen.route["spec"].get("rules") or []):
        if seen.held:
            stop = {"group": HTTP_ROUTE_FILTER.group, "kind": HTTP_ROUTE_FILTER.kind, "name": _held_name(seen)}
            found.append({"matches": rule["matches"], "filters": [{"type": "ExtensionRef", "extensionRef": stop}]})
            continue
        refs = [_reference(ref, backends.get((i, j))) for j, ref in enumerate(rule.get("backendRefs") or [])]
        found.append(rule | ({"backendRefs": refs} if refs else {}))
    return found


def _held_name(seen: Seen) -> str:
    return f"held-{seen.route['metadata']['name']}"


def _held_filter(seen: Seen, labels: dict[str, str]) -> Obj:
    """Return the filter that answers in place of a backend while a policy is held."""
    obj = HTTP_ROUTE_FILTER.named(seen.space, _held_name(seen), labels=labels, ownerReferences=[reference(seen.route)])
    body = {"type": "Inline", "inline": "Held: this route needs a login that is not ready yet.\n"}
    obj["spec"] = {"directResponse": {"statusCode": 503, "contentType": "text/plain", "body": body}}
    return obj


def _objects(backend: Backend, space: str, labels: dict[str, str], owners: list[Obj]) -> Iterator[Obj]:
    """Yield Service, EndpointSlice and, for https, BackendTLSPolicy of one backend."""
    meta = {"labels": labels, "ownerReferences": owners}
    port = {"name": backend.port.get("name") or "http", "protocol": "TCP", "port": backend.port["port"]}
    service = SERVICE.named(space, backend.name, **meta)
    service["spec"] = {"clusterIP": "None", "ports": [port]}
    yield service
    service_label = {"kubernetes.io/service-name": backend.name, "endpointslice.kubernetes.io/managed-by": "edgegate"}
    endpoints = ENDPOINT_SLICE.named(space, backend.name, **(meta | {"labels": labels | service_label}))
    endpoints |= {key: backend.slice[key] for key in ("addressType", "endpoints")}
    endpoints["ports"] = [port]
    yield endpoints
    if backend.certificate_host:
        policy = BACKEND_TLS.named(space, backend.name, **meta)
        target = {"group": "", "kind": SERVICE.kind, "name": backend.name}
        check = {"hostname": backend.certificate_host, "wellKnownCACertificates": "System"}
        policy["spec"] = {"targetRefs": [target], "validation": check}
        yield policy


def _downstream(seen: Seen) -> Iterator[Step]:
    meta = seen.route["metadata"]
    labels = names.provenance(seen.project, HTTP_ROUTE, meta["namespace"], meta["name"])
    backends = dict(_backends(seen))
    wanted: list[Obj] = []
    if seen.held:
        wanted.append(_held_filter(seen, labels))
        yield Apply(Plane.DOWN, wanted[0])
    # Backends before the route: a route without its Service is answered with 500, and costs a translation of all
    # Gateways. So the route owns them from the next look on, in which it has a uid.
    owner = {"apiVersion": HTTP_ROUTE.api_version, "kind": HTTP_ROUTE.kind, "name": meta["name"], "controller": True}
    owners = [*([owner] if seen.below else []), reference(seen.route)]
    for backend in backends.values():
        for obj in _objects(backend, seen.space, labels, owners):
            wanted.append(obj)
            yield from _replaced(seen, obj)
            yield Apply(Plane.DOWN, obj)
    route = HTTP_ROUTE.named(seen.space, meta["name"], labels=labels, ownerReferences=[reference(seen.route)])
    if seen.held:
        route["metadata"]["annotations"] = {names.HELD_ANNOTATION: ",".join(seen.held)}
    route["spec"] = {key: seen.route["spec"][key] for key in ("parentRefs", "hostnames") if key in seen.route["spec"]}
    route["spec"]["rules"] = _rules(seen, backends)
    yield Apply(Plane.DOWN, route)
    kept = {(obj["kind"], obj["metadata"]["name"]) for obj in wanted}
    for obj in seen.made:
        if (obj["kind"], obj["metadata"]["name"]) not in kept:
            yield _removal(obj)


def _replaced(seen: Seen, wanted: Obj) -> Iterator[Step]:
    """Yield the removal of an EndpointSlice of another address type, which cannot be changed."""
    place = (ENDPOINT_SLICE.kind, wanted["metadata"]["name"])
    for obj in seen.made if wanted["kind"] == ENDPOINT_SLICE.kind else ():
        if (obj["kind"], obj["metadata"]["name"]) == place and obj["addressType"] != wanted["addressType"]:
            yield _removal(obj)


def _removal(obj: Obj) -> Step:
    kinds = {kind.kind: kind for kind in (SERVICE, ENDPOINT_SLICE, BACKEND_TLS, HTTP_ROUTE_FILTER)}
    return removal(Plane.DOWN, obj, kinds[obj["kind"]])


def _finalizer(route: Obj, present: bool) -> Apply:
    meta = route["metadata"]
    more = {"finalizers": [names.ROUTE_FINALIZER]} if present else {}
    return Apply(Plane.UP, HTTP_ROUTE.named(meta["namespace"], meta["name"], uid=meta["uid"], **more), touch=True)


def _gone(seen: Seen) -> Iterator[Step]:
    """Yield the removal of everything downstream."""
    if seen.below is not None:
        yield removal(Plane.DOWN, seen.below, HTTP_ROUTE)
    for obj in seen.made:
        yield _removal(obj)
    anchor_name = names.anchor_name(seen.route["metadata"]["uid"])
    yield removal(Plane.DOWN, CONFIG_MAP.named(seen.space, anchor_name), CONFIG_MAP)


def _parent_statuses(seen: Seen, settings: Settings, now: float) -> list[Obj]:
    """Return what the downstream route's status says, as ours; nothing until it speaks of its present form."""
    below, generation = seen.below or {}, seen.route["metadata"]["generation"]
    old = (seen.route.get("status") or {}).get("parents") or []
    found = []
    for parent in (below.get("status") or {}).get("parents") or []:
        seen_now = [i for i in parent["conditions"] if i.get("observedGeneration") == below["metadata"]["generation"]]
        before = next((i["conditions"] for i in old if i["parentRef"]["name"] == parent["parentRef"]["name"]), None)
        wanted = [
            conditions.condition(i["type"], i["status"] == "True", i["reason"], i["message"], generation)
            for i in seen_now
        ]
        if wanted:
            ref = {key: value for key, value in parent["parentRef"].items() if key != "namespace"}
            dated = conditions.dated(wanted, before, now)
            found.append({"parentRef": ref, "controllerName": settings.gateway.controller_name, "conditions": dated})
    return found or old


def decide(seen: Seen, settings: Settings, now: float) -> Plan:
    """Return what follows from what was seen."""
    leaving = "deletionTimestamp" in seen.route["metadata"]
    marked = names.ROUTE_FINALIZER in (seen.route["metadata"].get("finalizers") or [])
    if leaving or not seen.attached:
        steps = [*_gone(seen), _finalizer(seen.route, present=False)] if marked else []
        return Plan(tuple(steps))
    space = seen.route["metadata"]["namespace"]
    # The finalizer first: a route that is deleted before it has one would leave behind what is made for it here.
    first: list[Step] = [_finalizer(seen.route, present=True), namespace(seen.project, space, seen.space)]
    status = {"parents": _parent_statuses(seen, settings, now)}
    last = [Status(Plane.UP, seen.route, status)] if status["parents"] else []
    return Plan((*first, anchor(seen.project, seen.route, seen.space), *_downstream(seen), *last))
