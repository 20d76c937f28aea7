"""What a watcher looks at, and what is right there."""

from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache

from edgegate.probes import tls
from edgegate.probes.reader import Reader

AGENT = "edgegate-probe"
"""User-Agent of every probe, so that it can be told from other traffic in access logs."""

INTERVAL = 0.018
"""Seconds between two looks at one target. 18 ms, so that 20 ms hold although a timer is up to a millisecond late."""

INTERVAL_OF_ANSWERS = 0.072
"""Seconds between two complete HTTPS requests to a target whose handshake is looked at every `INTERVAL`."""


class Depth(Enum):
    """How far a look goes."""

    ANSWER = "answer"
    """To the end of the answer."""
    CERTIFICATE = "certificate"
    """To the certificate in the server's part of a TLS 1.2 handshake; nothing is asked for.

    What is dark or has a foreign certificate is seen, for a seventh of the price: 0.12 ms of processor time against
    0.8 ms, most of which is arithmetic that proves nothing about an edge. The server must allow TLS 1.2.
    """


@dataclass(frozen=True)
class Target:
    """What is looked at, and what is right."""

    name: str
    """What reports call it, as `neighbour a, https`."""
    address: str
    """IPv4 or IPv6 address to connect to."""
    host: str
    """Host header, and server name of the handshake."""
    port: int = 0
    """Port; 0 means 443 with TLS and 80 without."""
    tls: bool = False
    """Speak TLS, with a handshake of its own in every look."""
    depth: Depth = Depth.ANSWER
    """How far each look goes; `CERTIFICATE` is for targets with TLS."""
    every: float = INTERVAL
    """Seconds between two looks."""
    path: str = "/"
    """Path and query."""
    method: str = "GET"
    """GET, HEAD or another method without content."""
    status: int = 200
    """The status that is right."""
    marker: str | None = None
    """The origin server that must have answered; None means that anybody may."""
    fingerprint: str | None = None
    """SHA-256 of the certificate that must be served; None means any that is for the host."""

    @property
    def to_port(self) -> int:
        """The port that is connected to."""
        return self.port or (443 if self.tls else 80)

    def request(self) -> bytes:
        """Return the bytes of the request."""
        usual = 443 if self.tls else 80
        host = self.host if self.to_port == usual else f"{self.host}:{self.to_port}"
        return (
            f"{self.method} {self.path} HTTP/1.1\r\nhost: {host}\r\nuser-agent: {AGENT}\r\n"
            f"accept: */*\r\nconnection: close\r\n\r\n"
        ).encode("ascii")

    def certificate_fault(self, der: bytes) -> str | None:
        """Return what is wrong with a served certificate, None when nothing is."""
        return _certificate_fault(der, self.host, self.fingerprint)

    def answer_fault(self, answer: Reader) -> str | None:
        """Return what is wrong with a complete answer, None when nothing is."""
        if answer.status != self.status:
            return f"status {answer.status}"
        if self.marker is not None and answer.marker != self.marker:
            return f"answered by {answer.marker or 'no origin server'}"
        return None


def both(target: Target) -> tuple[Target, ...]:
    """Return what to watch so that a target is seen entirely at a price that two cores can pay.

    Without TLS that is the target itself. With TLS the handshake is looked at every 18 ms and a complete request is
    made every 72 ms; they are two lines of the report, because one can be dark while the other answers.
    """
    if not target.tls:
        return (target,)
    handshake = replace(target, name=f"{target.name} (handshake)", depth=Depth.CERTIFICATE)
    return (handshake, replace(target, every=INTERVAL_OF_ANSWERS))


@lru_cache(maxsize=512)
def _certificate_fault(der: bytes, host: str, fingerprint: str | None) -> str | None:
    served = tls.read_certificate(der)
    right = served.covers(host) if fingerprint is None else served.sha256 == fingerprint
    return None if right else f"wrong {served.describe()}"
