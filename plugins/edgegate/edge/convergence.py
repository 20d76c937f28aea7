"""The stage clocks of custom host names: which watches and probes see each stage."""

import ssl
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Self

from edgegate.budgets import Budgets, Explain, Growth
from edgegate.clock import MONOTONIC
from edgegate.clusters import kinds
from edgegate.clusters.changes import ObjectChanges
from edgegate.clusters.kinds import Kind
from edgegate.clusters.plane import ControlPlane, Manifest, is_true
from edgegate.edge.customer import Customer
from edgegate.edge.dns import Dns
from edgegate.edge.http_proxy import HttpProxy
from edgegate.edge.waits import Waits
from edgegate.errors import ProbesTooCostly
from edgegate.probes import tls
from edgegate.probes.convergence import Observers, StageClock
from edgegate.probes.look import Plan
from edgegate.probes.machine import Machine
from edgegate.probes.once import once
from edgegate.probes.target import Target
from edgegate.report.gate import Gate
from edgegate.stages import Stage

IN_A_ROW = 10
"""Trusted answers one after the other that end the last stage."""
PRESENTED = "Presented"
"""Reason of the event by which cert-manager says that the answer to a challenge is in place."""
MOST_COST = 0.15
"""Share of one processor that looking may take: more, and the clocks say as much about the probes as about the edge."""
TICK = 1.0
"""Seconds after which cert-manager schedules challenges again (`runScheduler` in its controller for challenges)."""
HOSTNAME = "dns.datumapis.com/hostname"
"""Annotation of a DNSRecordSet that an operator made: the host name."""


class _Presented:
    """Puts together who a challenge is for and that its answer is in place: two watches, of which either is first."""

    def __init__(self, by_host: Mapping[str, StageClock]) -> None:
        self._by_host = by_host
        self._hosts: dict[str, str] = {}
        self._moments: dict[str, float] = {}

    def name(self, challenge: str, host: str) -> None:
        """Learn which host name a challenge is about."""
        self._hosts[challenge] = host
        self._tell(challenge)

    def come(self, challenge: str, at: float) -> None:
        """Learn when a challenge's answer was put in place."""
        self._moments.setdefault(challenge, at)
        self._tell(challenge)

    def _tell(self, challenge: str) -> None:
        clock, at = self._by_host.get(self._hosts.get(challenge, "")), self._moments.get(challenge)
        if clock is not None and at is not None:
            clock.stamp(Stage.CHALLENGE_PRESENTED, f"watch of {kinds.EVENT.name}", at=at)


class Convergence:
    """Watches some host names of one customer from before their proxies exist until they are served.

    Use as a context manager, create the proxies inside, and tell each by `begin`.
    """

    def __init__(
        self, customer: Customer, hosts: Sequence[str], dns: Dns, address: str, metrics: Sequence[str]
    ) -> None:
        """Prepare; nobody looks yet.

        Args:
            customer: whose proxies they are.
            hosts: the host names.
            dns: the name servers.
            address: where the edge answers.
            metrics: where the operator's processes have their metrics.
        """
        machine = Machine()
        self._customer, self._dns, self._address, self._metrics = customer, dns, address, metrics
        self._by_host = {host: StageClock(host, machine=machine) for host in hosts}
        self._canonical: dict[str, str] = {}
        self._observers = Observers(self.clocks)
        self._waits: Waits | None = None
        self._presented = _Presented(self._by_host)

    @property
    def clocks(self) -> list[StageClock]:
        """One clock a host name, in the order in which they were named."""
        return list(self._by_host.values())

    @property
    def cost(self) -> float:
        """Share of one processor that probes and watches took; known when they have ended."""
        return self._observers.cost

    def __enter__(self) -> Self:
        """Begin to watch."""
        self._waits = Waits(self._metrics, self._dns)
        below = self._customer.below
        up, down = self._customer.upstream, self._customer.downstream
        self._watch(up, kinds.HTTP_PROXY, self._customer.namespace, self._see_proxy)
        self._watch(up, kinds.DNS_RECORD_SET, self._customer.namespace, self._see_record)
        self._watch(down, kinds.CHALLENGE, below, self._see_challenge)
        self._watch(down, kinds.EVENT, below, self._see_event)
        self._watch(down, kinds.CERTIFICATE, below, self._see_certificate)
        self._observers.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Stop to watch."""
        self._observers.__exit__(kind, error, at)

    def spread(self, subject: int, subjects: int) -> None:
        """Return at a moment of its own for each of several subjects, so that together they meet every part of `TICK`.

        Without it, subjects that follow each other meet the tick at nearly the same part of it: the median of nine was
        0.6 s in one run and 1.4 s in the next, on the same edge.
        """
        MONOTONIC.sleep((subject / subjects * TICK - MONOTONIC.now()) % TICK)

    def begin(self, proxy: HttpProxy) -> None:
        """Let the clocks of a proxy's host names count from its creation, and look for their traffic and names."""
        self._begin(proxy, proxy.created)

    def edit(self, proxy: HttpProxy, *hosts: str) -> None:
        """Let a proxy have other host names, and the clocks of the new ones count from now."""
        at = MONOTONIC.now()
        proxy.edit(hostnames=hosts)
        self._begin(proxy, at)

    def _begin(self, proxy: HttpProxy, at: float) -> None:
        """Let clocks count, but not those that count already, and no host name that nobody watches."""
        root = tls.trusting(proxy.root)
        for host in proxy.hostnames:
            clock = self._by_host.get(host)
            if clock and clock.stamp(Stage.CREATED, "customer", at=at):
                self._probe(clock, proxy, host, root)

    def wait(self, within: float, *hosts: str) -> bool:
        """Return whether host names, all unless some are given, have come to every stage within that many seconds."""
        return self._observers.wait(within, [self._by_host[host] for host in hosts])

    def judge(self, gate: Gate, budgets: Budgets) -> None:
        """Judge all stages by budgets, with what was waited for; and what it cost to look. To be called after the end.

        Raises:
            ProbesTooCostly: the probes may have slowed what they looked at.
        """
        gate.stages(*self.clocks, budgets=budgets, explain=self._explain)
        self._judge_cost(gate)

    def judge_growth(self, gate: Gate, few: Sequence[str], many: Sequence[str], allowed: Growth) -> None:
        """Judge how much later the stages come for many than for few, and what it cost to look; as `judge`.

        Args:
            gate: gets the findings.
            few: host names whose proxies had the edge for themselves.
            many: host names whose proxies came when there were many.
            allowed: the factor.

        Raises:
            ProbesTooCostly: as `judge`.
        """
        gate.stages(*self.clocks, explain=self._explain)
        gate.growth([self._by_host[host] for host in few], [self._by_host[host] for host in many], allowed)
        self._judge_cost(gate)

    @property
    def _explain(self) -> Explain | None:
        return self._waits.explain if self._waits else None

    def _judge_cost(self, gate: Gate) -> None:
        gate.note(f"probes and watches took {self.cost:.1%} of one processor")
        if self.cost > MOST_COST:
            raise ProbesTooCostly(self.cost, MOST_COST)

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

        # An authoritative server remembers for a moment what it answered: a CNAME whose target has no address yet,
        # asked for 0.1 s too early, was answered so for 1 s.
        there = (Stage.RECORD_PROGRAMMED, Stage.ADDRESS_RESOLVES)
        probe(clock, Stage.ADDRESS_RESOLVES, "authoritative server", resolves)
        probe(clock, Stage.RECORD_ANSWERS, "authoritative server", answers, after=there)
        probe(clock, Stage.FIRST_200, "HTTP", lambda: once(plain) is None)
        probe(clock, Stage.FIRST_TRUSTED_200, "HTTPS", lambda: once(trusted) is None, after=[Stage.FIRST_200])
        probe(
            clock,
            Stage.IN_A_ROW,
            f"{IN_A_ROW} × HTTPS",
            lambda: once(trusted) is None,
            after=[Stage.FIRST_TRUSTED_200],
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
        status, host = challenge.get("status") or {}, challenge["spec"]["dnsName"]
        if self._waits and status.get("reason"):
            self._waits.challenges[host] = status["reason"]
        self._presented.name(challenge["metadata"]["name"], host)
        if status.get("state") == "valid":
            self._stamp([host], Stage.CHALLENGE_SOLVED, kinds.CHALLENGE)

    def _see_event(self, event: Manifest) -> None:
        # The status of a challenge tells it too, but only once the self check is over.
        if event["reason"] == PRESENTED and event["involvedObject"]["kind"] == kinds.CHALLENGE.name:
            self._presented.come(event["involvedObject"]["name"], MONOTONIC.now())

    def _see_certificate(self, certificate: Manifest) -> None:
        if is_true(certificate, "Ready"):
            self._stamp(certificate["spec"].get("dnsNames") or [], Stage.CERTIFICATE_READY, kinds.CERTIFICATE)
