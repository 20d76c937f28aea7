"""A customer's domain as scenarios hold it: Domain and DNSZone, and what the name servers say."""

import secrets

from edgegate.clock import wait_until
from edgegate.clusters import kinds
from edgegate.clusters.kinds import Ref
from edgegate.clusters.plane import Manifest, is_true
from edgegate.components.operator import ZONE_CLASS
from edgegate.edge.customer import Customer, check_hostname


class Domain:
    """One Domain object; made by the fixture `domain`."""

    def __init__(self, name: str, customer: Customer) -> None:
        self.name = check_hostname(name)
        self.customer = customer
        self.ref = customer.ref(kinds.DOMAIN, self.name.replace(".", "-"))

    def __repr__(self) -> str:
        return f"Domain {self.name}"

    def create(self) -> None:
        """Create the object."""
        self.customer.upstream.create(self.ref.manifest({"domainName": self.name}))

    def remove(self, within: float) -> None:
        """Delete it and return when it is gone."""
        self.customer.upstream.delete_and_wait(self.ref, within=within)

    def wait_verified(self, within: float) -> Manifest:
        """Return the object as soon as the operator believes that the domain is the customer's.

        Raises:
            NeverReady: not within that many seconds.
        """
        what = f"{self!r} verified"
        found = self.customer.upstream.wait(self.ref, lambda one: is_true(one, "Verified"), what=what, within=within)
        return found or {}


class Zone:
    """One DNSZone with the Domain that the operator makes for it; made by the fixture `dns_zone`."""

    def __init__(self, name: str, customer: Customer, zone_class: str = ZONE_CLASS) -> None:
        self.name = check_hostname(name)
        self.customer, self.zone_class = customer, zone_class
        self.ref = customer.ref(kinds.DNS_ZONE, self.name.replace(".", "-"))

    def __repr__(self) -> str:
        return f"DNSZone {self.name}"

    def host(self, label: str = "") -> str:
        """Return a name in the zone; without a label one that nobody has asked for before."""
        return f"{label or f'h{secrets.token_hex(3)}'}.{self.name}"

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

    def wait_verified(self, within: float) -> Manifest:
        """Return the Domain that came with the zone, as soon as the operator believes that it is the customer's.

        Raises:
            NeverReady: not within that many seconds.
        """
        plane = self.customer.upstream
        made = wait_until(f"Domain of {self!r}", self._domains, deadline=within, every=0.1)[0]
        what = f"Domain of {self!r} verified"
        return plane.wait(made, lambda one: is_true(one, "Verified"), what=what, within=within) or {}

    def wait_programmed(self, within: float) -> Manifest:
        """Return the object as soon as the operator says that the zone is served.

        Raises:
            NeverReady: not within that many seconds.
        """
        what = f"{self!r} programmed"
        found = self.customer.upstream.wait(self.ref, lambda one: is_true(one, "Programmed"), what=what, within=within)
        return found or {}
