"""DNS of a Gateway: the canonical name as DNSEndpoint downstream, custom host names as DNSRecordSets upstream."""

from collections.abc import Iterator
from dataclasses import dataclass

from edgegate_operator import conditions, faults, names, validation
from edgegate_operator.core.plan import Apply, Plane, Step, removal
from edgegate_operator.kinds import DNS_ENDPOINT, DNS_RECORD_SET, GATEWAY, Obj
from edgegate_operator.settings import Settings

TTL = 300
"""Seconds, of every record that we write."""
_MANAGER = "app.kubernetes.io/managed-by"
MANAGED_BY = {_MANAGER: "networking.datumapis.com", "dns.datumapis.com/managed": "true"}
HOSTNAME = "dns.datumapis.com/hostname"
STARTED = "dns.datumapis.com/sync-started-at"
SOURCE = "dns.datumapis.com/source-name"


def endpoint(canonical: str, below: Obj, settings: Settings) -> Obj | None:
    """Return the DNSEndpoint, or None until the Gateway has an address of every family."""
    values = [str(item["value"]) for item in (below.get("status") or {}).get("addresses") or []]
    by_version = {
        version: [value for value in values if (ip := validation.address(value)) and ip.version == version]
        for version in (4, 6)
    }
    endpoints = []
    for family in settings.gateway.ip_families:
        version, kind = (4, "A") if family == "IPv4" else (6, "AAAA")
        targets = by_version[version]
        if not targets:
            return None
        for name in (canonical, f"v{version}.{canonical}"):
            endpoints.append({"dnsName": name, "recordType": kind, "recordTTL": TTL, "targets": targets})
    meta = below["metadata"]
    owner = {"apiVersion": GATEWAY.api_version, "kind": GATEWAY.kind, "name": meta["name"], "controller": True}
    obj = DNS_ENDPOINT.named(meta["namespace"], meta["name"], labels=meta["labels"], ownerReferences=[owner])
    obj["spec"] = {"endpoints": endpoints}
    return obj


def zone_candidates(hostname: str) -> list[str]:
    """Return the names of zones that a host name can be in, most specific first.

    A name of two labels is its own candidate. So is every longer one: real zones have three labels too.
    """
    labels = hostname.split(".")
    return [".".join(labels[start:]) for start in range(len(labels) - 1)]


@dataclass(frozen=True)
class Outcome:
    """What became of the records of custom host names."""

    steps: tuple[Step, ...]
    """Writes and removals."""
    reasons: dict[str, str]
    """Reason for each host name: RecordCreated, NotApplicable, DomainNotVerified, …"""


def _authority(domain: Obj, zone: Obj) -> bool:
    """Return whether the zone is live and its name servers are those that the Domain is delegated to."""
    if not (conditions.is_true(zone, "Accepted") and conditions.is_true(zone, "Programmed")):
        return False
    ours = {name.rstrip(".").lower() for name in (zone.get("status") or {}).get("nameservers") or []}
    theirs = {i["hostname"].rstrip(".").lower() for i in (domain.get("status") or {}).get("nameservers") or []}
    return bool(ours & theirs)


def _place(hostname: str, domains: list[Obj], zones: list[Obj]) -> tuple[Obj, Obj] | str:
    """Return Domain and zone for a host name, or why there is none."""
    reason = "NotApplicable"
    for name in zone_candidates(hostname):
        domain = next((item for item in domains if item["spec"]["domainName"] == name), None)
        zone = next((item for item in zones if item["spec"]["domainName"] == name), None)
        if domain is None or zone is None or "deletionTimestamp" in zone["metadata"]:
            continue
        if not conditions.is_true(domain, "Verified"):
            reason = "DomainNotVerified"
        elif not _authority(domain, zone):
            reason = "DNSAuthorityMissing"
        else:
            return domain, zone
    return reason


def record_set(gateway: Obj, hostname: str, canonical: str, domain: Obj, zone: Obj, started: str) -> Obj:
    """Return the DNSRecordSet that leads a host name to the canonical one."""
    meta, apex = gateway["metadata"], zone["spec"]["domainName"]
    kind = "ALIAS" if (domain.get("status") or {}).get("apex") or hostname == apex else "CNAME"
    relative = "@" if hostname == apex else hostname.removesuffix("." + apex)
    source = {"source-kind": "Gateway", "source-name": meta["name"], "source-namespace": meta["namespace"]}
    labels = MANAGED_BY | {f"dns.datumapis.com/{key}": value for key, value in source.items()}
    owner = {"apiVersion": GATEWAY.api_version, "kind": GATEWAY.kind, "name": meta["name"], "uid": meta["uid"]}
    obj = DNS_RECORD_SET.named(
        meta["namespace"],
        names.record_set(meta["name"], hostname),
        labels=labels,
        annotations={HOSTNAME: hostname, STARTED: started},
        ownerReferences=[owner],
    )
    record = {"name": relative, "ttl": TTL, kind.lower(): {"content": canonical + "."}}
    obj["spec"] = {"dnsZoneRef": {"name": zone["metadata"]["name"]}, "recordType": kind, "records": [record]}
    return obj


def _conflict(wanted: Obj, records: list[Obj]) -> bool:
    """Return whether somebody else's record set stands for the same name in the same zone."""
    zone, name = wanted["spec"]["dnsZoneRef"]["name"], wanted["spec"]["records"][0]["name"]
    return any(
        (item["metadata"].get("labels") or {}).get(_MANAGER) != MANAGED_BY[_MANAGER]
        and item["spec"]["dnsZoneRef"]["name"] == zone
        and item["spec"]["recordType"] in ("A", "AAAA", "CNAME", "ALIAS")
        and any(record["name"] == name for record in item["spec"]["records"])
        for item in records
    )


def records(
    gateway: Obj,
    hostnames: list[str],
    canonical: str,
    domains: list[Obj],
    zones: list[Obj],
    held: list[Obj],
    settings: Settings,
    now: float,
) -> Outcome:
    """Return the record sets for those host names, and the removal of every other one of this Gateway.

    `hostnames` are the custom ones that the Gateway may serve, `held` all record sets of the namespace.
    """
    own = {obj["metadata"]["name"]: obj for obj in held if _is_of(obj, gateway)}
    steps: list[Step] = []
    reasons: dict[str, str] = {}
    for hostname in hostnames if settings.gateway.enable_dns_integration else ():
        place = _place(hostname, domains, zones)
        if isinstance(place, str):
            reasons[hostname] = place
            continue
        name = names.record_set(gateway["metadata"]["name"], hostname)
        started = (own.get(name, {}).get("metadata") or {}).get("annotations", {}).get(STARTED)
        wanted = record_set(gateway, hostname, canonical, *place, started or conditions.timestamp(now))
        if _conflict(wanted, held):
            reasons[hostname] = "ConflictWithUserRecord"
            continue
        reasons[hostname] = "RecordCreated"
        own.pop(name, None)
        steps.append(Apply(Plane.UP, wanted))
    if not settings.has(faults.STALE_RECORDS):
        steps += _dropped(own, reasons)
    return Outcome(tuple(steps), reasons)


def _dropped(own: dict[str, Obj], reasons: dict[str, str]) -> Iterator[Step]:
    """Yield the removal of record sets that are not wanted. One whose authority is only in doubt stays: no flapping."""
    for obj in own.values():
        hostname = (obj["metadata"].get("annotations") or {}).get(HOSTNAME, "")
        if reasons.get(hostname) != "DNSAuthorityMissing":
            yield removal(Plane.UP, obj, DNS_RECORD_SET)


def _is_of(obj: Obj, gateway: Obj) -> bool:
    labels = obj["metadata"].get("labels") or {}
    return labels.get(SOURCE) == gateway["metadata"]["name"] and labels.get("dns.datumapis.com/managed") == "true"


def removed(gateway: Obj, held: list[Obj]) -> Iterator[Step]:
    """Yield the removal of every record set of a Gateway."""
    for obj in held:
        if _is_of(obj, gateway):
            yield removal(Plane.UP, obj, DNS_RECORD_SET)


def gateway_condition(outcome: Outcome, generation: int) -> Obj | None:
    """Return the Gateway's condition about records, or None if no host name is in a zone of ours."""
    applicable = {name: reason for name, reason in outcome.reasons.items() if reason != "NotApplicable"}
    if not applicable:
        return None
    failed = {name: reason for name, reason in applicable.items() if reason != "RecordCreated"}
    if failed:
        text = ", ".join(f"{name}: {reason}" for name, reason in sorted(failed.items()))
        return conditions.condition("DNSRecordsProgrammed", False, "PartialFailure", text, generation)
    text = f"{len(applicable)} record sets are written"
    return conditions.condition("DNSRecordsProgrammed", True, "AllRecordsCreated", text, generation)
