"""HTTPProxy → Gateway, HTTPRoute and EndpointSlices beside it; their state → status of the HTTPProxy."""

import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from edgegate_operator import faults, names, validation
from edgegate_operator.config import Settings
from edgegate_operator.controllers.proxystatus import Seen, proxy_status
from edgegate_operator.core.controller import Request
from edgegate_operator.core.plan import Apply, Plan, Plane, Status, Step, removal
from edgegate_operator.kinds import (
    CERTIFICATE,
    CONNECTOR,
    DNS_RECORD_SET,
    ENDPOINT_SLICE,
    GATEWAY,
    HTTP_PROXY,
    HTTP_ROUTE,
    Kind,
    Obj,
)
from edgegate_operator.site import Controller, Do, Names, Site, Watch, itself, origin, owned_by

INVALID_AGAIN = 300.0
"""Seconds until a stored object that is invalid is looked at again."""
INSTANCE_AGAIN = 1.0
"""Seconds until we look again for an instance that does not exist."""


def _controlled(proxy: Obj) -> Obj:
    return {
        "apiVersion": proxy["apiVersion"],
        "kind": proxy["kind"],
        "name": proxy["metadata"]["name"],
        "uid": proxy["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def _listener(name: str, hostname: str | None, tls_options: dict[str, str] | None) -> Obj:
    listener: Obj = {"name": name, "port": 443 if tls_options is not None else 80}
    listener["protocol"] = "HTTP" if tls_options is None else "HTTPS"
    listener["allowedRoutes"] = {"namespaces": {"from": "Same"}}
    if hostname is not None:
        listener["hostname"] = hostname
    if tls_options is not None:
        listener["tls"] = {"mode": "Terminate", "options": dict(tls_options)}
    return listener


def gateway_of(proxy: Obj, settings: Settings) -> Obj:
    """Return the Gateway of a proxy: two listeners for its canonical name, two for each host name."""
    options = settings.gateway.listener_tls_options
    listeners = [_listener("default-http", None, None), _listener("default-https", None, options)]
    for number, hostname in enumerate(proxy["spec"].get("hostnames") or []):
        listeners.append(_listener(f"http-hostname-{number}", hostname, None))
        listeners.append(_listener(f"https-hostname-{number}", hostname, options))
    meta = proxy["metadata"]
    gateway = GATEWAY.named(meta["namespace"], meta["name"], ownerReferences=[_controlled(proxy)])
    gateway["spec"] = {"gatewayClassName": settings.http_proxy.gateway_class_name, "listeners": listeners}
    return gateway


def _slice_name(proxy: Obj, rule: int, backend: int) -> str:
    return f"{proxy['metadata']['name']}-{rule}-{backend}"


def _slice(proxy: Obj, rule: int, number: int, backend: Obj) -> Obj:
    url = urlsplit(backend["endpoint"])
    host = "connector.local" if backend.get("connector") else (url.hostname or "").lower()
    ip = validation.address(host)
    meta = {"ownerReferences": [_controlled(proxy)]}
    found = ENDPOINT_SLICE.named(proxy["metadata"]["namespace"], _slice_name(proxy, rule, number), **meta)
    found["addressType"] = f"IPv{ip.version}" if ip else "FQDN"
    state = {"ready": True, "serving": True, "terminating": False}
    found["endpoints"] = [{"addresses": [host], "conditions": state}]
    port = url.port or (443 if url.scheme == "https" else 80)
    found["ports"] = [{"name": f"httpproxy-{rule}-{number}", "appProtocol": url.scheme, "port": port}]
    return found


def slices_of(proxy: Obj) -> Iterator[Obj]:
    """Yield the EndpointSlice of each backend that has an endpoint."""
    for rule_number, rule in enumerate(proxy["spec"]["rules"]):
        for number, backend in enumerate(rule.get("backends") or []):
            if not backend.get("instance"):
                yield _slice(proxy, rule_number, number, backend)


def _origin_host(rule: Obj) -> str | None:
    """Return the host name that the origin should see; None leaves the client's."""
    override = validation.host_override(rule.get("filters") or [])
    if override is not None:
        return override.lower()
    for backend in rule.get("backends") or []:
        if backend.get("instance") or backend.get("connector"):
            continue
        host = urlsplit(backend["endpoint"]).hostname or ""
        by_tls = (backend.get("tls") or {}).get("hostname")
        name = by_tls if validation.address(host) else host
        return name.lower() if name else None
    return None


def _without_host(item: Obj) -> Obj | None:
    """Return a filter without its `Host` headers; None if nothing is left of it."""
    modifier = item.get("requestHeaderModifier")
    if modifier is None:
        return item
    kept: dict[str, Any] = {
        verb: [header for header in modifier.get(verb) or [] if header["name"].lower() != "host"]
        for verb in ("set", "add")
    }
    kept = {verb: headers for verb, headers in kept.items() if headers}
    if modifier.get("remove"):
        kept["remove"] = modifier["remove"]
    return {"type": item["type"], "requestHeaderModifier": kept} if kept else None


def _rule_filters(rule: Obj) -> list[Obj]:
    kept = [left for item in rule.get("filters") or [] if (left := _without_host(item))]
    host = _origin_host(rule)
    if host is None or any(item["type"] == "RequestRedirect" for item in kept):
        return kept
    rewrite = next((item for item in kept if item["type"] == "URLRewrite"), None)
    if rewrite is None:
        return [*kept, {"type": "URLRewrite", "urlRewrite": {"hostname": host}}]
    merged = rewrite | {"urlRewrite": {"hostname": host} | rewrite["urlRewrite"]}
    return [merged if item is rewrite else item for item in kept]


def _route_rule(proxy: Obj, number: int, rule: Obj) -> Obj:
    found: Obj = {"matches": rule.get("matches") or [{"path": {"type": "PathPrefix", "value": "/"}}]}
    if rule.get("name"):
        found["name"] = rule["name"]
    filters = _rule_filters(rule)
    if filters:
        found["filters"] = filters
    refs = [ref for n, backend in enumerate(rule.get("backends") or []) for ref in _ref(proxy, number, n, backend)]
    if refs:
        found["backendRefs"] = refs
    return found


def _ref(proxy: Obj, rule: int, number: int, backend: Obj) -> Iterator[Obj]:
    if backend.get("instance"):
        return
    (port,) = _slice(proxy, rule, number, backend)["ports"]
    ref: Obj = {"group": ENDPOINT_SLICE.group, "kind": ENDPOINT_SLICE.kind, "weight": 1}
    ref |= {"name": _slice_name(proxy, rule, number), "port": port["port"]}
    yield ref | ({"filters": backend["filters"]} if backend.get("filters") else {})


def route_of(proxy: Obj) -> Obj:
    """Return the HTTPRoute of a proxy."""
    meta = proxy["metadata"]
    route = HTTP_ROUTE.named(meta["namespace"], meta["name"], ownerReferences=[_controlled(proxy)])
    rules = [_route_rule(proxy, number, rule) for number, rule in enumerate(proxy["spec"]["rules"])]
    parent = {"group": GATEWAY.group, "kind": GATEWAY.kind, "name": meta["name"]}
    route["spec"] = {"parentRefs": [parent], "rules": rules}
    return route


def _is_strange(proxy: Obj, obj: Obj | None) -> bool:
    """Return whether something else controls an object that we would write."""
    owners = obj["metadata"].get("ownerReferences") or [] if obj else []
    return any(owner.get("controller") and owner["uid"] != proxy["metadata"]["uid"] for owner in owners)


def _owned(proxy: Obj, obj: Obj) -> bool:
    owners = obj["metadata"].get("ownerReferences") or []
    return any(owner["uid"] == proxy["metadata"]["uid"] for owner in owners)


def _finalizer(proxy: Obj, present: bool) -> Apply:
    meta = proxy["metadata"]
    finalizers = {"finalizers": [names.PROXY_FINALIZER]} if present else {}
    return Apply(Plane.UP, HTTP_PROXY.named(meta["namespace"], meta["name"], uid=meta["uid"], **finalizers), touch=True)


def _clean_up(seen: Seen) -> Plan:
    """Return what is to be done when a proxy is deleted: its objects go at once, not when garbage is collected."""
    steps: list[Step] = []
    for kind, obj in ((HTTP_ROUTE, seen.route), (GATEWAY, seen.gateway)):
        if obj is not None and _owned(seen.proxy, obj):
            steps.append(removal(Plane.UP, obj, kind))
    if names.PROXY_FINALIZER in (seen.proxy["metadata"].get("finalizers") or []):
        steps.append(_finalizer(seen.proxy, present=False))
    return Plan(tuple(steps))


def _slice_steps(seen: Seen, settings: Settings) -> Iterator[Step]:
    wanted = {obj["metadata"]["name"]: obj for obj in slices_of(seen.proxy)}
    for name, held in seen.slices.items():
        changed = name in wanted and held["addressType"] != wanted[name]["addressType"]
        if changed and settings.has(faults.ORIGIN_SWITCH_STUCK):
            del wanted[name]  # the API refuses to change the type, and nothing else is tried
        elif changed or (name not in wanted and _owned(seen.proxy, held)):
            yield removal(Plane.UP, held, ENDPOINT_SLICE)
    for obj in wanted.values():
        yield Apply(Plane.UP, obj)


def decide(seen: Seen, settings: Settings, now: float) -> Plan:
    """Return what follows from what was seen."""
    proxy = seen.proxy
    if "deletionTimestamp" in proxy["metadata"]:
        return _clean_up(seen)
    wrong = validation.problems(proxy)
    if wrong:
        status = proxy_status(seen, now, accepted=("Invalid", "; ".join(wrong)))
        return Plan((Status(Plane.UP, proxy, status),), after=INVALID_AGAIN)
    for obj in (seen.gateway, seen.route, *seen.slices.values()):
        if _is_strange(proxy, obj):
            text = f"{obj['kind']} {obj['metadata']['name']} is controlled by something else" if obj else ""
            status = proxy_status(seen, now, programmed=("Conflict", text))
            return Plan((Status(Plane.UP, proxy, status),))
    steps: list[Step] = [
        Apply(Plane.UP, gateway_of(proxy, settings)),
        *_slice_steps(seen, settings),
        Apply(Plane.UP, route_of(proxy)),
        _finalizer(proxy, present=True),
    ]
    instances = [b for rule in proxy["spec"]["rules"] for b in rule.get("backends") or [] if b.get("instance")]
    missing = (
        ("InstanceBackendNotFound", f"instance {instances[0]['instance']['name']} not found") if instances else None
    )
    steps.append(Status(Plane.UP, proxy, proxy_status(seen, now, programmed=missing)))
    return Plan(tuple(steps), after=INSTANCE_AGAIN if instances else None)


def _gather(site: Site, request: Request) -> Seen | None:
    space, name = request.namespace, request.name
    proxy = site.up(HTTP_PROXY).get(space, name)
    if proxy is None:
        return None
    prefix = f"{name}-"
    near = [obj for obj in site.up(ENDPOINT_SLICE).all(space) if obj["metadata"]["name"].startswith(prefix)]
    slices = {obj["metadata"]["name"]: obj for obj in near if _owned(proxy, obj) or _would_write(proxy, obj)}
    below = site.downstream_namespace(space)
    certificates = {
        obj["metadata"]["name"]: obj
        for obj in (site.down(CERTIFICATE).all(below) if below else [])
        if site.origin(obj) == (space, name)
    }
    return Seen(
        proxy=proxy,
        gateway=site.up(GATEWAY).get(space, name),
        route=site.up(HTTP_ROUTE).get(space, name),
        slices=slices,
        certificates=certificates,
        records=records_of(site, space, name),
    )


def _would_write(proxy: Obj, obj: Obj) -> bool:
    rule, _, backend = obj["metadata"]["name"].removeprefix(proxy["metadata"]["name"] + "-").partition("-")
    rules = proxy["spec"].get("rules") or []
    return rule.isdigit() and backend.isdigit() and int(rule) < len(rules)


def records_of(site: Site, namespace: str, gateway: str) -> dict[str, Obj]:
    """Return the DNSRecordSets made for a Gateway, by host name."""
    found = {}
    for obj in site.up(DNS_RECORD_SET).all(namespace):
        labels = obj["metadata"].get("labels") or {}
        hostname = (obj["metadata"].get("annotations") or {}).get("dns.datumapis.com/hostname")
        if hostname and labels.get("dns.datumapis.com/source-name") == gateway:
            found[hostname] = obj
    return found


def _reconcile(site: Site, request: Request, _do: Do) -> Plan:
    seen = _gather(site, request)
    return decide(seen, site.settings, time.time()) if seen else Plan()


def _users_of_connector(site: Site, connector: Obj) -> Names:
    space, name = connector["metadata"]["namespace"], connector["metadata"]["name"]
    for proxy in site.up(HTTP_PROXY).all(space):
        backends = [b for rule in proxy["spec"].get("rules") or [] for b in rule.get("backends") or []]
        if any((backend.get("connector") or {}).get("name") == name for backend in backends):
            yield space, proxy["metadata"]["name"]


def _record(site: Site, obj: Obj) -> Names:
    labels = obj["metadata"].get("labels") or {}
    if "dns.datumapis.com/source-name" in labels and not site.settings.has(faults.RECORD_STATUS_UNREAD):
        yield obj["metadata"]["namespace"], labels["dns.datumapis.com/source-name"]


def controller(settings: Settings) -> Controller:
    """Return the controller."""

    def up(kind: Kind) -> Watch:
        return Watch(Plane.UP, kind, owned_by(HTTP_PROXY))

    return Controller(
        name="httpproxy",
        reconcile=_reconcile,
        workers=settings.http_proxy.max_concurrent_reconciles,
        watches=(
            Watch(Plane.UP, HTTP_PROXY, itself),
            up(GATEWAY),
            up(HTTP_ROUTE),
            up(ENDPOINT_SLICE),
            Watch(Plane.UP, CONNECTOR, _users_of_connector),
            Watch(Plane.UP, DNS_RECORD_SET, _record),
            Watch(Plane.DOWN, CERTIFICATE, origin),
        ),
    )
