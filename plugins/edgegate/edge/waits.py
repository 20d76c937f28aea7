"""What each stage of a custom host name waited for, asked when it is late: queues, back-offs, delays, a memory."""

from collections.abc import Callable, Mapping, Sequence

from edgegate.budgets import Explain
from edgegate.edge.dns import Dns
from edgegate.errors import MetricsUnreachable
from edgegate.probes.queues import Queues
from edgegate.stages import Course, Stage

_PROXY = ("httpproxy", "gateway", "gateway_downstream_resources")
_DOMAIN = ("dnszone-replicator", "dnszone", "domain")
_RECORD = ("gateway", "dnsrecordset-replicator", "dnsrecordset", "dnsrecordset-powerdns")
_SOLVER = ("gateway", "challenge", "downstream-certificate-solver")

CONTROLLERS: Mapping[Stage, Sequence[str]] = {
    Stage.ACCEPTED: _PROXY,
    Stage.PROGRAMMED: _PROXY,
    Stage.FIRST_200: _PROXY,
    Stage.ADDRESS_RESOLVES: ("gateway",),
    Stage.RECORD_PROGRAMMED: (*_DOMAIN, *_RECORD),
    Stage.RECORD_ANSWERS: _RECORD,
    Stage.CHALLENGE_PRESENTED: ("gateway",),
    Stage.CHALLENGE_SOLVED: _SOLVER,
    Stage.CERTIFICATE_READY: _SOLVER,
    Stage.FIRST_TRUSTED_200: ("gateway",),
}
"""Stage to the controllers of the operator that can have held it up, by the names that their metrics have."""
ISSUED = (Stage.CHALLENGE_SOLVED, Stage.CERTIFICATE_READY)
"""Stages that wait for an issuer, who has a resolver."""


class Waits:
    """Knows whom to ask; takes the first readings when it is made."""

    def __init__(self, metrics: Sequence[str], dns: Dns) -> None:
        """Read the queues now, so that what is told later is what came since.

        Args:
            metrics: where the operator's processes have theirs. One that does not answer is told on a breach.
            dns: whose recursor the issuer asks.
        """
        self._dns = dns
        self._queues: Queues | None = None
        self._trouble: MetricsUnreachable | None = None
        self.challenges: dict[str, str] = {}
        """Host name to what the issuer said of its challenge last."""
        try:
            self._queues = Queues(*metrics)
        except MetricsUnreachable as trouble:
            self._trouble = trouble

    @property
    def explain(self) -> Explain:
        """For each stage, what tells for what it waited."""
        return {stage: self._asks(stage, names) for stage, names in CONTROLLERS.items()}

    def _asks(self, stage: Stage, names: Sequence[str]) -> Callable[[Course], str]:
        def ask(course: Course) -> str:
            told = [self._memory(course.subject), self._challenge(course.subject)] if stage in ISSUED else []
            return "; ".join(text for text in (*told, self._queue(names)) if text)

        return ask

    def _queue(self, names: Sequence[str]) -> str:
        """Return what the queues show. Raises MetricsUnreachable."""
        if self._queues is None:
            raise self._trouble or MetricsUnreachable("", reason="never asked")
        return self._queues.waited(*names)

    def _memory(self, host: str) -> str:
        """Return what the recursor still holds against a name that the authoritative server has by now."""
        absence = self._dns.recursor.query(host)
        if not absence.absent or not self._dns.authoritative.query(host).found:
            return ""
        return f"the recursor's cache: it remembers for {absence.remembered or 0} s that {host} does not exist"

    def _challenge(self, host: str) -> str:
        said = self.challenges.get(host, "")
        return f"a challenge of which the issuer says '{said}'" if said else ""
