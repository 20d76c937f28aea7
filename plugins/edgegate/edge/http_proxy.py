"""An HTTPProxy of a customer as scenarios hold it: its objects on both planes, its names, and probes of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from edgegate.clock import MONOTONIC
from edgegate.clusters import kinds
from edgegate.clusters.kinds import Kind, Ref
from edgegate.clusters.plane import Manifest, conditions, is_true
from edgegate.components.operator import ORIGIN_HOST, ORIGIN_PORT
from edgegate.edge.acme import Acme, Untrusted
from edgegate.edge.asking import wait_for_answer
from edgegate.edge.customer import Customer, check_hostname
from edgegate.probes.http import HttpProbe
from edgegate.records import MARKER, Answer

Accept = Callable[[Manifest | None], object]
REDIRECTED = 301
"""Status of an answer that sends visitors to another host name."""


@dataclass(frozen=True)
class Backend:
    """Where a proxy sends requests."""

    endpoint: str = f"http://{ORIGIN_HOST}:{ORIGIN_PORT}"
    """URL of the origin, by name or by address."""
    tls_hostname: str = ""
    """Name in the certificate of an origin that is reached by TLS and by address."""


@dataclass(frozen=True)
class Wish:
    """What a customer wants of a proxy; an edit is another wish."""

    marker: str
    """By which header each answer tells that it came by way of this proxy."""
    hostnames: tuple[str, ...] = ()
    """Custom host names."""
    backend: Backend = Backend()
    """The origin."""
    headers: Mapping[str, str] | None = None
    """Headers that answers shall have besides."""
    redirect: str = ""
    """Host name to which all visitors are sent, in place of an origin."""

    @property
    def spec(self) -> Manifest:
        """The spec of the HTTPProxy."""
        return {"rules": [self._rule]} | ({"hostnames": list(self.hostnames)} if self.hostnames else {})

    @property
    def _rule(self) -> Manifest:
        if self.redirect:
            there = {"hostname": self.redirect, "statusCode": REDIRECTED}
            return {"filters": [{"type": "RequestRedirect", "requestRedirect": there}]}
        backend: Manifest = {"endpoint": self.backend.endpoint}
        if self.backend.tls_hostname:
            backend["tls"] = {"hostname": self.backend.tls_hostname}
        values = {MARKER: self.marker, **(self.headers or {})}
        headers = [{"name": name, "value": value} for name, value in values.items()]
        stamp = {"type": "ResponseHeaderModifier", "responseHeaderModifier": {"set": headers}}
        return {"backends": [backend], "filters": [stamp]}


class HttpProxy:
    """One HTTPProxy; made by the fixture `http_proxy`."""

    def __init__(self, name: str, customer: Customer, wish: Wish, acme: Acme | Untrusted, address: str) -> None:
        self.name, self.customer, self.wish = name, customer, wish
        self.marker = wish.marker
        self.ref = customer.ref(kinds.HTTP_PROXY, name)
        self.gateway = customer.ref(kinds.GATEWAY, name)
        self.route = customer.ref(kinds.HTTP_ROUTE, name)
        self.created = 0.0
        """Monotonic second at which the customer created it."""
        self._acme, self._address = acme, address

    def __repr__(self) -> str:
        return f"HTTPProxy {self.customer.namespace}/{self.name}"

    @property
    def hostnames(self) -> tuple[str, ...]:
        """Its custom host names, as they are wanted now."""
        return self.wish.hostnames

    def below(self, kind: Kind, name: str = "") -> Ref:
        """Return what the operator made of it on the edge cluster; it has the proxy's name unless one is given."""
        return self.customer.ref_below(kind, name or self.name)

    def create(self) -> None:
        """Create the object; the operator has seen nothing of it yet."""
        self.created = MONOTONIC.now()
        self.customer.upstream.create(self.ref.manifest(self.wish.spec))

    @property
    def address(self) -> str:
        """Where the edge answers."""
        return self._address

    @property
    def root(self) -> Path:
        """PEM file of the authority that its certificates lead to."""
        return self._acme.root

    def edit(self, **changes: Any) -> None:
        """Let the customer want something else: `hostnames`, `backend`, `headers` or `redirect`, as in `Wish`."""
        if "hostnames" in changes:
            changes["hostnames"] = checked(changes["hostnames"])
        self.wish = replace(self.wish, **changes)
        self.customer.upstream.patch(self.ref, {"spec": {"hostnames": None, **self.wish.spec}})

    def firewall(self) -> Manifest:
        """Return a policy that protects everything behind its Gateway and blocks what looks like an attack."""
        target = {"group": "gateway.networking.k8s.io", "kind": self.gateway.kind.name, "name": self.gateway.name}
        ref = self.customer.ref(kinds.TRAFFIC_PROTECTION_POLICY, f"{self.name}-firewall")
        return ref.manifest({"targetRefs": [target], "mode": "Enforce"})

    def delete(self) -> None:
        """Ask for its deletion, and do not wait."""
        self.customer.upstream.delete(self.ref)

    def remove(self, within: float) -> None:
        """Delete it and return when its Gateway and route are gone, here and on the edge cluster.

        Raises:
            NeverReady: one of them is still there after that many seconds.
        """
        upstream, downstream = self.customer.upstream, self.customer.downstream
        upstream.delete_and_wait(self.ref, within=within)
        for ref in (self.gateway, self.route):
            upstream.wait(ref, lambda found: found is None, what=f"{ref} gone", within=within)
        for ref in (self.below(kinds.GATEWAY), self.below(kinds.HTTP_ROUTE)):
            downstream.wait(ref, lambda found: found is None, what=f"{ref} gone", within=within)

    def read(self) -> Manifest:
        """Return the object as it is now, empty when there is none."""
        return self.customer.upstream.get(self.ref) or {}

    def wait(self, accept: Accept, *, what: str, within: float) -> Manifest:
        """Return the object as soon as `accept` likes it.

        Raises:
            NeverReady: not within that many seconds.
        """
        found = self.customer.upstream.wait(self.ref, accept, what=f"{self!r}: {what}", within=within)
        return found or {}

    def wait_condition(self, condition: str, within: float) -> Manifest:
        """Return the object as soon as one of its conditions is True for its present generation."""
        return self.wait(lambda found: is_true(found, condition), what=condition, within=within)

    def canonical(self, within: float = 10.0) -> str:
        """Return the host name that the operator gave it.

        Raises:
            NeverReady: it gave none within that many seconds.
        """
        return str(self.wait(_canonical, what="canonical host name", within=within)["status"]["canonicalHostname"])

    def condition_of(self, hostname: str, condition: str) -> Manifest:
        """Return one condition of one of its host names; empty while there is none."""
        return hostname_condition(self.read(), hostname, condition)

    def probe(self, host: str, *, tls: bool = False, timeout: float = 5.0) -> HttpProbe:
        """Return a probe that asks the edge for one of its names; over TLS it trusts the lab's authority alone."""
        ca = self.root if tls else None
        return HttpProbe(self._address, host, tls=tls, ca=ca, timeout=timeout)

    def get(self, host: str, path: str = "/", *, tls: bool = False) -> Answer:
        """Return what one request for one of its names gave."""
        with self.probe(host, tls=tls) as probe:
            return probe.get(path)

    def serves(self, answer: Answer) -> bool:
        """Say whether an answer is this proxy's own, and over TLS with a trusted certificate for the name."""
        return answer.status == 200 and answer.marker == self.marker and answer.trusted is not False

    def wait_status(self, host: str, status: int, *, within: float) -> Answer:
        """Return the first answer with a status. Raises NeverReady."""
        with self.probe(host) as probe:
            what = f"{host} answers {status}"
            return wait_for_answer(probe, lambda answer: answer.status == status, what=what, within=within)

    def wait_served(self, host: str, *, tls: bool = False, within: float, in_a_row: int = 1) -> Answer:
        """Return the first answer that is this proxy's own.

        Raises:
            NeverReady: there was none within that many seconds; describes the last answer.
        """
        with self.probe(host, tls=tls) as probe:
            what = f"{host} served over {'HTTPS' if tls else 'HTTP'}"
            return wait_for_answer(probe, self.serves, what=what, within=within, in_a_row=in_a_row)


def _canonical(found: Manifest | None) -> object:
    return ((found or {}).get("status") or {}).get("canonicalHostname")


def hostname_condition(proxy: Manifest | None, hostname: str, condition: str) -> Manifest:
    """Return one condition of one host name in the status of an HTTPProxy; empty while there is none."""
    for status in ((proxy or {}).get("status") or {}).get("hostnameStatuses") or []:
        if status["hostname"] == hostname:
            return conditions({"status": status}).get(condition, {})
    return {}


def checked(hostnames: Sequence[str]) -> tuple[str, ...]:
    """Return host names that the lab can answer for. Raises ForeignHostname."""
    return tuple(check_hostname(name) for name in hostnames)
