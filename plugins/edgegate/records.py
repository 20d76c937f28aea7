"""The values that travel between layers: what was seen, when, and what it means."""

import json
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol

MARKER = "x-edgegate-origin"
"""The header in which every origin server says which one it is."""


class Verdict(StrEnum):
    """What a gate says about a version."""

    PASS = "pass"  # noqa: S105 - a verdict, no secret
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"
    WAIVED = "waived"
    """It failed, as is known and borne until a day."""


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
    during: str = ""
    """Phase of the scenario, as `after cold restart`; empty where it has none."""


@dataclass(frozen=True)
class Versions:
    """The versions that were really running, each asked from the process itself."""

    running: dict[str, str] = field(default_factory=dict)
    """Component name to version."""

    def pair(self) -> str:
        """Return the pair that decides most questions, as `Envoy Gateway 1.8.3 × Envoy 1.38.3`."""
        return f"Envoy Gateway {self.running.get('envoy-gateway', '?')} × Envoy {self.running.get('envoy', '?')}"


@dataclass(frozen=True)
class Usage:
    """What one part of an edge uses."""

    name: str
    """The part: a process of the lab, or namespace, pod and container."""
    memory_mib: float
    """Resident memory of a process; the working set of a container, which is what its limit is compared with."""
    cpu_seconds: float
    """Processor time since its start."""


@dataclass(frozen=True)
class Certificate:
    """A certificate as a server presented it, trusted or not."""

    sha256: str
    """Fingerprint of the whole certificate, lower-case hexadecimal."""
    subject: str
    """Distinguished name of its owner, as `CN=a.example`; may be empty."""
    issuer: str
    """Distinguished name of who signed it."""
    names: tuple[str, ...]
    """Host names and addresses that it is for (subject alternative names)."""
    not_before: datetime
    """First moment of validity, UTC."""
    not_after: datetime
    """Last moment of validity, UTC."""

    def covers(self, host: str) -> bool:
        """Say whether it is for that host; a wildcard stands for one label, as in browsers."""
        wanted = host.lower().rstrip(".")
        parent = "*." + wanted.partition(".")[2]
        return any(name.lower() in (wanted, parent) for name in self.names)

    def describe(self) -> str:
        """Return what a person tells it by: its names, its issuer and the start of its fingerprint."""
        return f"certificate for {', '.join(self.names) or self.subject} from {self.issuer} ({self.sha256[:12]})"


@dataclass(frozen=True)
class Answer:
    """What came of one request: an answer, right or wrong, or the reason why there was none."""

    method: str
    """The request's method."""
    url: str
    """What was asked for, with the host name that the request carried."""
    address: str
    """Where it was sent, as `10.88.1.8:443`."""
    at: float
    """Monotonic second at which it was sent."""
    took: float
    """Seconds until the answer was complete, or until there was none."""
    status: int | None = None
    """Status code; None when nothing was answered."""
    headers: tuple[tuple[str, str], ...] = ()
    """Header names, lower case, and values in the order in which they came."""
    body: bytes = b""
    """The content, decompressed."""
    certificate: Certificate | None = None
    """What the server presented; None without TLS or when the handshake did not come that far."""
    trusted: bool | None = None
    """Whether the certificate is right for the name and the authority given; None when that was not asked."""
    distrust: str = ""
    """Why it is not trusted, in the words of the TLS library."""
    error: str | None = None
    """Why there is no complete answer: `refused`, `reset`, `timeout`, `closed`, `tls: …`; None when there is."""
    hops: tuple[str, ...] = ()
    """Locations that were followed to come here, oldest first."""

    def header(self, name: str) -> str | None:
        """Return the first value of a header, None when it was not sent."""
        return next((value for key, value in self.headers if key == name.lower()), None)

    def header_values(self, name: str) -> list[str]:
        """Return every value of a header that may come several times, such as `set-cookie`."""
        return [value for key, value in self.headers if key == name.lower()]

    @property
    def ok(self) -> bool:
        """Whether there is a complete answer with a status from 200 to 299."""
        return self.error is None and self.status is not None and 200 <= self.status < 300

    @property
    def marker(self) -> str | None:
        """The name of the origin server that answered, None when it was somebody else."""
        return self.header(MARKER)

    @property
    def location(self) -> str | None:
        """Where a redirect points to."""
        return self.header("location")

    @property
    def text(self) -> str:
        """The content as text; bytes that are none are shown as replacement characters."""
        return self.body.decode("utf-8", errors="replace")

    def json(self) -> Any:
        """Return the content as JSON. Raises ValueError when it is none."""
        return json.loads(self.body)

    def describe(self) -> str:
        """Return one line for a person: what was asked, where, and what came back."""
        asked = f"{self.method} {self.url} at {self.address}"
        if self.error is not None:
            after = f" after status {self.status}" if self.status else ""
            return f"{asked}: no answer, {self.error}{after} ({self.took * 1000:.0f} ms)"
        to = f" to {self.location}" if self.location else ""
        by = f" from {self.marker}" if self.marker else ""
        distrust = f", not trusted: {self.distrust}" if self.trusted is False else ""
        return f"{asked}: {self.status}{to}{by}{distrust} ({self.took * 1000:.0f} ms)"


class DiagnosticSource(Protocol):
    """Something that can tell how things were when a test failed; it registers itself with `edge_diagnostics.add`."""

    @property
    def name(self) -> str:
        """File name in the bundle, with its ending, as `envoy-config-dump.json`."""
        ...

    def collect(self) -> bytes | str:
        """Return what is to be kept. May raise whatever it likes; it is redacted and cut by the one who asks."""
        ...
