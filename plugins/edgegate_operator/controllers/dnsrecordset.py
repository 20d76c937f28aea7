"""DNSRecordSet downstream → records in PowerDNS, and what became of each owner name. This is the agent's half."""

import time

from edgegate_operator import conditions, faults
from edgegate_operator.controllers import rdata
from edgegate_operator.controllers.agent import Agent, Outcome, changes_for, lookups
from edgegate_operator.controllers.dnszone import name_servers
from edgegate_operator.core.controller import Request
from edgegate_operator.core.plan import Apply, Plan, Plane, Status
from edgegate_operator.core.powerdns import PowerDnsError
from edgegate_operator.core.queue import Backoff
from edgegate_operator.kinds import DNS_RECORD_SET, DNS_ZONE, DNS_ZONE_CLASS, Obj
from edgegate_operator.settings import Settings
from edgegate_operator.site import Controller, Do, Names, Site, Watch, itself

FINALIZER = "dns.networking.miloapis.com/finalize-dnsrecordset-downstream"
CONFLICT_AGAIN = 600.0
"""Seconds until a name that foreign records block is tried again."""


def status_of(record: Obj, outcomes: dict[str, Outcome], accepted: bool, text: str, now: float) -> Obj:
    """Return the status of a record set."""
    generation, old = record["metadata"]["generation"], record.get("status") or {}
    before = {item["name"]: item.get("conditions") for item in old.get("recordSets") or []}
    sets = []
    for name, outcome in sorted(outcomes.items()):
        good = outcome.reason == "Programmed"
        wanted = [conditions.condition("Programmed", good, outcome.reason, outcome.text, generation)]
        sets.append({"name": name, "conditions": conditions.dated(wanted, before.get(name), now)})
    conditions_now = [
        conditions.condition("Accepted", accepted, "Accepted" if accepted else "Pending", text, generation)
    ]
    if outcomes:
        bad = sorted(name for name, outcome in outcomes.items() if outcome.reason != "Programmed")
        message = f"Not served: {', '.join(bad)}" if bad else "All names are served"
        reason = "Pending" if bad else "Programmed"
        conditions_now.append(conditions.condition("Programmed", not bad, reason, message, generation))
    return {"recordSets": sets, "conditions": conditions.dated(conditions_now, old.get("conditions"), now)}


def _touch(record: Obj, zone: Obj | None) -> Apply:
    meta = record["metadata"]
    more: Obj = {}
    if zone is not None:
        owner = {"apiVersion": zone["apiVersion"], "kind": zone["kind"], "name": zone["metadata"]["name"]}
        owner |= {"uid": zone["metadata"]["uid"], "controller": True}
        more = {"finalizers": [FINALIZER], "ownerReferences": [owner]}
    return Apply(Plane.DOWN, DNS_RECORD_SET.named(meta["namespace"], meta["name"], uid=meta["uid"], **more), touch=True)


def _remove(agent: Agent, record: Obj, others: list[Obj], zone: Obj | None, settings: Settings) -> Plan:
    """Take a deleted record set out of PowerDNS, then let it go. Without its zone there is nothing to take out."""
    if FINALIZER not in (record["metadata"].get("finalizers") or []):
        return Plan()
    if zone is not None and "deletionTimestamp" not in zone["metadata"] and not settings.has(faults.RECORD_LEFT_BEHIND):
        domain = zone["spec"]["domainName"]
        with agent.lock(domain):
            outcomes = agent.tell(domain, changes_for(record, others, domain, agent.written.get(domain, {})))
        failed = next((outcome for outcome in outcomes.values() if outcome.reason == "PDNSError"), None)
        if failed:
            raise PowerDnsError(f"remove {record['metadata']['name']}", 0, failed.text)
    return Plan((_touch(record, None),))


def _waiting(record: Obj, zone: Obj | None, klass: Obj | None) -> str:
    """Return what a record set waits for, or nothing."""
    if zone is None or "deletionTimestamp" in zone["metadata"]:
        return "The zone does not exist"
    if not name_servers(klass):
        return "The zone's class does not exist or is not served by PowerDNS"
    return "" if (zone.get("status") or {}).get("nameservers") else "The zone is not in PowerDNS yet"


def _program(agent: Agent, record: Obj, records: list[Obj], domain: str) -> dict[str, Outcome]:
    """Write the names of a record set; return what became of each, by the name as the user wrote it."""
    with agent.lock(domain):
        changes = changes_for(record, records, domain, {} if agent.slow else agent.written.get(domain, {}))
        outcomes = agent.tell(domain, changes) | changes.lost
    kind = record["spec"]["recordType"]
    served = Outcome("Programmed", "Served")
    return {e["name"]: outcomes.get((rdata.fqdn(e["name"], domain), kind), served) for e in record["spec"]["records"]}


def _reconcile_with(agent: Agent, site: Site, request: Request, do: Do) -> Plan:
    space = request.namespace
    record = site.down(DNS_RECORD_SET).get(space, request.name)
    if record is None:
        return Plan()
    zone = site.down(DNS_ZONE).get(space, record["spec"]["dnsZoneRef"]["name"])
    alive = [obj for obj in _sharing(site, record) if "deletionTimestamp" not in obj["metadata"]]
    if "deletionTimestamp" in record["metadata"]:
        return _remove(agent, record, alive, zone, site.settings)
    klass = site.down(DNS_ZONE_CLASS).get("", zone["spec"]["dnsZoneClassName"]) if zone else None
    text = _waiting(record, zone, klass)
    if text or zone is None:
        return Plan((Status(Plane.DOWN, record, status_of(record, {}, False, text, time.time())),))
    do(Plan((_touch(record, zone),)))
    outcomes = _program(agent, record, alive, zone["spec"]["domainName"])
    do(Plan((Status(Plane.DOWN, record, status_of(record, outcomes, True, "Accepted", time.time())),)))
    broken = next((o for o in outcomes.values() if o.reason == "PDNSError"), None)
    if broken:
        raise PowerDnsError(f"write {record['metadata']['name']}", 0, broken.text)
    return Plan(after=CONFLICT_AGAIN if any(o.reason == "Conflict" for o in outcomes.values()) else None)


def _sharing(site: Site, record: Obj) -> list[Obj]:
    """Return the record sets that may share an owner name with one, itself included."""
    found = [obj for value in set(lookups(record)) for obj in site.down(DNS_RECORD_SET).find("owner", value)]
    return list({obj["metadata"]["name"]: obj for obj in found}.values())


def _siblings(site: Site, record: Obj) -> Names:
    """Wake those that share an owner name with a record set: one may take over from another."""
    for other in _sharing(site, record):
        yield other["metadata"]["namespace"], other["metadata"]["name"]


def _whole_zone(site: Site, record: Obj) -> Names:
    """Wake every record set of the zone; only with the fault of that name."""
    space, zone = record["metadata"]["namespace"], record["spec"]["dnsZoneRef"]["name"]
    for other in site.down(DNS_RECORD_SET).all(space):
        if other["spec"]["dnsZoneRef"]["name"] == zone:
            yield space, other["metadata"]["name"]


def _of_zone(site: Site, zone: Obj) -> Names:
    """Wake the record sets of a zone that wait for it."""
    meta = zone["metadata"]
    for record in site.down(DNS_RECORD_SET).all(meta["namespace"]):
        waits = not conditions.is_true(record, "Programmed") or "deletionTimestamp" in meta
        if record["spec"]["dnsZoneRef"]["name"] == meta["name"] and waits:
            yield meta["namespace"], record["metadata"]["name"]


def controller(settings: Settings, agent: Agent) -> Controller:
    """Return the controller."""
    agent.slow, agent.gap = settings.has(faults.AGENT_SATURATION), settings.has(faults.SWAP_GAP)
    return Controller(
        name="dnsrecordset-powerdns",
        reconcile=lambda site, request, do: _reconcile_with(agent, site, request, do),
        workers=settings.dns.max_concurrent_reconciles,
        watches=(
            Watch(Plane.DOWN, DNS_RECORD_SET, itself),
            Watch(Plane.DOWN, DNS_RECORD_SET, _whole_zone if agent.slow else _siblings),
            Watch(Plane.DOWN, DNS_ZONE, _of_zone),
        ),
        reads=((Plane.DOWN, DNS_ZONE_CLASS),),
        indexes=((Plane.DOWN, DNS_RECORD_SET, "owner", lookups),),
        downstream_only=True,
        backoff=Backoff(settings.dns.rate_limiter_base_delay, settings.dns.rate_limiter_max_delay),
    )
