"""When a probe looks and what its looks mean. Pure; the looking is in `actions`."""

from dataclasses import dataclass
from enum import StrEnum

from edgegate.lab.node.kube import Json

EAGER = 0.05
"""Seconds between two looks before the first success, if `eager_first_probe` is on."""
HURRY = 60.0
"""Seconds after its start that a container is looked at so often; who is not ready by then is not about to be."""


class Kind(StrEnum):
    """The three questions that a kubelet asks a container."""

    STARTUP = "startup"
    READINESS = "readiness"
    LIVENESS = "liveness"

    @property
    def key(self) -> str:
        """Return the field of a container that holds this probe."""
        return f"{self}Probe"


@dataclass(frozen=True)
class Probe:
    """One probe of a container."""

    kind: Kind
    """What it asks."""
    action: Json
    """How it asks."""
    delay: float
    """Seconds after the start of the container before the first look."""
    period: float
    """Seconds between two looks."""
    timeout: float
    """Seconds that a look may take."""
    successes: int
    """Good looks in a row that it takes to pass."""
    failures: int
    """Bad looks in a row that it takes to fail."""
    grace: int | None
    """Seconds between SIGTERM and SIGKILL when its failure ends the container; None is the pod's own."""

    @classmethod
    def of(cls, container: Json, kind: Kind) -> "Probe | None":
        """Return that probe of a container, or None when it has none."""
        spec = container.get(kind.key)
        if not spec:
            return None
        return cls(
            kind=kind,
            action=spec,
            delay=float(spec.get("initialDelaySeconds") or 0),
            period=float(spec.get("periodSeconds") or 10),
            timeout=float(spec.get("timeoutSeconds") or 1),
            successes=int(spec.get("successThreshold") or 1),
            failures=int(spec.get("failureThreshold") or 3),
            grace=spec.get("terminationGracePeriodSeconds"),
        )


@dataclass(frozen=True)
class Looks:
    """What the looks so far amount to."""

    verdict: bool | None = None
    """Passed, failed, or None while neither number in a row has been reached."""
    passed: bool = False
    """Whether it has ever passed."""
    last: bool | None = None
    """How the last counted look went."""
    row: int = 0
    """How many looks in a row went so."""

    def after(self, probe: Probe, ok: bool) -> "Looks":
        """Return what one more look makes of it."""
        row = self.row + 1 if ok == self.last else 1
        enough = row >= (probe.successes if ok else probe.failures)
        verdict = ok if enough else self.verdict
        return Looks(verdict=verdict, passed=self.passed or verdict is True, last=ok, row=row)


def hurries(probe: Probe, looks: Looks, since_start: float, *, eager: bool) -> bool:
    """Tell whether a probe looks every 50 ms: in the eager mode, until it has passed once, and never for liveness."""
    return eager and not looks.passed and probe.kind is not Kind.LIVENESS and since_start < HURRY


def first_look(probe: Probe, since_start: float, *, eager: bool) -> float:
    """Return the seconds until the first look at a container that started so long ago."""
    return 0.0 if hurries(probe, Looks(), since_start, eager=eager) else max(0.0, probe.delay - since_start)


def next_look(probe: Probe, looks: Looks, since_start: float, *, eager: bool) -> float:
    """Return the seconds from one look to the next; a kubelet looks once a period."""
    return min(EAGER, probe.period) if hurries(probe, looks, since_start, eager=eager) else probe.period


def counts(probe: Probe, looks: Looks, ok: bool, *, since_start: float, since_counted: float, eager: bool) -> bool:
    """Tell whether a look is counted: all are, but hurried failures only when a kubelet would have looked too.

    Otherwise a startup probe with 30 failures allowed at 10 s each would give up after 1.5 s instead of 5 min.
    `since_counted` is the seconds since the last counted look; infinite before the first.
    """
    if ok or not hurries(probe, looks, since_start, eager=eager):
        return True
    return since_start >= probe.delay and since_counted >= probe.period
