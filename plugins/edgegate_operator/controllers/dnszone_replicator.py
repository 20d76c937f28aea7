"""DNSZone upstream: claims its domain, has a shadow downstream, gets SOA, NS and a Domain, and its status."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from edgegate_operator import conditions, faults, names
from edgegate_operator.controllers import shadow
from edgegate_operator.controllers.mapped import anchor, namespace
from edgegate_operator.core.controller import Request
from edgegate_operator.core.plan import Apply, Claim, Plan, Plane, Status, Step, removal
from edgegate_operator.kinds import (
    CONFIG_MAP,
    DNS_RECORD_SET,
    DNS_ZONE,
    DNS_ZONE_CLASS,
    DOMAIN,
    NAMESPACE,
    Obj,
)
from edgegate_operator.settings import Settings
from edgegate_operator.site import Controller, Do, Names, Site, Watch, itself

FINALIZER = "dns.networking.miloapis.com/finalize-dnszone"


@dataclass(frozen=True)
class Seen:
    """What a decision is based on."""

    project: str
    """Project."""
    zone: Obj
    """The DNSZone upstream."""
    space: str
    """Namespace downstream."""
    klass: Obj | None = None
    """Its class."""
    claim: Obj | None = None
    """The claim of its domain name."""
    below: Obj | None = None
    """Its shadow."""
    domain: Obj | None = None
    """The Domain of that name in the namespace."""
    records: tuple[Obj, ...] = field(default_factory=tuple)
    """DNSRecordSets that refer to it."""

    @property
    def me(self) -> str:
        """Return how this zone is written as holder of its claim."""
        meta = self.zone["metadata"]
        return names.claim_owner(self.project, meta["namespace"], meta["name"])


def _condition(kind: str, good: bool, reason: str, text: str, seen: Seen) -> Obj:
    return conditions.condition(kind, good, reason if not good else kind, text, seen.zone["metadata"]["generation"])


def _waiting(seen: Seen, reason: str, text: str, now: float) -> Plan:
    wanted = [_condition(kind, False, reason, text, seen) for kind in ("Accepted", "Programmed")]
    old = (seen.zone.get("status") or {}).get("conditions")
    return Plan(
        (_finalizer(seen.zone, True), Status(Plane.UP, seen.zone, {"conditions": conditions.dated(wanted, old, now)}))
    )


def _finalizer(zone: Obj, present: bool) -> Apply:
    meta = zone["metadata"]
    more = {"finalizers": [FINALIZER]} if present else {}
    return Apply(Plane.UP, DNS_ZONE.named(meta["namespace"], meta["name"], uid=meta["uid"], **more), touch=True)


def _clean_up(seen: Seen, settings: Settings) -> Plan:
    """Return what is to be done when a zone is deleted: the shadow must be gone before the claim is."""
    if FINALIZER not in (seen.zone["metadata"].get("finalizers") or []):
        return Plan()
    if seen.below is not None:
        return Plan((removal(Plane.DOWN, seen.below, DNS_ZONE),))
    steps: list[Step] = []
    if seen.claim is not None and seen.claim["data"]["owner"] == seen.me and not settings.has(faults.ZONE_CLAIM_KEPT):
        steps.append(removal(Plane.DOWN, seen.claim, CONFIG_MAP))
    name = names.anchor_name(seen.zone["metadata"]["uid"])
    steps.append(removal(Plane.DOWN, CONFIG_MAP.named(seen.space, name), CONFIG_MAP))
    return Plan((*steps, _finalizer(seen.zone, False)))


def _default_records(seen: Seen, servers: list[str]) -> Iterator[Step]:
    """Yield SOA and NS for a zone that has none; those of the user are left alone."""
    meta, domain = seen.zone["metadata"], seen.zone["spec"]["domainName"]
    present = {obj["spec"]["recordType"] for obj in seen.records}
    numbers = {"refresh": 10800, "retry": 3600, "expire": 604800, "ttl": 3600}
    soa = {"name": "@", "soa": {"mname": f"{servers[0]}.", "rname": f"hostmaster.{domain}."} | numbers}
    wanted = {"SOA": [soa], "NS": [{"name": "@", "ns": {"content": f"{server}."}} for server in servers]}
    for kind, entries in wanted.items():
        if kind not in present:
            obj = DNS_RECORD_SET.named(meta["namespace"], f"{meta['name']}-{kind.lower()}")
            obj["spec"] = {"dnsZoneRef": {"name": meta["name"]}, "recordType": kind, "records": entries}
            yield Claim(Plane.UP, obj)


def _programmed(seen: Seen, settings: Settings) -> bool:
    """Return whether SOA and NS are served; objects that nobody has programmed do not count."""
    early = settings.has(faults.ZONE_PROGRAMMED_EARLY)
    good = {obj["spec"]["recordType"] for obj in seen.records if early or conditions.is_true(obj, "Programmed")}
    return {"SOA", "NS"} <= good


def _status(seen: Seen, servers: list[str], settings: Settings, now: float) -> Obj:
    accepted = _condition("Accepted", bool(servers), "Pending", "Name servers are known", seen)
    if not servers:
        accepted["message"] = "Waits for name servers"
    programmed = _programmed(seen, settings)
    text = "SOA and NS are served" if programmed else "Waits for SOA and NS"
    wanted = [accepted, _condition("Programmed", programmed, "Pending", text, seen)]
    status: Obj = {
        "nameservers": servers,
        "recordCount": sum(len(obj["spec"]["records"]) for obj in seen.records),
        "conditions": conditions.dated(wanted, (seen.zone.get("status") or {}).get("conditions"), now),
    }
    if seen.domain is not None:
        servers_of_domain = (seen.domain.get("status") or {}).get("nameservers") or []
        status["domainRef"] = {"name": seen.domain["metadata"]["name"], "status": {"nameservers": servers_of_domain}}
    return status


def decide(seen: Seen, settings: Settings, now: float) -> Plan:
    """Return what follows from what was seen."""
    if "deletionTimestamp" in seen.zone["metadata"]:
        return _clean_up(seen, settings)
    if seen.klass is None:
        return _waiting(seen, "Pending", f"DNSZoneClass {seen.zone['spec']['dnsZoneClassName']!r} does not exist", now)
    if seen.claim is not None and seen.claim["data"]["owner"] != seen.me:
        text = f"{seen.zone['spec']['domainName']} is claimed by another zone"
        return _waiting(seen, "DNSZoneInUse", text, now)
    meta, domain = seen.zone["metadata"], seen.zone["spec"]["domainName"]
    servers = (seen.below or {}).get("status", {}).get("nameservers") or []
    steps: list[Step] = [
        _finalizer(seen.zone, True),
        namespace(seen.project, meta["namespace"], seen.space),
        anchor(seen.project, seen.zone, seen.space),
        Apply(Plane.DOWN, shadow.shadow(seen.project, seen.zone, seen.space)),
    ]
    if seen.domain is None:
        steps.append(Claim(Plane.UP, DOMAIN.named(meta["namespace"], domain) | {"spec": {"domainName": domain}}))
    if servers:
        steps += _default_records(seen, servers)
    return Plan((*steps, Status(Plane.UP, seen.zone, _status(seen, servers, settings, now))))


def prepare(seen: Seen, settings: Settings) -> Plan:
    """Return the attempt to become the holder of the domain name."""
    if "deletionTimestamp" in seen.zone["metadata"] or seen.klass is None:
        return Plan()
    space = Claim(Plane.DOWN, NAMESPACE.named("", settings.dns.accounting_namespace))
    return Plan((space, shadow.zone_claim(seen.project, seen.zone, settings.dns.accounting_namespace)))


def _gather(site: Site, request: Request) -> Seen | None:
    space, name = request.namespace, request.name
    zone, below = site.up(DNS_ZONE).get(space, name), site.downstream_namespace(space)
    if zone is None or below is None:
        return None
    domain = zone["spec"]["domainName"]
    return Seen(
        project=site.project,
        zone=zone,
        space=below,
        klass=site.up(DNS_ZONE_CLASS).get("", zone["spec"]["dnsZoneClassName"]),
        claim=site.down(CONFIG_MAP).get(site.settings.dns.accounting_namespace, domain),
        below=site.down(DNS_ZONE).get(below, name),
        domain=next((d for d in site.up(DOMAIN).all(space) if d["spec"]["domainName"] == domain), None),
        records=tuple(r for r in site.up(DNS_RECORD_SET).all(space) if r["spec"]["dnsZoneRef"]["name"] == name),
    )


def _reconcile(site: Site, request: Request, do: Do) -> Plan:
    seen = _gather(site, request)
    if seen is None:
        return Plan()
    if do(prepare(seen, site.settings)):
        seen = _gather(site, request) or seen
    return decide(seen, site.settings, time.time())


def _zone_of(_site: Site, record_set: Obj) -> Names:
    yield record_set["metadata"]["namespace"], record_set["spec"]["dnsZoneRef"]["name"]


def _of_class(site: Site, klass: Obj) -> Names:
    if site.settings.has(faults.ZONE_BEFORE_CLASS):
        return
    for zone in site.up(DNS_ZONE).all():
        if zone["spec"]["dnsZoneClassName"] == klass["metadata"]["name"]:
            yield zone["metadata"]["namespace"], zone["metadata"]["name"]


def _claimants(site: Site, claim: Obj) -> Names:
    """Wake every zone of that domain name: a loser may win now."""
    if claim["metadata"].get("namespace") == site.settings.dns.accounting_namespace:
        for zone in site.up(DNS_ZONE).all():
            if zone["spec"]["domainName"] == claim["metadata"]["name"]:
                yield zone["metadata"]["namespace"], zone["metadata"]["name"]


def _of_domain(site: Site, domain: Obj) -> Names:
    for zone in site.up(DNS_ZONE).all(domain["metadata"]["namespace"]):
        if zone["spec"]["domainName"] == domain["spec"]["domainName"]:
            yield zone["metadata"]["namespace"], zone["metadata"]["name"]


def controller(_settings: Settings) -> Controller:
    """Return the controller."""
    return Controller(
        name="dnszone-replicator",
        reconcile=_reconcile,
        watches=(
            Watch(Plane.UP, DNS_ZONE, itself),
            Watch(Plane.UP, DNS_ZONE_CLASS, _of_class),
            Watch(Plane.UP, DNS_RECORD_SET, _zone_of),
            Watch(Plane.UP, DOMAIN, _of_domain),
            Watch(Plane.DOWN, DNS_ZONE, shadow.origin),
            Watch(Plane.DOWN, CONFIG_MAP, _claimants),
        ),
        reads=((Plane.UP, NAMESPACE), (Plane.DOWN, NAMESPACE)),
    )
