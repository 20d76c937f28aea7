"""Gateway upstream → Gateway, Certificates and DNSEndpoint downstream; DNSRecordSets beside it; and its status."""

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from edgegate_operator import conditions, faults
from edgegate_operator.controllers import gatewaydns, listeners
from edgegate_operator.controllers.gatewaydecision import Seen, decide, prepare
from edgegate_operator.controllers.gatewaymetrics import forget, record
from edgegate_operator.controllers.routes import is_parent
from edgegate_operator.core.controller import Request
from edgegate_operator.core.plan import Plan, Plane
from edgegate_operator.kinds import (
    CERTIFICATE,
    CONFIG_MAP,
    DNS_ENDPOINT,
    DNS_RECORD_SET,
    DNS_ZONE,
    DOMAIN,
    GATEWAY,
    GATEWAY_CLASS,
    HTTP_ROUTE,
    NAMESPACE,
    SECRET,
    Obj,
)
from edgegate_operator.settings import Settings
from edgegate_operator.site import Controller, Do, Names, Site, Watch, itself, origin

SLOW, READ = 0.5, 0.01
"""Seconds for a look with the fault `slow-worker`, and for reading one Gateway with `scan-all`."""


def _gather(site: Site, request: Request) -> Seen | None:
    space, name = request.namespace, request.name
    gateway, below = site.up(GATEWAY).get(space, name), site.downstream_namespace(space)
    if gateway is None or below is None:
        return None
    klass = site.up(GATEWAY_CLASS).get("", gateway["spec"]["gatewayClassName"])
    certificates_by_name = {obj["metadata"]["name"]: obj for obj in site.made_from(CERTIFICATE, space, name)}
    secrets = {key: obj for key in certificates_by_name if (obj := site.down(SECRET).get(below, key))}
    return Seen(
        project=site.project,
        gateway=gateway,
        space=below,
        managed=listeners.is_ours(klass, site.settings) or site.settings.has(faults.FOREIGN_CLASS_SERVED),
        domains=site.up(DOMAIN).all(space),
        zones=site.up(DNS_ZONE).all(space),
        records=site.up(DNS_RECORD_SET).all(space),
        routes=[route for route in site.up(HTTP_ROUTE).all(space) if is_parent(route, name)],
        below=site.down(GATEWAY).get(below, name),
        endpoint=site.down(DNS_ENDPOINT).get(below, name),
        certificates=certificates_by_name,
        secrets=secrets,
        claims=_claims(site, gateway),
    )


def _is_given_up(seen: Seen, given_up: set[str]) -> bool:
    """Return whether a Gateway's class was missing once; only the defect of that kind asks."""
    uid = seen.gateway["metadata"]["uid"]
    if not seen.managed:
        given_up.add(uid)
    return uid in given_up


def _as_remembered(seen: Seen, memory: dict[str, Seen]) -> Seen:
    """Return what is seen, but with the zones of the first look; the defect `zones-remembered`."""
    first = memory.setdefault(seen.gateway["metadata"]["uid"], seen)
    return replace(seen, domains=first.domains, zones=first.zones)


def _claims(site: Site, gateway: Obj) -> list[Obj]:
    """Return the claims of the host names that a Gateway declares, and those that it holds."""
    space = site.settings.gateway.downstream_hostname_accounting_namespace
    meta, hostnames = gateway["metadata"], {item.get("hostname") for item in gateway["spec"]["listeners"]}
    wanted = [site.down(CONFIG_MAP).get(space, name) for name in hostnames if name]
    held = [
        o for o in site.made_from(CONFIG_MAP, meta["namespace"], meta["name"]) if o["metadata"]["namespace"] == space
    ]
    return list({obj["metadata"]["name"]: obj for obj in (*held, *wanted) if obj}.values())


def _reconcile(site: Site, request: Request, do: Do, given_up: set[str], memory: dict[str, Seen]) -> Plan:
    seen = _gather(site, request)
    if seen is None:
        forget(site, request)
        return Plan()
    if site.settings.has(faults.CLASS_NEVER_AGAIN) and _is_given_up(seen, given_up):
        return Plan()
    if do(prepare(seen, site.settings)):
        seen = _gather(site, request) or seen
    if site.settings.has(faults.ZONES_REMEMBERED):
        seen = _as_remembered(seen, memory)
    plan, decision = decide(seen, site.settings, time.time())
    if decision:
        record(site, seen, decision)
    return plan


def _of_namespace(site: Site, obj: Obj) -> Names:
    """Wake every Gateway of the object's namespace."""
    for gateway in site.up(GATEWAY).all(obj["metadata"]["namespace"]):
        yield obj["metadata"]["namespace"], gateway["metadata"]["name"]


def _parents(_site: Site, route: Obj) -> Names:
    for ref in route["spec"].get("parentRefs") or []:
        yield route["metadata"]["namespace"], ref["name"]


def _of_class(site: Site, klass: Obj) -> Names:
    for gateway in site.up(GATEWAY).all():
        if gateway["spec"]["gatewayClassName"] == klass["metadata"]["name"]:
            yield gateway["metadata"]["namespace"], gateway["metadata"]["name"]


def _covered(site: Site, domain: Obj) -> Names:
    """Wake the Gateways that declare a host name which a Domain covers."""
    for gateway in site.up(GATEWAY).all(domain["metadata"]["namespace"]):
        if any(i.get("hostname") and listeners.covers(domain, i["hostname"]) for i in gateway["spec"]["listeners"]):
            yield gateway["metadata"]["namespace"], gateway["metadata"]["name"]


def _ownership(domain: Obj) -> object:
    """Return what of a Domain matters to Gateways; its attempts do not."""
    status = domain.get("status") or {}
    return conditions.is_true(domain, "Verified"), status.get("nameservers"), status.get("apex")


def _authority(zone: Obj) -> object:
    """Return what of a zone matters to Gateways; the count of its records does not."""
    state = [conditions.is_true(zone, kind) for kind in ("Accepted", "Programmed")]
    return state, (zone.get("status") or {}).get("nameservers"), zone["metadata"].get("deletionTimestamp")


def _source(_site: Site, record_set: Obj) -> Names:
    name = (record_set["metadata"].get("labels") or {}).get(gatewaydns.SOURCE)
    if name:
        yield record_set["metadata"]["namespace"], name


def _claimants(site: Site, claim: Obj) -> Names:
    """Wake the Gateways that want the host name of a claim, its holder and those who lost."""
    if claim["metadata"].get("namespace") != site.settings.gateway.downstream_hostname_accounting_namespace:
        return
    hostname = claim["metadata"]["name"]
    if site.settings.has(faults.CLAIM_LOSER_ASLEEP):
        return
    for gateway in site.up(GATEWAY).all():
        if any(item.get("hostname") == hostname for item in gateway["spec"]["listeners"]):
            yield gateway["metadata"]["namespace"], gateway["metadata"]["name"]


def _certificate_of(site: Site, secret: Obj) -> Names:
    """Wake the Gateway whose Certificate writes a Secret."""
    meta = secret["metadata"]
    certificate = site.down(CERTIFICATE).get(meta["namespace"], meta["name"])
    if certificate:
        yield from origin(site, certificate)


def _renamed_namespace(site: Site, space: Obj) -> Names:
    for gateway in site.up(GATEWAY).all(space["metadata"]["name"]):
        yield gateway["metadata"]["namespace"], gateway["metadata"]["name"]


def _everybody(site: Site, _obj: Obj) -> Names:
    """Wake every Gateway; the defect `wake-everybody`."""
    for gateway in site.up(GATEWAY).all():
        yield gateway["metadata"]["namespace"], gateway["metadata"]["name"]


def _slowed(made: Controller, seconds: Callable[[Site], float]) -> Controller:
    """Return the controller with slow looks; the defects `slow-worker` and `scan-all`."""

    def reconcile(site: Site, request: Request, do: Do) -> Plan:
        threading.Event().wait(seconds(site))
        return made.reconcile(site, request, do)

    return replace(made, reconcile=reconcile)


def controller(settings: Settings) -> Controller:
    """Return the controller."""
    made = _controller(settings)
    if settings.has(faults.SCAN_ALL):
        made = _slowed(made, lambda site: READ * len(site.up(GATEWAY).all()))
    if settings.has(faults.SLOW_WORKER):
        made = replace(_slowed(made, lambda _: SLOW), workers=1)
    return made


def _controller(settings: Settings) -> Controller:
    return Controller(
        name="gateway",
        reconcile=partial(_reconcile, given_up=set(), memory={}),
        workers=settings.gateway.max_concurrent_reconciles,
        watches=(
            Watch(Plane.UP, GATEWAY, _everybody if settings.has(faults.WAKE_EVERYBODY) else itself),
            Watch(Plane.UP, NAMESPACE, _renamed_namespace),
            Watch(Plane.UP, GATEWAY_CLASS, _of_class),
            Watch(Plane.UP, HTTP_ROUTE, _parents),
            Watch(Plane.UP, DOMAIN, _covered, about=_ownership),
            Watch(Plane.UP, DNS_ZONE, _of_namespace, about=_authority),
            Watch(Plane.UP, DNS_RECORD_SET, _source),
            Watch(Plane.DOWN, GATEWAY, origin),
            Watch(Plane.DOWN, CERTIFICATE, origin),
            Watch(Plane.DOWN, SECRET, _certificate_of),
            Watch(Plane.DOWN, CONFIG_MAP, _claimants),
            Watch(Plane.DOWN, DNS_ENDPOINT, origin),
        ),
    )
