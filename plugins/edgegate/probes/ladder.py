"""The ladder: exchanges of many shapes and sizes, each seen at the origin itself and through the edge.

What the client sees through the edge has to be what it sees at the origin: the status, the headers that matter, length
and digest of the body, its trailers; and the origin has to have received what the client sent. native/ladder does the
exchanges; here they are described, and the two sights of each compared.
"""

import json
import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from edgegate.command import run

MATTER = (
    "content-type",
    "content-encoding",
    "content-range",
    "accept-ranges",
    "cache-control",
    "etag",
    "location",
    "set-cookie",
    "vary",
)
"""Headers that must be the origin's."""
_DECLARED = re.compile(r" declared=-?\d+")
PROMPT = 2.0
"""Seconds in which the first of some slow events must be there; source: the operator's reliability list."""


@dataclass(frozen=True)
class Placed:
    """A text at an offset of a body."""

    offset: int
    """Where it begins."""
    text: str
    """What stands there."""


@dataclass(frozen=True)
class Body:
    """What a body consists of; the same words always give the same bytes."""

    size: int
    """Bytes before encoding; of a multipart form, those of its one file."""
    type: str = "text/plain"
    """Its content type."""
    encoding: str = "identity"
    """`identity`, `gzip` or `br`."""
    chunked: bool = False
    """Whether it comes without a length."""
    placed: tuple[Placed, ...] = ()
    """Texts that stand in it."""
    trailers: Mapping[str, str] = field(default_factory=dict)
    """Headers that come after it; needs `chunked`."""


@dataclass(frozen=True)
class Reply:
    """What the origin shall answer."""

    body: Body = Body(0)
    """Its body."""
    status: int = 200
    """Its status."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Further headers."""
    cached: bool = False
    """Whether If-None-Match and Range are honoured."""
    events: int = 0
    """How many events, of kind `events`."""
    interval: int = 0
    """Milliseconds between two of them."""


@dataclass(frozen=True)
class Rung:
    """One exchange."""

    name: str
    """What it is about, in a few words; unique on its ladder."""
    path: str = "/answer/"
    """Its path; what begins with `/answer/`, `/events/`, `/echo/` or a gRPC method the origin knows."""
    kind: str = "http"
    """`http`, `events`, `grpc` or `websocket`."""
    version: int = 1
    """The version of HTTP that the client speaks, 1 or 2."""
    method: str = "GET"
    """Its method."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Further headers of the request."""
    body: Body | None = None
    """The request's body."""
    answer: Reply = Reply()
    """What the origin shall answer."""
    messages: tuple[str, ...] = ()
    """What is sent, of kinds `grpc` and `websocket`; each must come back."""
    limit: int = 30_000
    """Milliseconds for all of it."""
    refusals: tuple[int, ...] = ()
    """Statuses by which the edge may refuse it, because a documented limit is passed."""

    def line(self) -> str:
        """Return it as the client reads it."""
        plain = asdict(self)
        del plain["refusals"]
        return json.dumps(plain) + "\n"


@dataclass(frozen=True)
class Sight:
    """What the client saw."""

    name: str
    """The rung."""
    error: str = ""
    """What went wrong; empty when the exchange came to its end."""
    status: int = 0
    """Status of the answer."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Its headers, in lower case."""
    declared: int = -1
    """Its Content-Length, -1 without."""
    length: int = 0
    """Bytes of its body as they came."""
    sha256: str = ""
    """Their digest."""
    trailers: Mapping[str, str] = field(default_factory=dict)
    """Headers after it."""
    received: str = ""
    """What the origin said that it had received; empty when the answer is not the origin's."""
    text: str = ""
    """The beginning of a body that is not the origin's."""
    messages: tuple[str, ...] = ()
    """Messages that came back."""
    headed: float = 0.0
    """Seconds to the headers."""
    first: float = 0.0
    """Seconds to the first byte of the body, or the first message."""
    ended: float = 0.0
    """Seconds to its end."""

    @classmethod
    def of(cls, line: str) -> "Sight":
        """Return what a line of the client says."""
        plain: dict[str, Any] = {key: value for key, value in json.loads(line).items() if value is not None}
        return cls(**{**plain, "messages": tuple(plain.get("messages", ()))})

    def describe(self) -> str:
        """Return it in a few words."""
        if self.error:
            return f"{self.status or 'no answer'}: {self.error}"
        whose = "" if self.received or self.messages else f", not the origin's: {self.text!r}"
        return f"{self.status}, {self.length} bytes{whose}"


@dataclass(frozen=True)
class Place:
    """Whom the client asks."""

    address: str
    """Host and port that are connected to."""
    host: str
    """Name in Host and SNI."""
    root: Path | None = None
    """PEM file of the root that is trusted; None means that TLS is not spoken."""


def climb(program: Path, place: Place, rungs: Sequence[Rung], *, at_once: int = 4, within: float = 120) -> list[Sight]:
    """Climb every rung at one place and return what was seen, in their order.

    Args:
        program: the binary of native/ladder.
        place: whom to ask.
        rungs: the exchanges.
        at_once: how many at a time.
        within: seconds for all of them.

    Raises:
        CommandFailed: the client could not be run, or did not come to its end in time.
    """
    told = {"address": place.address, "host": place.host, "tls": place.root is not None, "root": str(place.root or "")}
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write(json.dumps(told))
        file.flush()
        argv = [str(program), "climb", "-target", file.name, "-at-once", str(at_once)]
        done = run(argv, stdin="".join(rung.line() for rung in rungs), timeout=within)
    return [Sight.of(line) for line in done.stdout.splitlines()]


def differences(rung: Rung, there: Sight, here: Sight, *, reframed: bool = False) -> list[str]:
    """Return how an exchange through the edge differs from the same one at the origin; empty when it does not.

    Args:
        rung: the exchange.
        there: what the client saw at the origin.
        here: what it saw through the edge.
        reframed: whether somebody on the way may send in chunks what came with a length.
    """
    if here.status in rung.refusals and not here.received and not here.error:
        return []
    if here.error or (there.received and not here.received):
        return [f"{here.describe()} instead of {there.describe()}"]
    if reframed:
        there, here = (replace(one, declared=-1, received=_DECLARED.sub("", one.received)) for one in (there, here))
    pairs: list[tuple[str, object, object]] = [
        ("status", there.status, here.status),
        ("Content-Length", there.declared, here.declared),
        ("bytes", there.length, here.length),
        ("SHA-256", there.sha256[:12], here.sha256[:12]),
        ("trailers", dict(there.trailers), dict(here.trailers)),
        ("the origin received", there.received, here.received),
        ("messages", there.messages, here.messages),
        *((name, there.headers.get(name), here.headers.get(name)) for name in MATTER),
    ]
    found = [f"{what} {seen!r} instead of {right!r}" for what, right, seen in pairs if seen != right]
    if rung.kind == "events" and here.first > PROMPT:
        found.append(f"the first event came after {here.first:.2f} s instead of {PROMPT:g} s at the most")
    return found


def refused(rungs: Iterable[Rung], sights: Iterable[Sight]) -> dict[str, int]:
    """Return the rungs that were refused as documented, each with its status."""
    pairs = zip(rungs, sights, strict=True)
    return {rung.name: seen.status for rung, seen in pairs if seen.status in rung.refusals and not seen.received}
