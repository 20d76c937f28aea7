"""A customer: a namespace of a project, and what the operator makes of it on the edge cluster."""

import secrets
from dataclasses import dataclass
from functools import cached_property

from edgegate.clock import wait_until
from edgegate.clusters import kinds
from edgegate.clusters.kinds import Kind, Ref
from edgegate.clusters.plane import ControlPlane, Manifest, conditions
from edgegate.components import recursor
from edgegate.edge.oidc_policy import accepted
from edgegate.errors import ForeignHostname

OWN_KINDS = (
    kinds.HTTP_PROXY,
    kinds.DNS_RECORD_SET,
    kinds.DNS_ZONE,
    kinds.DOMAIN,
    kinds.GATEWAY,
    kinds.HTTP_ROUTE,
    kinds.SECURITY_POLICY,
    kinds.BACKEND,
    kinds.TRAFFIC_PROTECTION_POLICY,
    kinds.CONNECTOR,
    kinds.SECRET,
    kinds.CONFIG_MAP,
)
"""What customers create, in an order in which it can be deleted: a Domain stays while something uses it."""
_ALWAYS_THERE = "kube-root-ca.crt"
LONGEST = 200
"""Letters of what a condition says that are told."""
ANYBODYS = "default"
"""The namespace in which objects end that were created without thinking of one."""


@dataclass(frozen=True)
class Challenge:
    """An open HTTP-01 challenge."""

    token: str
    """Last part of the path that is asked for."""
    key: str
    """The right answer."""


class Customer:
    """One customer of one project; made by the fixture `customer` and by `customers`."""

    def __init__(self, name: str, upstream: ControlPlane, downstream: ControlPlane, namespace: str = "") -> None:
        """Take where it lives; its namespace is one that nobody has yet, unless named."""
        self.name = name
        self.namespace = namespace or f"{name}-{secrets.token_hex(3)}"
        self.upstream, self.downstream = upstream, downstream

    def __repr__(self) -> str:
        return f"customer {self.namespace} of {self.upstream.name}"

    def create(self) -> None:
        """Create the namespace."""
        self.upstream.namespace(self.namespace)

    @cached_property
    def below(self) -> str:
        """The downstream namespace that the operator uses for this one; it may not exist yet."""
        found = self.upstream.get(Ref(kinds.NAMESPACE, self.namespace))
        assert found is not None, "a customer is used after it was created"
        return f"ns-{found['metadata']['uid']}"

    def dry_run(self, manifest: Manifest) -> None:
        """Ask admission whether an object could be created in the namespace. Raises PlaneRefused when not."""
        ref = Ref.of(manifest)
        collection = self.upstream.collection(ref.kind, ref.namespace)
        self.upstream.request("POST", collection, query={"dryRun": "All"}, body=manifest)

    def ref(self, kind: Kind, name: str) -> Ref:
        """Return the reference to an object of this customer."""
        return Ref(kind, name, self.namespace)

    def ref_below(self, kind: Kind, name: str) -> Ref:
        """Return the reference to what the operator made for this customer on the edge cluster."""
        return Ref(kind, name, self.below)

    def certificate_of(self, host: str) -> str:
        """Return what is said of the certificate for one of his host names, empty while nobody has asked for one."""
        found = self._certificate(host)
        return "" if found is None else _told(found, "Ready") or "nothing said yet"

    def wait_certificate_failed(self, host: str, within: float) -> str:
        """Return what is said of the certificate for one of his host names as soon as its issuance has failed.

        Raises:
            NeverReady: it did not within that many seconds.
        """

        def look() -> str | None:
            found = self._certificate(host) or {}
            at = (found.get("status") or {}).get("lastFailureTime")
            return f"{host} at {at}: {_told(found, 'Issuing')}" if at else None

        return wait_until(f"certificate for {host} failed", look, deadline=within, every=0.1)

    def _certificate(self, host: str) -> Manifest | None:
        found = self.downstream.list(kinds.CERTIFICATE, self.below)
        return next((one for one in found if host in (one["spec"].get("dnsNames") or [])), None)

    def wait_accepted(self, policy: Ref, within: float) -> Manifest:
        """Return a policy of his as soon as it says that it is in force. Raises NeverReady."""

        def in_force(found: Manifest | None) -> bool:
            return (accepted(found) or {}).get("status") == "True"

        return self.upstream.wait(policy, in_force, what=f"{policy} accepted", within=within) or {}

    def wait_challenge(self, host: str, within: float) -> Challenge:
        """Return the challenge by which one of his host names has to be proven, as soon as there is one.

        Raises:
            NeverReady: not within that many seconds.
        """

        def look() -> Challenge | None:
            every = [one["spec"] for one in self.downstream.list(kinds.CHALLENGE, self.below)]
            return next((Challenge(one["token"], one["key"]) for one in every if one["dnsName"] == host), None)

        return wait_until(f"challenge for {host}", look, deadline=within, every=0.1)

    def delete_everything(self, within: float) -> None:
        """Delete all that he has created, and return when it is gone. Raises NeverReady."""
        sweep(self.upstream, self.namespace, within)

    def remove(self, within: float) -> list[Ref]:
        """Delete the namespace here and on the edge cluster; return the objects that somebody had left in it.

        Raises:
            NeverReady: one of them did not go within that many seconds; names its finalizers.
        """
        left, below = sweep(self.upstream, self.namespace, within), self.below
        self.upstream.delete(Ref(kinds.NAMESPACE, self.namespace))
        self.downstream.delete(Ref(kinds.NAMESPACE, below))
        return left


def sweep(plane: ControlPlane, namespace: str, within: float) -> list[Ref]:
    """Delete what somebody has left in a namespace, and return it.

    What an operator has made on behalf of another object is deleted too, and is not counted. Domains go last, because
    one that a proxy or a zone uses must not be deleted.

    Raises:
        NeverReady: an object did not go within that many seconds.
    """
    found = [(kind, one) for kind in OWN_KINDS for one in plane.list(kind, namespace)]
    present = [(kind, one) for kind, one in found if one["metadata"]["name"] != _ALWAYS_THERE]
    refs = {Ref(kind, one["metadata"]["name"], namespace): _is_made(kind, one) for kind, one in present}
    domains = [ref for ref in refs if ref.kind == kinds.DOMAIN]
    plane.delete_and_wait(*(ref for ref in refs if ref not in domains), within=within)
    plane.delete_and_wait(*domains, within=within)
    return [ref for ref, made in refs.items() if not made]


def _is_made(kind: Kind, found: Manifest) -> bool:
    """Tell whether an operator has made an object for another one: it has an owner, or a name of that kind.

    A Domain is made for a host name before it has an owner, and SOA and NS are made for a zone.
    """
    name, spec = found["metadata"]["name"], found.get("spec") or {}
    if found["metadata"].get("ownerReferences") or (kind is kinds.DOMAIN and name == spec["domainName"]):
        return True
    return kind is kinds.DNS_RECORD_SET and name == f"{spec['dnsZoneRef']['name']}-{spec['recordType'].lower()}"


def _told(found: Manifest, condition: str) -> str:
    one = conditions(found).get(condition, {})
    return f"{condition}={one['status']} {one.get('reason')}: {one.get('message', '')}"[:LONGEST] if one else ""


def own_domain(label: str = "shop") -> str:
    """Return a domain that no other test has, below the one that is the lab's own."""
    return f"{label}-{secrets.token_hex(3)}.{recursor.DOMAIN}"


def check_hostname(hostname: str) -> str:
    """Return the name, in lower case, if the lab can answer for it.

    Raises:
        ForeignHostname: it is outside the lab's domains.
    """
    name = hostname.lower().rstrip(".")
    if not name.endswith(f".{recursor.DOMAIN}"):
        raise ForeignHostname(hostname, recursor.DOMAIN)
    return name
