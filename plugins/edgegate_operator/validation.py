"""What an HTTPProxy must not say and its schema cannot tell. Also true for objects stored before a rule existed."""

import ipaddress
import re
from collections.abc import Iterator
from urllib.parse import urlsplit

from edgegate_operator.kinds import Obj

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_RULE_FILTERS = {"RequestHeaderModifier", "ResponseHeaderModifier", "RequestRedirect", "URLRewrite", "CORS"}
_BACKEND_FILTERS = {"RequestHeaderModifier", "ResponseHeaderModifier"}


def is_hostname(text: str, least: int = 2) -> bool:
    """Return whether a text is a host name of at least so many labels, without port or wildcard."""
    labels = text.split(".")
    return len(text) <= 253 and len(labels) >= least and all(_LABEL.fullmatch(label) for label in labels)


def address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return a text as an IP address, or None."""
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def host_override(filters: list[Obj]) -> str | None:
    """Return the `Host` that a rule's header modifiers set, or None; the last one wins."""
    found = None
    for item in filters:
        modifier = item.get("requestHeaderModifier") or {}
        for header in [*(modifier.get("set") or []), *(modifier.get("add") or [])]:
            if header["name"].lower() == "host":
                found = str(header["value"])
    return found


def _filters(filters: list[Obj], where: str, allowed: set[str]) -> Iterator[str]:
    for item in filters:
        kind = item.get("type")
        group = (item.get("extensionRef") or {}).get("group"), (item.get("extensionRef") or {}).get("kind")
        if kind == "ExtensionRef" and group != ("gateway.envoyproxy.io", "HTTPRouteFilter"):
            yield f"{where}.filters: an ExtensionRef must be a gateway.envoyproxy.io HTTPRouteFilter"
        elif kind != "ExtensionRef" and kind not in allowed:
            yield f"{where}.filters: type {kind} is not supported"
    override = host_override(filters)
    if override is not None and not is_hostname(override.lower(), 1):
        yield f"{where}.filters: Host {override!r} is not a host name"


def _host(host: str, tunnelled: bool) -> str:
    """Return what is wrong with the host of an endpoint, or nothing."""
    ip = address(host)
    if ip is None:
        if host == "localhost" and tunnelled:
            return ""
        return "" if is_hostname(host.lower()) else "must be a host name of two labels or more, or an IP address"
    if ip.is_unspecified or ip.is_link_local or (ip.is_loopback and not tunnelled):
        return "must not be an unspecified, loopback or link-local address"
    return ""


def _endpoint(backend: Obj, where: str) -> Iterator[str]:
    text = backend.get("endpoint", "")
    url = urlsplit(text)
    if url.scheme not in ("http", "https") or not url.hostname:
        yield f"{where}.endpoint: {text!r} is not an http or https URL"
        return
    if url.username or url.path or url.query or url.fragment:
        yield f"{where}.endpoint: user, path, query and fragment are not allowed"
    try:
        if url.port == 0:
            yield f"{where}.endpoint: port must be 1 to 65535"
    except ValueError:
        yield f"{where}.endpoint: port must be 1 to 65535"
    wrong = _host(url.hostname, bool(backend.get("connector")))
    if wrong:
        yield f"{where}.endpoint: host {wrong}"
    name = (backend.get("tls") or {}).get("hostname")
    if url.scheme == "https" and address(url.hostname) and not name:
        yield f"{where}.tls.hostname: needed for https to an IP address"
    if name and not is_hostname(name.lower(), 1):
        yield f"{where}.tls.hostname: {name!r} is not a host name"


def _prefix_replaced(filters: list[Obj]) -> bool:
    paths = [((item.get("urlRewrite") or item.get("requestRedirect") or {}).get("path") or {}) for item in filters]
    return any(path.get("type") == "ReplacePrefixMatch" for path in paths)


def _rule(rule: Obj, where: str) -> Iterator[str]:
    filters, backends = rule.get("filters") or [], rule.get("backends") or []
    yield from _filters(filters, where, _RULE_FILTERS)
    redirects = any(item.get("type") == "RequestRedirect" for item in filters)
    if redirects == bool(backends):
        yield f"{where}: either a backend or a RequestRedirect is needed, and not both"
    matches = rule.get("matches") or [{}]
    prefixed = len(matches) == 1 and (matches[0].get("path") or {}).get("type", "PathPrefix") == "PathPrefix"
    if _prefix_replaced(filters) and not prefixed:
        yield f"{where}: replacing a path prefix needs exactly one PathPrefix match"
    for number, backend in enumerate(backends):
        place = f"{where}.backends[{number}]"
        yield from _filters(backend.get("filters") or [], place, _BACKEND_FILTERS)
        if not backend.get("instance"):
            yield from _endpoint(backend, place)


def problems(proxy: Obj) -> list[str]:
    """Return everything that is wrong with an HTTPProxy, each with the field that it is about."""
    spec = proxy["spec"]
    found = [] if _LABEL.fullmatch(proxy["metadata"]["name"]) else ["metadata.name: must be a DNS label"]
    hostnames = spec.get("hostnames") or []
    found += [f"spec.hostnames: {name!r} is not a full host name" for name in hostnames if not is_hostname(name)]
    if len(set(hostnames)) < len(hostnames):
        found.append("spec.hostnames: there are duplicates")
    names = [rule["name"] for rule in spec["rules"] if rule.get("name")]
    if len(set(names)) < len(names):
        found.append("spec.rules: names must be unique")
    if sum(len(rule.get("matches") or [None]) for rule in spec["rules"]) > 128:
        found.append("spec.rules: more than 128 matches")
    for number, rule in enumerate(spec["rules"]):
        found += _rule(rule, f"spec.rules[{number}]")
    return found
