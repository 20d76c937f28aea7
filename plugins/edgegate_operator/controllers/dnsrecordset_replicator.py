"""DNSRecordSet upstream ↔ its shadow downstream: spec goes down, status comes back word for word."""

import time
from dataclasses import dataclass

from edgegate_operator import conditions, faults, names
from edgegate_operator.controllers import rdata, shadow
from edgegate_operator.controllers.mapped import anchor, namespace
from edgegate_operator.core.controller import Request
from edgegate_operator.core.plan import Apply, Plan, Plane, Status, Step, removal
from edgegate_operator.kinds import CONFIG_MAP, DNS_RECORD_SET, DNS_ZONE, NAMESPACE, Obj
from edgegate_operator.settings import Settings
from edgegate_operator.site import Controller, Do, Names, Site, Watch, itself

FINALIZER = "dns.networking.miloapis.com/finalize-dnsrecordset"
DISPLAY = "dns.networking.miloapis.com/display-"


@dataclass(frozen=True)
class Seen:
    """What a decision is based on."""

    project: str
    """Project."""
    record: Obj
    """The DNSRecordSet upstream."""
    space: str
    """Namespace downstream."""
    zone: Obj | None = None
    """Its zone upstream."""
    below: Obj | None = None
    """Its shadow."""


def _touch(seen: Seen) -> Apply:
    """Return what we add to the user's object: finalizer, owner, and how it is shown to people."""
    meta, zone = seen.record["metadata"], seen.zone
    more: Obj = {"finalizers": [FINALIZER]}
    if zone is not None:
        owner = {"apiVersion": zone["apiVersion"], "kind": zone["kind"], "name": zone["metadata"]["name"]}
        more["ownerReferences"] = [owner | {"uid": zone["metadata"]["uid"], "controller": True}]
        more["annotations"] = _display(seen.record["spec"], zone["spec"]["domainName"])
    return Apply(Plane.UP, DNS_RECORD_SET.named(meta["namespace"], meta["name"], uid=meta["uid"], **more), touch=True)


def _display(spec: Obj, zone: str) -> dict[str, str]:
    shown = dict.fromkeys(rdata.fqdn(entry["name"], zone).removesuffix(".") for entry in spec["records"])
    values = rdata.contents(spec["recordType"], spec["records"])
    return {f"{DISPLAY}name": ", ".join(shown), f"{DISPLAY}value": ", ".join(values)}


def _clean_up(seen: Seen) -> Plan:
    """Return what is to be done when a record set is deleted: its shadow first, which takes the record away."""
    meta = seen.record["metadata"]
    if FINALIZER not in (meta.get("finalizers") or []):
        return Plan()
    if seen.below is not None:
        return Plan((removal(Plane.DOWN, seen.below, DNS_RECORD_SET),))
    anchor_map = CONFIG_MAP.named(seen.space, names.anchor_name(meta["uid"]))
    done = Apply(Plane.UP, DNS_RECORD_SET.named(meta["namespace"], meta["name"], uid=meta["uid"]), touch=True)
    return Plan((removal(Plane.DOWN, anchor_map, CONFIG_MAP), done))


def decide(seen: Seen, now: float) -> Plan:
    """Return what follows from what was seen."""
    meta, old = seen.record["metadata"], (seen.record.get("status") or {}).get("conditions")
    if "deletionTimestamp" in meta:
        return _clean_up(seen)
    if seen.zone is None or "deletionTimestamp" in seen.zone["metadata"]:
        text = f"DNSZone {seen.record['spec']['dnsZoneRef']['name']!r} does not exist"
        wanted = [
            conditions.condition(kind, False, "Pending", text, meta["generation"])
            for kind in ("Accepted", "Programmed")
        ]
        waiting = Status(Plane.UP, seen.record, {"conditions": conditions.dated(wanted, old, now)})
        # What was added while the zone lived stays: without the owner reference nobody would collect the record set.
        first = () if FINALIZER in (meta.get("finalizers") or []) else (_touch(seen),)
        return Plan((*first, waiting))
    steps: list[Step] = [
        _touch(seen),
        namespace(seen.project, meta["namespace"], seen.space),
        anchor(seen.project, seen.record, seen.space),
        Apply(Plane.DOWN, shadow.shadow(seen.project, seen.record, seen.space)),
    ]
    status = (seen.below or {}).get("status")
    if status:
        steps.append(Status(Plane.UP, seen.record, status))
    return Plan(tuple(steps))


def _reconcile(site: Site, request: Request, _do: Do) -> Plan:
    space, name = request.namespace, request.name
    record, below = site.up(DNS_RECORD_SET).get(space, name), site.downstream_namespace(space)
    if record is None or below is None:
        return Plan()
    zone = site.up(DNS_ZONE).get(space, record["spec"]["dnsZoneRef"]["name"])
    seen = Seen(site.project, record, below, zone, site.down(DNS_RECORD_SET).get(below, name))
    return decide(seen, time.time())


def _of_zone(site: Site, zone: Obj) -> Names:
    """Wake the record sets of a zone that are not served: those that came before it."""
    meta = zone["metadata"]
    for record in (
        () if site.settings.has(faults.RECORD_BEFORE_ZONE) else site.up(DNS_RECORD_SET).all(meta["namespace"])
    ):
        if record["spec"]["dnsZoneRef"]["name"] == meta["name"] and not conditions.is_true(record, "Programmed"):
            yield meta["namespace"], record["metadata"]["name"]


def controller(_settings: Settings) -> Controller:
    """Return the controller."""
    return Controller(
        name="dnsrecordset-replicator",
        reconcile=_reconcile,
        workers=2,
        watches=(
            Watch(Plane.UP, DNS_RECORD_SET, itself),
            Watch(Plane.UP, DNS_ZONE, _of_zone),
            Watch(Plane.DOWN, DNS_RECORD_SET, shadow.origin),
        ),
        reads=((Plane.UP, NAMESPACE), (Plane.DOWN, NAMESPACE), (Plane.DOWN, CONFIG_MAP)),
    )
