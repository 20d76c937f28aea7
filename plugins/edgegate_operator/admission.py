"""Rules that need a look at other objects, and defaults: only these need a webhook."""

import base64
import json
from typing import Any

from edgegate_operator import faults
from edgegate_operator.controllers.listeners import DEFAULTS, covers
from edgegate_operator.core.webhook import WebhookServer
from edgegate_operator.kinds import DNS_ZONE, DOMAIN, HTTP_PROXY, Obj
from edgegate_operator.settings import Settings
from edgegate_operator.site import Site

NAME = "edgegate-operator"
VALIDATE_DOMAIN, DEFAULT_GATEWAY = "validate-domain", "default-gateway"
ALLOWED: Obj = {"allowed": True}


def refused(code: int, reason: str, message: str) -> Obj:
    """Return the response that refuses a request."""
    return {"allowed": False, "status": {"code": code, "reason": reason, "message": message}}


def normalised(name: str) -> str:
    """Return a domain name as it is compared."""
    return name.strip().lower()


def duplicate(domain: Obj, others: list[Obj]) -> Obj:
    """Return whether a new Domain may be created: not twice the same name in a namespace."""
    name = normalised(domain["spec"]["domainName"])
    for other in others:
        if normalised(other["spec"]["domainName"]) == name and other["metadata"]["name"] != domain["metadata"].get(
            "name"
        ):
            return refused(409, "Conflict", f"Domain {other['metadata']['name']} is for {name} already")
    return ALLOWED


def in_use(domain: Obj, proxies: list[Obj], zones: list[Obj]) -> Obj:
    """Return whether a Domain may be deleted: not while a host name or a zone depends on it."""
    for proxy in proxies:
        if "deletionTimestamp" in proxy["metadata"]:
            continue
        for hostname in proxy["spec"].get("hostnames") or []:
            if covers(domain, hostname):
                return refused(403, "Forbidden", f"HTTPProxy {proxy['metadata']['name']} uses {hostname}")
    for zone in zones:
        leaving = "deletionTimestamp" in zone["metadata"]
        if not leaving and (zone.get("status") or {}).get("domainRef", {}).get("name") == domain["metadata"]["name"]:
            return refused(403, "Forbidden", f"DNSZone {zone['metadata']['name']} depends on it")
    return ALLOWED


def missing_listeners(gateway: Obj, settings: Settings) -> list[Obj]:
    """Return the default listeners that a Gateway lacks."""
    present = {item["name"] for item in gateway["spec"].get("listeners") or []}
    same = {"allowedRoutes": {"namespaces": {"from": "Same"}}}
    http = {"name": DEFAULTS[0], "port": 80, "protocol": "HTTP"} | same
    tls = {"mode": "Terminate", "options": dict(settings.gateway.listener_tls_options)}
    https = {"name": DEFAULTS[1], "port": 443, "protocol": "HTTPS", "tls": tls} | same
    return [item for item in (http, https) if item["name"] not in present]


def with_defaults(gateway: Obj, settings: Settings) -> Obj:
    """Return the response that adds default listeners to a Gateway of a class of ours."""
    if "deletionTimestamp" in gateway["metadata"]:
        return ALLOWED
    if gateway["spec"].get("gatewayClassName") != settings.http_proxy.gateway_class_name:
        return ALLOWED
    missing = missing_listeners(gateway, settings)
    if not missing:
        return ALLOWED
    listeners = [*missing, *(gateway["spec"].get("listeners") or [])]
    patch = [{"op": "add", "path": "/spec/listeners", "value": listeners}]
    return ALLOWED | {"patchType": "JSONPatch", "patch": base64.b64encode(json.dumps(patch).encode()).decode()}


def review(sites: dict[str, Site], settings: Settings, path: str, request: Any) -> Obj:
    """Return the response to one review; the path ends with the project."""
    _, what, project = path.split("/", 2)  # a project may have slashes in its name
    site, space = sites[project], request.get("namespace", "")
    if what == DEFAULT_GATEWAY:
        return with_defaults(request["object"], settings)
    if request["operation"] == "DELETE":
        return in_use(request["oldObject"], site.up(HTTP_PROXY).all(space), site.up(DNS_ZONE).all(space))
    if settings.has(faults.DUPLICATE_DOMAIN_ADMITTED):
        return ALLOWED
    return duplicate(request["object"], site.up(DOMAIN).all(space))


def _hook(name: str, path: str, project: str, server: WebhookServer, rule: Obj, settings: Settings) -> Obj:
    url = f"https://{settings.webhook.host}:{server.port}/{path}/{project}"
    return {
        "name": name,
        "clientConfig": {"url": url, "caBundle": server.ca_bundle},
        "rules": [rule],
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "timeoutSeconds": 5,
    }


def configurations(project: str, server: WebhookServer, settings: Settings) -> list[Obj]:
    """Return the objects that make an API server ask us."""
    group = "admissionregistration.k8s.io/v1"
    domain = {
        "apiGroups": [DOMAIN.group],
        "apiVersions": ["*"],
        "resources": ["domains"],
        "operations": ["CREATE", "DELETE"],
    }
    gateway = {"apiGroups": ["gateway.networking.k8s.io"], "apiVersions": ["*"], "resources": ["gateways"]}
    gateway |= {"operations": ["CREATE", "UPDATE"]}
    validating = _hook("domain.edgegate.dev", VALIDATE_DOMAIN, project, server, domain, settings)
    mutating = _hook("gateway.edgegate.dev", DEFAULT_GATEWAY, project, server, gateway, settings)
    head = {"apiVersion": group, "metadata": {"name": NAME}}
    return [
        head | {"kind": "ValidatingWebhookConfiguration", "webhooks": [validating]},
        head | {"kind": "MutatingWebhookConfiguration", "webhooks": [mutating]},
    ]
