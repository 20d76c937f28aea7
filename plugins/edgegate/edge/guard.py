"""Neighbours must stay unharmed while somebody else's configuration is wrong: what is watched, and how it is judged."""

import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from edgegate.clock import Deadline, wait_until
from edgegate.components.pki import Authority
from edgegate.edge.asking import wait_for_answer
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
from edgegate.traffic import TargetReport, WatchReport

STEADY = 10
"""Rounds of right answers in a row, 20 ms apart, before the tenants count as served again."""
_IMPATIENT = 0.5
"""Seconds for one answer of a proxy that has just started: a packet to the old pod's address is never answered."""

_PATIENCE = 3.0
"""Seconds for one look at a neighbour. The kernel sends a lost SYN again after 1 s; a neighbour that answers then is
not harmed. With 1 s, on a saturated machine, 2 of some 60,000 looks at sound pairs were lost; why is not proven."""
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
    ) -> None:
        self._gate, self._neighbours, self._authority, self._limits = gate, neighbours, authority, limits
        self._log_of = log_of

    @contextmanager
    def unharmed(self, proxy: Proxy) -> Iterator[None]:
        """Watch the neighbours while the block runs, then edit them, and add what was wrong to the gate.

        Right is: every look at every neighbour, over HTTP and HTTPS, was answered by its own origin with its own
        certificate; an edit of each reached the wire; the proxy refused no update.
        """
        with proxy.admin() as admin, Watch(self._targets(), timeout=_PATIENCE) as watch:
            refusals = Refusals(admin, self._log_of(proxy))
            yield
            self.canaries()
            watched = watch.stop()
            self._judge_traffic(watched)
            refusals.judge(self._gate)

    def relit(self, proxy: Proxy) -> None:
        """Judge the neighbours of a proxy that has just started cold."""
        for subject, answer in self._still_dark().items():
            expected = f"200, its own origin and certificate, within {self._limits.shown('relit')}"
            self._gate.check(Source.TRAFFIC, subject, expected, answer.describe(), right=False)
        self.canaries()
        with proxy.admin() as admin:
            Refusals(admin, self._log_of(proxy), since_start=True).judge(self._gate)

    def canaries(self) -> None:
        """Edit every neighbour's route, give the first one a new listener, and judge whether both reach the wire."""
        value = secrets.token_hex(4)
        first = self._neighbours[0]
        for neighbour in self._neighbours:
            neighbour.edit_route(value)
        added = first.add_host(self._authority, f"canary-{value}")
        deadline = Deadline.after(self._limits.canary)
        for neighbour in self._neighbours:
            edited = f"the answer after its route was edited ({CANARY}: {value})"
            self._judge_canary(neighbour, edited, deadline, value=value)
        self._judge_canary(first, f"an answer from its new listener {added}", deadline, host=added)
        first.drop_hosts()

    def _judge_canary(
        self, tenant: Tenant, what: str, deadline: Deadline, *, value: str = "", host: str | None = None
    ) -> None:
        def right(answer: Answer) -> bool:
            return answer.marker == tenant.marker and (not value or answer.header(CANARY) == value)

        with (
            self._gate.must(Source.TRAFFIC, f"canary edit of {tenant.name}", what),
            tenant.probe(tls=True, host=host) as probe,
        ):
            wait_for_answer(probe, right, what=what, within=deadline)

    def _still_dark(self) -> dict[str, Answer]:
        """Wait until every neighbour is served, over HTTP and HTTPS, and stays so; return the last wrong answers.

        One that flickers until the end is dark too, even when its very last answer was right.
        """
        last: dict[str, Answer] = {}

        def all_served() -> bool:
            wrong = {}
            for tenant in self._neighbours:
                for tls in (False, True):
                    with tenant.probe(tls=tls, timeout=_IMPATIENT) as probe:
                        answer = probe.get("/")
                    if not served(tenant, answer):
                        wrong[f"{tenant.name} {'https' if tls else 'http'}"] = answer
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
        for tenant in self._neighbours:
            address, host, marker = tenant.site.address, tenant.host, tenant.marker
            http = Target(f"{tenant.name} http", address, host, marker=marker)
            https = Target(
                f"{tenant.name} https", address, host, marker=marker, tls=True, fingerprint=tenant.fingerprint
            )
            targets += [*both(http), *both(https)]
        return targets

    def _judge_traffic(self, watched: WatchReport) -> None:
        if watched.blind > _BLIND * (watched.ended - watched.began):
            raise WatchBroken(f"it could not look often enough: {watched.describe()}")
        for target in watched.targets:
            seen = "; ".join(outage.describe(watched.began) for outage in target.outages)
            right = f"right in all {target.looks} looks"
            self._gate.check(Source.TRAFFIC, target.name, right, seen, right=target.looks > 0 and not _harmed(target))
        self._gate.note(watched.describe())


def _harmed(target: TargetReport) -> bool:
    """Tell whether a neighbour noticed something: any wrong answer, or more than one connection that got none.

    On sound pairs a new TLS connection got no answer within 3 s once in roughly 15,000 looks while policies came and
    went, never two in a row, never over HTTP. The cause is not known; Envoy's change of listeners is suspected. Such a
    lone loss is told in the notes. Whoever is really dark is so in every look.
    """
    lone = [outage for outage in target.outages if outage.looks == 1 and outage.faults[0][0] == "timeout"]
    return len(lone) > 1 or len(lone) < len(target.outages)


def served(tenant: Tenant, answer: Answer) -> bool:
    """Tell whether an answer is the tenant's own: its origin's 200, and over TLS its certificate."""
    own = answer.certificate is None or answer.certificate.sha256 == tenant.fingerprint
    return answer.status == 200 and answer.marker == tenant.marker and own
