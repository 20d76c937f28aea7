"""Neighbours must stay unharmed while somebody else's configuration is wrong: what is watched, and how it is judged."""

import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import product

from edgegate.clock import Deadline, wait_until
from edgegate.components.pki import Authority
from edgegate.edge.asking import wait_for_answer
from edgegate.edge.doors import Door
from edgegate.edge.proxies import Proxy
from edgegate.edge.proxy_log import ProxyLog
from edgegate.edge.refusals import Refusals
from edgegate.edge.tenant import CANARY, Tenant
from edgegate.errors import NeverReady, WatchBroken
from edgegate.limits import Limits
from edgegate.probes.target import Target, both
from edgegate.probes.watch import Watch
from edgegate.records import Answer, Source
from edgegate.report.gate import Gate
from edgegate.traffic import WatchReport

STEADY = 10
"""Rounds of right answers in a row, 20 ms apart, before the tenants count as served again."""
_IMPATIENT = 0.5
"""Seconds for one answer of a proxy that has just started: a packet to the old pod's address is never answered."""

_PATIENCE = 3.0
"""Seconds for one look at a neighbour. The kernel sends a lost SYN again after 1 s; a neighbour that answers then is
not harmed."""
_BLIND = 0.25
"""Share of the time in which nobody looked, from which on a watch proves nothing."""


class Guard:
    """Judges neighbours for one gate: continuous traffic, canary edits, refused updates."""

    def __init__(
        self,
        gate: Gate,
        neighbours: Sequence[Tenant],
        authority: Authority,
        limits: Limits,
        log_of: Callable[[Proxy], ProxyLog],
        doors: Callable[[], Sequence[Door]] | None = None,
    ) -> None:
        """Take whom to judge, and by what.

        Args:
            gate: gets the findings.
            neighbours: whom to watch; the first one gets a listener more and loses it again.
            authority: signs the certificate of that listener.
            limits: how long edits and a new proxy may take.
            log_of: where a proxy's Envoy writes.
            doors: the ways in that must answer alike, asked before each watch; the usual address unless given.
        """
        self._gate, self._neighbours, self._authority, self._limits = gate, neighbours, authority, limits
        self._log_of = log_of
        self._doors = doors or (lambda: [Door(neighbours[0].site.address)])

    @contextmanager
    def unharmed(self, *proxies: Proxy) -> Iterator[None]:
        """Watch the neighbours while the block runs, then edit them, and add what was wrong to the gate.

        Right is: every look at every neighbour, over HTTP and HTTPS, was answered by its own origin with its own
        certificate; an edit of each reached the wire; no proxy refused an update. Of several doors each is watched.
        """
        with ExitStack() as opened, Watch(self._targets(), timeout=_PATIENCE) as watch:
            refusals = [
                Refusals(opened.enter_context(proxy.admin()), self._log_of(proxy), name=_name(proxy, proxies))
                for proxy in proxies
            ]
            yield
            self.canaries()
            watched = watch.stop()
            self._judge_traffic(watched)
            for one in refusals:
                one.judge(self._gate)

    def relit(self, *proxies: Proxy) -> None:
        """Judge the neighbours of proxies that have just started cold."""
        for subject, answer in self._still_dark().items():
            expected = f"200, its own origin and certificate, within {self._limits.shown('relit')}"
            self._gate.check(Source.TRAFFIC, subject, expected, answer.describe(), right=False)
        self.canaries()
        for proxy in proxies:
            with proxy.admin() as admin:
                log, name = self._log_of(proxy), _name(proxy, proxies)
                Refusals(admin, log, since_start=True, name=name).judge(self._gate)

    def canaries(self) -> None:
        """Edit every neighbour's route, give the first one a new listener, and judge whether both reach the wire."""
        value = secrets.token_hex(4)
        first = self._neighbours[0]
        for neighbour in self._neighbours:
            neighbour.edit_route(value)
        added = first.add_host(self._authority, f"canary-{value}")
        deadline = Deadline.after(self._limits.canary)
        for door in self._doors():
            for neighbour in self._neighbours:
                edited = f"the answer after its route was edited ({CANARY}: {value})"
                self._judge_canary(neighbour, door, edited, deadline, value=value)
            self._judge_canary(first, door, f"an answer from its new listener {added}", deadline, host=added)
        first.drop_hosts()

    def _judge_canary(
        self, tenant: Tenant, door: Door, what: str, deadline: Deadline, *, value: str = "", host: str | None = None
    ) -> None:
        def right(answer: Answer) -> bool:
            return answer.marker == tenant.marker and (not value or answer.header(CANARY) == value)

        with (
            self._gate.must(Source.TRAFFIC, door.of(f"canary edit of {tenant.name}"), what),
            tenant.probe(tls=True, host=host, address=door.address) as probe,
        ):
            wait_for_answer(probe, right, what=what, within=deadline)

    def _still_dark(self) -> dict[str, Answer]:
        """Wait until every neighbour is served, over HTTP and HTTPS, and stays so; return the last wrong answers.

        One that flickers until the end is dark too, even when its very last answer was right.
        """
        last: dict[str, Answer] = {}
        doors = self._doors()

        def all_served() -> bool:
            wrong = {}
            for door, tenant, tls in product(doors, self._neighbours, (False, True)):
                with tenant.probe(tls=tls, timeout=_IMPATIENT, address=door.address) as probe:
                    answer = probe.get("/")
                if not served(tenant, answer):
                    wrong[door.of(f"{tenant.name} {'https' if tls else 'http'}")] = answer
            if wrong:
                last.clear()
                last.update(wrong)
            return not wrong

        try:
            wait_until("neighbours served", all_served, deadline=self._limits.relit, in_a_row=STEADY)
        except NeverReady:
            return last
        return {}

    def _targets(self) -> list[Target]:
        targets = []
        for door, tenant in product(self._doors(), self._neighbours):
            address, host, marker = door.address, tenant.host, tenant.marker
            http = Target(door.of(f"{tenant.name} http"), address, host, marker=marker)
            name, own = door.of(f"{tenant.name} https"), tenant.fingerprint
            https = Target(name, address, host, marker=marker, tls=True, fingerprint=own)
            targets += [*both(http), *both(https)]
        return targets

    def _judge_traffic(self, watched: WatchReport) -> None:
        if watched.blind > _BLIND * (watched.ended - watched.began):
            raise WatchBroken(f"it could not look often enough: {watched.describe()}")
        for target in watched.targets:
            seen = "; ".join(outage.describe(watched.began) for outage in target.outages)
            right = f"right in all {target.looks} looks"
            self._gate.check(Source.TRAFFIC, target.name, right, seen, right=target.looks > 0 and not target.outages)
        self._gate.note(watched.describe())


def _name(proxy: Proxy, among: Sequence[Proxy]) -> str:
    """Return by what a finding names a proxy; one alone needs no name."""
    return proxy.name if len(among) > 1 else ""


def served(tenant: Tenant, answer: Answer) -> bool:
    """Tell whether an answer is the tenant's own: its origin's 200, and over TLS its certificate."""
    own = answer.certificate is None or answer.certificate.sha256 == tenant.fingerprint
    return answer.status == 200 and answer.marker == tenant.marker and own
