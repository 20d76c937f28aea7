"""HTTPProxy → Gateway, HTTPRoute and EndpointSlices beside it; their state → status of the HTTPProxy."""

import time
from collections.abc import Iterator

from edgegate_operator import faults, names, validation
from edgegate_operator.controllers.gatewaydns import HOSTNAME, SOURCE
from edgegate_operator.controllers.proxyobjects import gateway_of, route_of, slice_names, slices_of
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
from edgegate_operator.settings import Settings
from edgegate_operator.site import Controller, Do, Names, Site, Watch, itself, origin, owned_by

INVALID_AGAIN = 300.0
"""Seconds until a stored object that is invalid is looked at again."""
INSTANCE_AGAIN = 1.0
"""Seconds until we look again for an instance that does not exist."""


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
    owned = site.up(ENDPOINT_SLICE).find("owner", proxy["metadata"]["uid"])
    taken = [site.up(ENDPOINT_SLICE).get(space, wanted) for wanted in slice_names(proxy)]
    slices = {obj["metadata"]["name"]: obj for obj in (*owned, *taken) if obj}
    certificates = {obj["metadata"]["name"]: obj for obj in site.made_from(CERTIFICATE, space, name)}
    return Seen(
        proxy=proxy,
        gateway=site.up(GATEWAY).get(space, name),
        route=site.up(HTTP_ROUTE).get(space, name),
        slices=slices,
        certificates=certificates,
        records=_records(site, space, name),
    )


def _records(site: Site, namespace: str, gateway: str) -> dict[str, Obj]:
    """Return the DNSRecordSets made for a Gateway, by host name."""
    found = site.up(DNS_RECORD_SET).find("source", f"{namespace}/{gateway}")
    if site.settings.has(faults.RECORD_STATUS_UNREAD):
        found = [{key: value for key, value in obj.items() if key != "status"} for obj in found]
    return {name: obj for obj in found if (name := (obj["metadata"].get("annotations") or {}).get(HOSTNAME))}


def _source(record: Obj) -> Iterator[str]:
    """Yield the Gateway of a DNSRecordSet, for an index."""
    name = (record["metadata"].get("labels") or {}).get(SOURCE)
    if name:
        yield f"{record['metadata']['namespace']}/{name}"


def _owners(obj: Obj) -> Iterator[str]:
    """Yield the uids of an object's owners, for an index."""
    yield from (owner["uid"] for owner in obj["metadata"].get("ownerReferences") or [])


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
    if SOURCE in labels:
        yield obj["metadata"]["namespace"], labels[SOURCE]


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
        indexes=(
            (Plane.UP, DNS_RECORD_SET, "source", _source),
            (Plane.UP, ENDPOINT_SLICE, "owner", _owners),
        ),
    )
