"""The stage clocks of custom host names: which watches and probes see each stage."""

import ssl
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Self

from edgegate.clusters import kinds
from edgegate.clusters.changes import ObjectChanges
from edgegate.clusters.kinds import Kind
from edgegate.clusters.plane import ControlPlane, Manifest, is_true
from edgegate.edge.customer import Customer
from edgegate.edge.dns import Dns
from edgegate.edge.http_proxy import HttpProxy
from edgegate.probes import tls
from edgegate.probes.convergence import Observers, StageClock
from edgegate.probes.look import Plan
from edgegate.probes.machine import Machine
from edgegate.probes.once import once
from edgegate.probes.target import Target
from edgegate.stages import Stage

IN_A_ROW = 10
"""Trusted answers one after the other that end the last stage."""
HOSTNAME = "dns.datumapis.com/hostname"
"""Annotation of a DNSRecordSet that an operator made: the host name."""


class Convergence:
    """Watches some host names of one customer from before their proxies exist until they are served.

    Use as a context manager, create the proxies inside, and tell each by `begin`.
    """

    def __init__(self, customer: Customer, hosts: Sequence[str], dns: Dns, address: str) -> None:
        machine = Machine()
        self.machine = machine
        self._customer, self._dns, self._address = customer, dns, address
        self._by_host = {host: StageClock(host, machine=machine) for host in hosts}
        self._canonical: dict[str, str] = {}
        self._observers = Observers(self.clocks)

    @property
    def clocks(self) -> list[StageClock]:
        """One clock a host name, in the order in which they were named."""
        return list(self._by_host.values())

    @property
    def cpu(self) -> float:
        """Seconds of processor time that the probes took."""
        return self._observers.cpu

    def __enter__(self) -> Self:
        """Begin to watch."""
        below = self._customer.below
        up, down = self._customer.upstream, self._customer.downstream
        self._watch(up, kinds.HTTP_PROXY, self._customer.namespace, self._see_proxy)
        self._watch(up, kinds.DNS_RECORD_SET, self._customer.namespace, self._see_record)
        self._watch(down, kinds.CHALLENGE, below, self._see_challenge)
        self._watch(down, kinds.CERTIFICATE, below, self._see_certificate)
        self._observers.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Stop to watch."""
        self._observers.__exit__(kind, error, at)

    def begin(self, proxy: HttpProxy) -> None:
        """Let the clocks of a proxy's host names count from its creation, and look for their traffic and names."""
        root = tls.trusting(proxy.root)
        for host in proxy.hostnames:
            clock = self._by_host[host]
            clock.stamp(Stage.CREATED, "customer", at=proxy.created)
            self._probe(clock, proxy, host, root)

    def wait(self, within: float) -> bool:
        """Return whether every host name has come to every stage within that many seconds."""
        return self._observers.wait(within)

    def _probe(self, clock: StageClock, proxy: HttpProxy, host: str, root: ssl.SSLContext) -> None:
        probe, ask = self._observers.probe, self._dns.authoritative.query
        target = Target(host, self._address, host, marker=proxy.marker)
        plain = Plan.of(target)
        trusted = replace(Plan.of(replace(target, tls=True)), context=root)

        def resolves() -> bool:
            name = self._canonical.get(proxy.name)
            return name is not None and self._address in ask(name).values

        def answers() -> bool:
            found = ask(host)
            return self._address in found.values

        probe(clock, Stage.ADDRESS_RESOLVES, "authoritative server", resolves)
        probe(clock, Stage.RECORD_ANSWERS, "authoritative server", answers)
        probe(clock, Stage.FIRST_200, "HTTP", lambda: once(plain) is None)
        probe(clock, Stage.FIRST_TRUSTED_200, "HTTPS", lambda: once(trusted) is None, after=Stage.FIRST_200)
        probe(
            clock,
            Stage.IN_A_ROW,
            f"{IN_A_ROW} × HTTPS",
            lambda: once(trusted) is None,
            after=Stage.FIRST_TRUSTED_200,
            in_a_row=IN_A_ROW,
        )

    def _watch(self, plane: ControlPlane, kind: Kind, namespace: str, see: Callable[[Manifest], object]) -> None:
        changes = ObjectChanges(plane, kind, namespace)
        self._observers.watch(f"watch of {kind.name}", changes, see)

    def _stamp(self, hosts: Iterable[str], stage: Stage, by: Kind) -> None:
        for host in hosts:
            if host in self._by_host:
                self._by_host[host].stamp(stage, f"watch of {by.name}")

    def _see_proxy(self, proxy: Manifest) -> None:
        hosts = proxy["spec"].get("hostnames") or []
        canonical = (proxy.get("status") or {}).get("canonicalHostname")
        if canonical:
            self._canonical[proxy["metadata"]["name"]] = canonical
        for condition, stage in (("Accepted", Stage.ACCEPTED), ("Programmed", Stage.PROGRAMMED)):
            if is_true(proxy, condition):
                self._stamp(hosts, stage, kinds.HTTP_PROXY)

    def _see_record(self, record: Manifest) -> None:
        host = (record["metadata"].get("annotations") or {}).get(HOSTNAME)
        if host and is_true(record, "Programmed"):
            self._stamp([host], Stage.RECORD_PROGRAMMED, kinds.DNS_RECORD_SET)

    def _see_challenge(self, challenge: Manifest) -> None:
        if (challenge.get("status") or {}).get("state") == "valid":
            self._stamp([challenge["spec"]["dnsName"]], Stage.CHALLENGE_SOLVED, kinds.CHALLENGE)

    def _see_certificate(self, certificate: Manifest) -> None:
        if is_true(certificate, "Ready"):
            self._stamp(certificate["spec"].get("dnsNames") or [], Stage.CERTIFICATE_READY, kinds.CERTIFICATE)
