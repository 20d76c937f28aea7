"""What an HTTPProxy is made of: Gateway, HTTPRoute, EndpointSlices."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from edgegate_operator import validation
from edgegate_operator.kinds import ENDPOINT_SLICE, GATEWAY, HTTP_ROUTE, Obj
from edgegate_operator.settings import Settings


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


def slice_names(proxy: Obj) -> list[str]:
    """Return the names of the EndpointSlices of a proxy, whether it is valid or not."""
    rules = enumerate(proxy["spec"].get("rules") or [])
    return [_slice_name(proxy, i, j) for i, rule in rules for j, _ in enumerate(rule.get("backends") or [])]


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
