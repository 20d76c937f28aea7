"""Status of an HTTPProxy: what its Gateway, certificates and records say, put together."""

from dataclasses import dataclass, field

from edgegate_operator import conditions
from edgegate_operator.kinds import Obj


@dataclass(frozen=True)
class Seen:
    """What a decision about an HTTPProxy is based on."""

    proxy: Obj
    """The HTTPProxy."""
    gateway: Obj | None = None
    """Its Gateway."""
    route: Obj | None = None
    """Its HTTPRoute."""
    slices: dict[str, Obj] = field(default_factory=dict)
    """EndpointSlices that it owns, and those that have the names it wants, by name."""
    certificates: dict[str, Obj] = field(default_factory=dict)
    """Downstream Certificates of the Gateway, by name."""
    records: dict[str, Obj] = field(default_factory=dict)
    """DNSRecordSets of the Gateway, by host name."""


Verdict = tuple[str, str]
"""Reason and message of a condition that is False."""


def listener_condition(gateway: Obj, listener: str, kind: str) -> Obj:
    """Return a condition of one listener of a Gateway, or an empty one."""
    listeners = (gateway.get("status") or {}).get("listeners") or []
    found: Obj = next((item for item in listeners if item["name"] == listener), {})
    return conditions.find(found.get("conditions"), kind)


def _from_gateway(proxy: Obj, gateway: Obj | None, kind: str) -> Obj:
    """Return the Gateway's condition; while it speaks of an older generation, what we said last (and of which)."""
    seen, generation = conditions.of(gateway, kind), proxy["metadata"]["generation"]
    if not conditions.is_current(gateway, kind):
        before = conditions.of(proxy, kind)
        if before.get("status") == "True":
            return before
        return conditions.condition(kind, False, "Pending", "The Gateway has not been looked at yet", generation)
    good = seen["status"] == "True"
    return conditions.condition(kind, good, seen["reason"], seen.get("message", ""), generation)


def _available(gateway: Obj, number: int, generation: int) -> Obj | None:
    accepted = listener_condition(gateway, f"http-hostname-{number}", "Accepted")
    if accepted.get("status") == "True":
        return conditions.condition("Available", True, "Claimed", "This Gateway holds the host name", generation)
    if accepted.get("reason") == "HostnameInUse":
        return conditions.condition("Available", False, "InUse", accepted.get("message", ""), generation)
    return None


def certificate_condition(certificate: Obj | None, generation: int) -> Obj:
    """Return how far the certificate of a host name is."""
    ready, issuing = conditions.of(certificate, "Ready"), conditions.of(certificate, "Issuing")
    if ready.get("status") == "True":
        return conditions.condition("CertificateReady", True, "CertificateIssued", "Issued", generation)
    if certificate is None:
        return conditions.condition(
            "CertificateReady", False, "Pending", "No certificate has been asked for", generation
        )
    if (certificate.get("status") or {}).get("lastFailureTime"):
        text = issuing.get("message") or ready.get("message", "")
        return conditions.condition("CertificateReady", False, "ProvisioningFailed", text, generation)
    if issuing.get("status") == "True":
        text = issuing.get("message", "")
        return conditions.condition("CertificateReady", False, "ChallengeInProgress", text, generation)
    return conditions.condition("CertificateReady", False, "Pending", ready.get("message", ""), generation)


def _record_condition(record: Obj, generation: int) -> Obj:
    seen = conditions.of(record, "Programmed")
    if seen.get("status") == "True":
        return conditions.condition("DNSRecordProgrammed", True, "RecordCreated", "The record is served", generation)
    reason = seen.get("reason") or "Pending"
    return conditions.condition("DNSRecordProgrammed", False, reason, seen.get("message", ""), generation)


def _hostname_statuses(seen: Seen, gateway: Obj, now: float) -> list[Obj]:
    proxy, name = seen.proxy, seen.proxy["metadata"]["name"]
    generation = proxy["metadata"]["generation"]
    before = {item["hostname"]: item for item in (proxy.get("status") or {}).get("hostnameStatuses") or []}
    found: list[Obj] = []
    for number, hostname in enumerate(proxy["spec"].get("hostnames") or []):
        available = _available(gateway, number, generation)
        if available is None:
            continue  # waits for its Domain; HostnamesVerified says so
        wanted = [available]
        if available["status"] == "True":
            if hostname in seen.records:
                wanted.append(_record_condition(seen.records[hostname], generation))
            certificate = seen.certificates.get(f"{name}-https-hostname-{number}")
            wanted.append(certificate_condition(certificate, generation))
        dated = conditions.dated(wanted, before.get(hostname, {}).get("conditions"), now)
        found.append({"hostname": hostname, "conditions": dated})
    return found


def _verified(gateway: Obj, hostnames: list[str], generation: int) -> Obj:
    waiting = [
        hostname
        for number, hostname in enumerate(hostnames)
        if listener_condition(gateway, f"http-hostname-{number}", "Accepted").get("reason")
        == "UnverifiedHostnamesPresent"
    ]
    if waiting:
        text = f"No verified Domain covers: {', '.join(waiting)}"
        return conditions.condition("HostnamesVerified", False, "UnverifiedHostnamesPresent", text, generation)
    text = "A verified Domain covers every host name"
    return conditions.condition("HostnamesVerified", True, "HostnamesVerified", text, generation)


def _certificates(statuses: list[Obj], expected: int, generation: int) -> Obj:
    found = [conditions.find(item["conditions"], "CertificateReady") for item in statuses]
    failed = [item for item in found if item.get("reason") == "ProvisioningFailed"]
    if failed:
        text = failed[0].get("message", "")
        return conditions.condition("CertificatesReady", False, "CertificatesFailed", text, generation)
    ready = sum(item.get("status") == "True" for item in found)
    if ready < expected:
        text = f"{ready} of {expected} certificates are issued"
        return conditions.condition("CertificatesReady", False, "CertificatesPending", text, generation)
    return conditions.condition("CertificatesReady", True, "AllCertificatesReady", "All are issued", generation)


def _hostname_conditions(gateway: Obj | None, hostnames: list[str], statuses: list[Obj], generation: int) -> list[Obj]:
    if gateway is None or not conditions.is_current(gateway, "Accepted"):
        text = "The Gateway has not been looked at yet"
        return [conditions.condition("HostnamesVerified", False, "Pending", text, generation)]
    found = [_verified(gateway, hostnames, generation), _certificates(statuses, len(hostnames), generation)]
    taken = [s["hostname"] for s in statuses if conditions.find(s["conditions"], "Available").get("status") == "False"]
    if taken:
        text = f"Held by somebody else: {', '.join(taken)}"
        found.append(conditions.condition("HostnamesInUse", True, "HostnameInUse", text, generation))
    return found


def _with_hostnames(gateway: Obj, statuses: list[Obj]) -> Obj:
    addresses = (gateway.get("status") or {}).get("addresses") or []
    accepted = [s["hostname"] for s in statuses if conditions.find(s["conditions"], "Available")["status"] == "True"]
    found: Obj = {"addresses": [{"type": "Hostname", "value": item["value"]} for item in addresses]}
    if addresses:
        found["canonicalHostname"] = addresses[0]["value"]
        found["hostnames"] = [addresses[0]["value"], *accepted]
    if statuses:
        found["hostnameStatuses"] = statuses
    return found


def proxy_status(seen: Seen, now: float, accepted: Verdict | None = None, programmed: Verdict | None = None) -> Obj:
    """Return the status of an HTTPProxy.

    `accepted` and `programmed` are reason and message of conditions that are False whatever the Gateway says.
    """
    proxy, gateway = seen.proxy, seen.gateway
    generation, old = proxy["metadata"]["generation"], proxy.get("status") or {}
    hostnames = proxy["spec"].get("hostnames") or []
    current = gateway is not None and conditions.is_current(gateway, "Accepted")
    statuses = _hostname_statuses(seen, gateway, now) if gateway and current else old.get("hostnameStatuses") or []
    wanted = [_from_gateway(proxy, gateway, kind) for kind in ("Accepted", "Programmed")]
    if accepted:
        wanted[0] = conditions.condition("Accepted", False, *accepted, generation)
        wanted[1] = conditions.condition("Programmed", False, *accepted, generation)
    elif programmed:
        wanted[1] = conditions.condition("Programmed", False, *programmed, generation)
    if hostnames and not accepted:
        wanted += _hostname_conditions(gateway, hostnames, statuses, generation)
    found = _with_hostnames(gateway, statuses) if gateway else {}
    return found | {"conditions": conditions.dated(wanted, old.get("conditions"), now)}
