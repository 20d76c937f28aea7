"""How long things may take: one frozen dataclass, and every override is one of its fields."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace

from edgegate.clock import show_duration


def _limit(seconds: float, meaning: str, set_by: str) -> float:
    """Return a field of Limits; the metadata is what error texts and `docs/settings.md` show."""
    made: float = field(default=seconds, metadata={"meaning": meaning, "set_by": set_by})
    return made


@dataclass(frozen=True)
class Limits:
    """Limits in seconds. `--edge-limit NAME=DURATION` sets any of them by its name."""

    edge_ready: float = _limit(
        120, "From the first process to an edge that answers", "must-reach 20 s for a new fingerprint, six-fold"
    )
    accepted: float = _limit(10, "From a created object to its Accepted condition", "measured 0.5 s on an idle host")
    programmed: float = _limit(
        30, "From a created Gateway to its Programmed condition", "measured 0.8 s, 14 s in a burst"
    )
    converge: float = _limit(
        30, "From a changed object to the right answer on the wire", "measured 2 s, 14 s in a burst"
    )
    recover: float = _limit(30, "From a removed fault to the right answer on the wire", "as converge")
    cold_restart: float = _limit(30, "From a proxy with nothing cached to its first answer", "measured 0.8 s")
    relit: float = _limit(
        5, "From a cold proxy's first configuration to right answers for every tenant", "measured 0.2 s, twenty-fold"
    )
    canary: float = _limit(
        5, "From an edit of a healthy tenant to its effect on the wire", "measured 0.3 s, fifteen-fold"
    )
    settle: float = _limit(3, "How long a right answer must stay right before it counts", "three xDS pushes in a row")
    converged: float = _limit(
        90,
        "From a created HTTPProxy to trusted answers in a row for its custom host name",
        "the objective, 60 s, and more",
    )
    settled: float = _limit(
        120, "From the creation of a hundred proxies to the last certificate of them", "measured 40 s, three-fold"
    )
    released: float = _limit(
        10, "From the arrival of what an object waited for to its effect on the wire", "within seconds, measured 1 s"
    )
    zone_ready: float = _limit(
        30, "From a created DNSZone to a served zone whose Domain is verified", "5 s between two look-ups of a Domain"
    )
    gone: float = _limit(30, "From a deleted object to its absence", "finalizers of the operator under test")
    diagnostics: float = _limit(10, "One source of a diagnostics bundle", "so that a hung part cannot hang the run")

    @classmethod
    def names(cls) -> list[str]:
        """Return the names that `--edge-limit` accepts, in the order of this table."""
        return [one.name for one in fields(cls)]

    @classmethod
    def meaning(cls, name: str) -> str:
        """Return what a limit bounds, as a sentence without a full stop."""
        return str(cls.__dataclass_fields__[name].metadata["meaning"])

    @classmethod
    def set_by(cls, name: str) -> str:
        """Return where the built-in value comes from."""
        return str(cls.__dataclass_fields__[name].metadata["set_by"])

    def with_overrides(self, overrides: Mapping[str, float]) -> "Limits":
        """Return a copy with other seconds for the given names."""
        return replace(self, **overrides)

    def shown(self, name: str) -> str:
        """Return a limit as a person reads it: `30.00 s`."""
        return show_duration(getattr(self, name))
