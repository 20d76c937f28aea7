"""The values that travel between layers: what was seen, when, and what it means."""

from dataclasses import dataclass, field
from enum import StrEnum


class Verdict(StrEnum):
    """What a gate says about a version."""

    PASS = "pass"  # noqa: S105 - a verdict, no secret
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"


class Source(StrEnum):
    """Which kind of evidence a finding rests on. Traffic decides; the other two explain."""

    TRAFFIC = "traffic"
    STATUS = "status"
    DATA_PLANE = "data plane"


@dataclass(frozen=True)
class Finding:
    """One thing a gate found to be other than it must be."""

    source: Source
    """The kind of evidence."""
    subject: str
    """Who or what is affected: a tenant, a route, a policy, a listener."""
    expected: str
    """What is right."""
    seen: str
    """What was there instead."""


@dataclass(frozen=True)
class Versions:
    """The versions that were really running, each asked from the process itself."""

    running: dict[str, str] = field(default_factory=dict)
    """Component name to version."""

    def pair(self) -> str:
        """Return the pair that decides most questions, as `Envoy Gateway 1.8.3 × Envoy 1.38.3`."""
        return f"Envoy Gateway {self.running.get('envoy-gateway', '?')} × Envoy {self.running.get('envoy', '?')}"
