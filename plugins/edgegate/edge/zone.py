"""A customer's domain as scenarios hold it: Domain and DNSZone, and what the name servers say."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from edgegate.clock import wait_until
from edgegate.clusters import kinds
from edgegate.clusters.kinds import Ref
from edgegate.clusters.plane import Manifest, conditions, is_true
from edgegate.components.dns import NAMESERVERS
from edgegate.components.operator import ZONE_CLASS
from edgegate.edge.customer import Customer, check_hostname
from edgegate.edge.dns import Dns


@dataclass(frozen=True)
class Proof:
    """The TXT record by which a customer proves that a domain is his."""

    name: str
    """Its name, without the final dot."""
    content: str
    """What it must say."""


class Domain:
    """One Domain object; made by the fixture `domain`."""

    def __init__(self, name: str, customer: Customer, object_name: str = "") -> None:
        self.name = check_hostname(name)
        self.customer = customer
        self.ref = customer.ref(kinds.DOMAIN, object_name or self.name.replace(".", "-"))

    def __repr__(self) -> str:
        return f"Domain {self.name}"

    def create(self) -> None:
        """Create the object."""
        self.customer.upstream.create(self.ref.manifest({"domainName": self.name}))

    def remove(self, within: float) -> None:
        """Delete it and return when it is gone."""
        self.customer.upstream.delete_and_wait(self.ref, within=within)

    def refresh(self) -> None:
        """Ask for an attempt to verify it now."""
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        self.customer.upstream.patch(self.ref, {"spec": {"desiredVerificationRefreshAttempt": now}})

    def prove(self, dns: Dns, within: float) -> None:
        """Publish the proof, and return when the operator believes it. Raises NeverReady."""
        proof = self.proof(within)
        dns.publish(self.name, proof.name, proof.content, within=within)
        self.refresh()
        self.wait_verified(within)

    def lead(self, dns: Dns, address: str, *hosts: str) -> None:
        """Let host names of the domain have an address, which a resolver forgets after a second."""
        for host in hosts:
            dns.api.replace(self.name, host, "A", [address], ttl=1)

    def proof(self, within: float) -> Proof:
        """Return what the customer has to publish, as soon as the operator says it. Raises NeverReady."""
        found = self._wait(lambda one: _verification(one).get("dnsRecord"), "a record to publish", within)
        record = _verification(found)["dnsRecord"]
        return Proof(record["name"].rstrip("."), record["content"])

    def wait_refused(self, reason: str, within: float) -> Manifest:
        """Return the object as soon as it says why the TXT record is not the right one. Raises NeverReady."""
        return self._wait(lambda one: conditions(one).get("VerifiedDNS", {}).get("reason") == reason, reason, within)

    def wait_next_attempt(self, *, beyond: float, within: float) -> float:
        """Return how many seconds away the next attempt is, as soon as these are more than `beyond`.

        Raises:
            NeverReady: they never were.
        """
        found = self._wait(lambda one: _away(one) > beyond, f"next attempt more than {beyond:.0f} s away", within)
        return _away(found)

    def _wait(self, accept: Callable[[Manifest | None], object], what: str, within: float) -> Manifest:
        return self.customer.upstream.wait(self.ref, accept, what=f"{self!r}: {what}", within=within) or {}

    def wait_verified(self, within: float) -> Manifest:
        """Return the object as soon as the operator believes that the domain is the customer's.

        Raises:
            NeverReady: not within that many seconds.
        """
        return self._wait(_is_verified, "verified", within)


def _is_verified(domain: Manifest | None) -> bool:
    """Tell whether a Domain is verified, whatever its spec asked for since: it is not looked at again."""
    return bool(conditions(domain).get("Verified", {}).get("status") == "True")


def _verification(domain: Manifest | None) -> Manifest:
    return ((domain or {}).get("status") or {}).get("verification") or {}


def _away(domain: Manifest | None) -> float:
    """Return the seconds until the next attempt, 0 while none is planned."""
    text = _verification(domain).get("nextVerificationAttempt")
    return (datetime.fromisoformat(text) - datetime.now(UTC)).total_seconds() if text else 0.0


class Zone:
    """One DNSZone with the Domain that the operator makes for it; made by the fixture `dns_zone`."""

    def __init__(self, name: str, customer: Customer, zone_class: str = "") -> None:
        self.name = check_hostname(name)
        self.customer, self.zone_class = customer, zone_class or ZONE_CLASS
        self.ref = customer.ref(kinds.DNS_ZONE, self.name.replace(".", "-"))

    def __repr__(self) -> str:
        return f"DNSZone {self.name}"

    def host(self, label: str = "") -> str:
        """Return a name in the zone; without a label one that nobody has asked for before."""
        return f"{label or f'h{secrets.token_hex(3)}'}.{self.name}"

    def record_set(self, label: str, type: str, *members: Manifest) -> Manifest:  # noqa: A002 - the word of DNS
        """Return a DNSRecordSet of the customer's: one owner name with one entry a member, as `{"content": "…"}`."""
        entries = [{"name": label, "ttl": 60, type.lower(): member} for member in members]
        spec = {"dnsZoneRef": {"name": self.ref.name}, "recordType": type, "records": entries}
        name = f"{'apex' if label == '@' else label}-{self.ref.name}"
        return self.customer.ref(kinds.DNS_RECORD_SET, name).manifest(spec)

    def wait_record(self, record: Ref, within: float) -> Manifest:
        """Return a record set as soon as it is programmed. Raises NeverReady."""
        return self._wait(record, lambda found: is_true(found, "Programmed"), "Programmed", within)

    def wait_record_refused(self, record: Ref, within: float) -> Manifest:
        """Return a record set as soon as the operator says that it is not served. Raises NeverReady."""
        return self._wait(record, _refused, "Programmed=False", within)

    def _wait(self, ref: Ref, accept: Callable[[Manifest | None], object], what: str, within: float) -> Manifest:
        return self.customer.upstream.wait(ref, accept, what=f"{ref}: {what}", within=within) or {}

    def create(self) -> None:
        """Create the object."""
        spec = {"domainName": self.name, "dnsZoneClassName": self.zone_class}
        self.customer.upstream.create(self.ref.manifest(spec))

    def remove(self, within: float) -> None:
        """Delete it with the Domain that came with it, and return when both are gone."""
        self.customer.upstream.delete_and_wait(self.ref, within=within)
        self.customer.upstream.delete_and_wait(*self._domains(), within=within)

    def _domains(self) -> list[Ref]:
        found = self.customer.upstream.list(kinds.DOMAIN, self.customer.namespace)
        own = [one for one in found if one["spec"]["domainName"] == self.name]
        return [self.customer.ref(kinds.DOMAIN, one["metadata"]["name"]) for one in own]

    def register(self, within: float) -> None:
        """Write into the Domain what a registry would tell: by whom the zone is served.

        Nobody outside the lab can be asked, and an operator that asks registries alone never learns it.
        """
        made = wait_until(f"Domain of {self!r}", self._domains, deadline=within, every=0.1)[0]
        servers = [{"hostname": server} for server in NAMESERVERS]
        self.customer.upstream.patch(made, {"status": {"nameservers": servers}}, subresource="status")

    def wait_verified(self, within: float) -> Manifest:
        """Return the Domain that came with the zone, as soon as the operator believes that it is the customer's.

        Raises:
            NeverReady: not within that many seconds.
        """
        plane = self.customer.upstream
        made = wait_until(f"Domain of {self!r}", self._domains, deadline=within, every=0.1)[0]
        return plane.wait(made, _is_verified, what=f"Domain of {self!r} verified", within=within) or {}

    def wait_seen(self, within: float) -> Manifest:
        """Return the object as soon as the operator says anything of it. Raises NeverReady."""
        return self._wait(self.ref, lambda one: "Accepted" in conditions(one), "an Accepted condition", within)

    def wait_waiting(self, within: float, reason: str = "") -> Manifest:
        """Return the object as soon as the operator says that it cannot be served yet. Raises NeverReady."""

        def waits(found: Manifest | None) -> bool:
            said = conditions(found).get("Accepted", {})
            return said.get("status") == "False" and reason in ("", said.get("reason"))

        return self._wait(self.ref, waits, f"Accepted=False {reason}".strip(), within)

    def wait_programmed(self, within: float) -> Manifest:
        """Return the object as soon as the operator says that the zone is served.

        Raises:
            NeverReady: not within that many seconds.
        """
        return self._wait(self.ref, lambda one: is_true(one, "Programmed"), "Programmed", within)


def _refused(record: Manifest | None) -> bool:
    """Tell whether the name server has refused one of the names of a record set."""
    for name in ((record or {}).get("status") or {}).get("recordSets") or []:
        said = conditions({"status": name}).get("Programmed", {})
        if said.get("status") == "False" and said.get("reason") not in ("Pending", None):
            return True
    return False
