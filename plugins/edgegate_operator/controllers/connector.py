"""Connector: accepted if its class is ours, ready while its agent renews the Lease. Advertisements belong to one."""

import random
import time
from dataclasses import dataclass

from edgegate_operator import conditions, faults
from edgegate_operator.core.controller import Request
from edgegate_operator.core.plan import Apply, Claim, Plan, Plane, Status, Step
from edgegate_operator.kinds import CONNECTOR, CONNECTOR_ADVERTISEMENT, CONNECTOR_CLASS, LEASE, Obj
from edgegate_operator.settings import Settings
from edgegate_operator.site import Controller, Do, Names, Site, Watch, itself

CONTROLLER = "networking.datumapis.com/datum-connect"
JITTER = 0.1
"""Share of a lease's rest that is added before we look again."""


@dataclass(frozen=True)
class Seen:
    """What a decision is based on."""

    connector: Obj
    """The Connector."""
    klass: Obj | None
    """Its class."""
    lease: Obj | None
    """Its Lease."""
    leases_served: bool
    """Whether the API server serves Leases at all."""


def _owner(obj: Obj) -> Obj:
    meta = obj["metadata"]
    return {
        "apiVersion": obj["apiVersion"],
        "kind": obj["kind"],
        "name": meta["name"],
        "uid": meta["uid"],
        "controller": True,
    }


def expires(lease: Obj | None) -> float:
    """Return when a Lease ends, in seconds since 1970; 0 if nobody has renewed it."""
    spec = (lease or {}).get("spec") or {}
    renewed = spec.get("renewTime")
    return conditions.seconds(renewed) + float(spec.get("leaseDurationSeconds") or 0) if renewed else 0.0


def _lease(connector: Obj, settings: Settings) -> Claim:
    meta = connector["metadata"]
    obj = LEASE.named(meta["namespace"], meta["name"], ownerReferences=[_owner(connector)])
    return Claim(Plane.UP, obj | {"spec": {"leaseDurationSeconds": settings.connector.lease_duration_seconds}})


def decide(seen: Seen, settings: Settings, now: float) -> Plan:
    """Return what follows from what was seen."""
    connector, generation = seen.connector, seen.connector["metadata"]["generation"]
    if "deletionTimestamp" in connector["metadata"]:
        return Plan()
    accepted = (True, "Accepted", "The class is served")
    if seen.klass is None or seen.klass["spec"].get("controllerName") != CONTROLLER:
        accepted = (
            False,
            "ConnectorClassNotFound",
            f"ConnectorClass {connector['spec']['connectorClassName']!r} not found",
        )
    until = expires(seen.lease)
    alive = until > now or settings.has(faults.CONNECTOR_ALWAYS_READY)
    ready = (
        (True, "ConnectorReady", "The agent renews its Lease")
        if alive
        else (False, "ConnectorNotReady", "No live agent")
    )
    wanted = [
        conditions.condition("Accepted", *accepted, generation),
        conditions.condition("Ready", *ready, generation),
    ]
    dated = conditions.dated(wanted, (connector.get("status") or {}).get("conditions"), now)
    status: Obj = {"conditions": dated}
    steps: list[Step] = []
    if accepted[0] and seen.leases_served:
        steps.append(_lease(connector, settings))
        status["leaseRef"] = {"name": connector["metadata"]["name"]}
    steps.append(Status(Plane.UP, connector, status))
    rest = until - now
    after = rest * (1 + random.uniform(0, JITTER)) if rest > 0 else None  # noqa: S311 spreads load only
    return Plan(tuple(steps), after=after)


def _reconcile(site: Site, request: Request, _do: Do) -> Plan:
    space, name = request.namespace, request.name
    connector = site.up(CONNECTOR).get(space, name)
    served = site.up(LEASE).served
    if connector is None or (not served and site.settings.has(faults.LEASE_REQUIRED)):
        return Plan()
    klass = site.up(CONNECTOR_CLASS).get("", connector["spec"]["connectorClassName"])
    return decide(Seen(connector, klass, site.up(LEASE).get(space, name), served), site.settings, time.time())


def _of_class(site: Site, klass: Obj) -> Names:
    for connector in site.up(CONNECTOR).all():
        if connector["spec"]["connectorClassName"] == klass["metadata"]["name"]:
            yield connector["metadata"]["namespace"], connector["metadata"]["name"]


def _of_lease(site: Site, lease: Obj) -> Names:
    if site.up(CONNECTOR).get(lease["metadata"]["namespace"], lease["metadata"]["name"]):
        yield lease["metadata"]["namespace"], lease["metadata"]["name"]


def decide_advertisement(advertisement: Obj, connector: Obj | None, now: float) -> Plan:
    """Return status and owner of an advertisement."""
    meta, name = advertisement["metadata"], advertisement["spec"]["connectorRef"]["name"]
    found = (
        (True, "Accepted", "Accepted") if connector else (False, "ConnectorNotFound", f"Connector {name!r} not found")
    )
    wanted = [conditions.condition("Accepted", *found, meta["generation"])]
    dated = conditions.dated(wanted, (advertisement.get("status") or {}).get("conditions"), now)
    steps: list[Step] = [Status(Plane.UP, advertisement, {"conditions": dated})]
    if connector is not None:
        more = {"uid": meta["uid"], "ownerReferences": [_owner(connector)]}
        obj = CONNECTOR_ADVERTISEMENT.named(meta["namespace"], meta["name"], **more)
        steps.insert(0, Apply(Plane.UP, obj, touch=True))
    return Plan(tuple(steps))


def _reconcile_advertisement(site: Site, request: Request, _do: Do) -> Plan:
    advertisement = site.up(CONNECTOR_ADVERTISEMENT).get(request.namespace, request.name)
    if advertisement is None or "deletionTimestamp" in advertisement["metadata"]:
        return Plan()
    connector = site.up(CONNECTOR).get(request.namespace, advertisement["spec"]["connectorRef"]["name"])
    return decide_advertisement(advertisement, connector, time.time())


def _advertised(site: Site, connector: Obj) -> Names:
    for obj in site.up(CONNECTOR_ADVERTISEMENT).all(connector["metadata"]["namespace"]):
        if obj["spec"]["connectorRef"]["name"] == connector["metadata"]["name"]:
            yield obj["metadata"]["namespace"], obj["metadata"]["name"]


def controller(_settings: Settings) -> Controller:
    """Return the controller of Connectors."""
    return Controller(
        name="connector",
        reconcile=_reconcile,
        watches=(
            Watch(Plane.UP, CONNECTOR, itself),
            Watch(Plane.UP, CONNECTOR_CLASS, _of_class),
            Watch(Plane.UP, LEASE, _of_lease),
        ),
    )


def advertisement_controller(_settings: Settings) -> Controller:
    """Return the controller of ConnectorAdvertisements."""
    return Controller(
        name="connectoradvertisement",
        reconcile=_reconcile_advertisement,
        watches=(Watch(Plane.UP, CONNECTOR_ADVERTISEMENT, itself), Watch(Plane.UP, CONNECTOR, _advertised)),
    )
