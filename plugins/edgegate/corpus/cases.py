"""The values of a corpus: cases, what each sends, and what is expected of the firewall."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Request:
    """One request, as it is written on the wire."""

    method: str = "GET"
    """May be anything: some cases are about methods that do not exist."""
    uri: str = "/"
    """What stands in the request line."""
    version: str = "HTTP/1.1"
    """Likewise; empty for none."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """In their order."""
    data: str = ""
    """The body."""
    encoded: bytes | None = None
    """The whole request, where it cannot be written as text."""
    complete: bool = True
    """Whether Connection, Content-Type and Content-Length are added where they are missing."""


@dataclass(frozen=True)
class Expected:
    """What has to be seen; None and empty mean that nothing is said about it."""

    ids: tuple[int, ...] = ()
    """Rules that must match."""
    no_ids: tuple[int, ...] = ()
    """Rules that must not."""
    matches: str | None = None
    """A regular expression that the log must match."""
    no_match: str | None = None
    """One that it must not."""
    status: int | None = None
    """The status of the answer."""
    error: bool = False
    """Whether no answer at all is right."""

    @property
    def asks_the_firewall(self) -> bool:
        """Whether the firewall must have seen the request for this to be judged."""
        return bool(self.ids or self.matches) or (self.status is None and not self.error)


@dataclass(frozen=True)
class Stage:
    """One request of a case and what is expected of it."""

    request: Request
    """What is sent."""
    expected: Expected
    """What has to come."""


@dataclass(frozen=True)
class Case:
    """One test of a corpus."""

    name: str
    """`<rule>-<number>`, as ignores and reports call it."""
    family: str
    """The rule family that it belongs to, such as `942 SQLI`."""
    description: str
    """What it shows, in the words of its author."""
    stages: tuple[Stage, ...]
    """One after another."""


@dataclass(frozen=True)
class Corpus:
    """The cases of one folder."""

    folder: Path
    """Where they come from."""
    cases: tuple[Case, ...]
    """In the order of their files."""
    empty: tuple[str, ...] = ()
    """Files without a test; said in every result, so that nothing is lost in silence."""
