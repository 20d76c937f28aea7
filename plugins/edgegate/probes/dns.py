"""Questions to one named DNS server, and what it really said. The system's resolver has no say.

Ask the authoritative server and the recursor separately, because they know different things at different times. What
an authoritative server says is true now. A recursor remembers: a record for its TTL, and that there is *no* record for
as long as the zone's SOA says (`DnsAnswer.remembered`; an hour with the operators' default). So whoever asks a recursor
for a name a moment too early makes the name absent for everybody behind it, long after it exists. `wait_for_record`
therefore demands proof of existence before it asks a recursor, or the word that the memory itself is what is looked at.

An authoritative server can remember too: PowerDNS keeps whole answers for 20 s, and a question at the moment of a
change can leave the old one there (docs/dns-and-acme.md has how often). A probe that asks every 20 ms makes that
happen, and reports it as a record that did not come. So it asks `afresh`: no two of its questions are alike.
"""

import secrets
import socket
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import dns.edns
import dns.exception
import dns.flags
import dns.inet
import dns.message
import dns.query
import dns.rcode
import dns.rdatatype
import dns.rdtypes.ANY.SOA
import dns.rrset

from edgegate.clock import MONOTONIC, Clock, Deadline, wait_until
from edgegate.errors import AskedTooEarly
from edgegate.probes.trouble import name_of

_UNLIKE = dns.edns.OptionType.make(65001)
"""An EDNS option for local use (RFC 6891, section 9): a server that does not know it has to pass it over."""


@dataclass(frozen=True)
class Soa:
    """The SOA record by which a server says that it knows the zone and that there is nothing."""

    zone: str
    """Name of the zone, without the final dot."""
    serial: int
    """Its serial number."""
    ttl: int
    """Seconds that the record itself may be kept."""
    minimum: int
    """Seconds that an absence may be kept."""


@dataclass(frozen=True)
class DnsAnswer:
    """What came of one question: an answer, right or wrong, or the reason why there was none."""

    name: str
    """The name that was asked for, without the final dot."""
    type: str
    """The type that was asked for."""
    server: str
    """Who was asked, as `authoritative 10.88.1.3:53`."""
    at: float
    """Monotonic second at which the question was sent."""
    took: float
    """Seconds until the answer was there, or until there was none."""
    rcode: str | None = None
    """`NOERROR`, `NXDOMAIN`, `SERVFAIL`, `REFUSED` …; None when nothing was answered."""
    values: tuple[str, ...] = ()
    """The records of that type as a zone file has them, sorted; a chain of CNAMEs is followed."""
    ttl: int | None = None
    """Seconds that the whole answer may be kept; None without records."""
    chain: tuple[str, ...] = ()
    """Where CNAMEs led, in order, without final dots."""
    soa: Soa | None = None
    """What the server says about the zone when it has nothing to answer."""
    authoritative: bool = False
    """Whether the server says that the zone is its own."""
    error: str | None = None
    """Why there is no answer: `timeout`, `refused` (the port, not the server) …; None when there is."""

    @property
    def found(self) -> bool:
        """Whether there are records."""
        return self.rcode == "NOERROR" and bool(self.values)

    @property
    def absent(self) -> bool:
        """Whether the server says that there are no records, which SERVFAIL and REFUSED do not say."""
        return self.rcode in ("NOERROR", "NXDOMAIN") and not self.values

    @property
    def remembered(self) -> int | None:
        """Seconds for which a resolver may remember this absence; None when nothing is absent."""
        return min(self.soa.ttl, self.soa.minimum) if self.absent and self.soa else None

    def describe(self) -> str:
        """Return one line for a person: what was asked, whom, and what came back."""
        asked = f"{self.name} {self.type} at {self.server}"
        took = f"({self.took * 1000:.0f} ms)"
        if self.error is not None:
            return f"{asked}: no answer, {self.error} {took}"
        by = f" by way of {' → '.join(self.chain)}" if self.chain else ""
        if self.values:
            return f"{asked}: {', '.join(self.values)}{by}, for {self.ttl} s {took}"
        nothing = ", no such record" if self.absent else ""
        kept = "" if self.remembered is None else f", to be remembered for {self.remembered} s"
        return f"{asked}: {self.rcode}{nothing}{by}{kept} {took}"


@dataclass(frozen=True)
class DnsProbe:
    """Asks one server."""

    address: str
    """IPv4 or IPv6 address."""
    port: int = 53
    """UDP and TCP port."""
    name: str = "server"
    """What reports call it."""
    recursor: bool = False
    """It looks names up at others and remembers what it saw."""
    afresh: bool = False
    """Each question is unlike every other one, so that no memory of whole answers is used, or filled for others."""
    timeout: float = 2.0
    """Seconds for one question."""
    clock: Clock = field(default=MONOTONIC, repr=False, compare=False)
    """What `at` and `took` are read from."""

    @property
    def title(self) -> str:
        """Who is asked, for a person."""
        return f"{self.name} {self.address}:{self.port}"

    def query(self, name: str, type: str = "A") -> DnsAnswer:  # noqa: A002 - the word of DNS
        """Return what came of one question. Never raises for what a server does or fails to do.

        Over UDP, and again over TCP when the answer does not fit. Only a recursor is asked to look further.
        """
        unlike: list[dns.edns.Option] = []
        if self.afresh:
            unlike.append(dns.edns.GenericOption(_UNLIKE, secrets.token_bytes(8)))
        question = dns.message.make_query(
            name, type, flags=dns.flags.RD if self.recursor else 0, options=unlike or None
        )
        asked = DnsAnswer(name.rstrip("."), type.upper(), self.title, at=self.clock.now(), took=0.0)
        try:
            with socket.socket(dns.inet.af_for_address(self.address), socket.SOCK_DGRAM) as udp:
                udp.setblocking(False)
                udp.connect((self.address, self.port))  # so that a closed port is refused and not silent
                said, _ = dns.query.udp_with_fallback(question, self.address, self.timeout, self.port, udp_sock=udp)
        except dns.exception.Timeout:
            return replace(asked, took=self.clock.now() - asked.at, error="timeout")
        except (dns.exception.DNSException, OSError) as trouble:
            return replace(asked, took=self.clock.now() - asked.at, error=name_of(trouble))
        return _read(replace(asked, took=self.clock.now() - asked.at), said)


Right: TypeAlias = Callable[[DnsAnswer], bool]
"""Says whether an answer is the one that is waited for."""


def found(answer: DnsAnswer) -> bool:
    """Say whether there are records of the type that was asked for."""
    return answer.found


def absent(answer: DnsAnswer) -> bool:
    """Say whether the server says that there are none; a failure of the server is no absence."""
    return answer.absent


def wait_for_record(
    probe: DnsProbe,
    name: str,
    type: str = "A",  # noqa: A002
    right: Right = found,
    *,
    within: float | Deadline,
    after: DnsAnswer | None = None,
    early: bool = False,
    clock: Clock = MONOTONIC,
) -> DnsAnswer:
    """Return the right answer as soon as the server gives it; it is asked every 20 ms.

    Args:
        probe: the server.
        name: what is asked for.
        type: and of which type.
        right: which answer is waited for.
        within: seconds.
        after: an answer of the authoritative server for the same name that was right; what a recursor is asked after.
        early: ask a recursor without such proof, because what it remembers is what the caller looks at.
        clock: what the wait runs by.

    Raises:
        AskedTooEarly: a recursor was to be asked without proof and without `early`.
        NeverReady: not within that many seconds; describes the last answer.
    """
    proven = after is not None and after.name == name.rstrip(".") and after.authoritative and right(after)
    if probe.recursor and not (proven or early):
        raise AskedTooEarly(name, type, server=probe.title)
    seen: list[DnsAnswer] = []

    def look() -> DnsAnswer | None:
        seen[:] = [probe.query(name, type)]
        return seen[0] if right(seen[0]) else None

    what = f"{probe.name}: {name} {type} {getattr(right, '__name__', 'answered')}"
    return wait_until(what, look, deadline=within, last=lambda: seen[0].describe() if seen else None, clock=clock)


def _read(asked: DnsAnswer, said: dns.message.Message) -> DnsAnswer:
    wanted = dns.rdatatype.from_text(asked.type)
    chain = [rrset for rrset in said.answer if rrset.rdtype == dns.rdatatype.CNAME != wanted]
    records = [rrset for rrset in said.answer if rrset.rdtype == wanted]
    used = [*chain, *records]
    return replace(
        asked,
        rcode=dns.rcode.to_text(said.rcode()),
        values=tuple(sorted(record.to_text() for rrset in records for record in rrset)),
        ttl=min(rrset.ttl for rrset in used) if used else None,
        chain=tuple(record.target.to_text().rstrip(".") for rrset in chain for record in rrset),
        soa=next((_soa(rrset) for rrset in said.authority if rrset.rdtype == dns.rdatatype.SOA), None),
        authoritative=bool(said.flags & dns.flags.AA),
    )


def _soa(rrset: dns.rrset.RRset) -> Soa:
    record = rrset[0]
    assert isinstance(record, dns.rdtypes.ANY.SOA.SOA)
    return Soa(rrset.name.to_text().rstrip("."), serial=record.serial, ttl=rrset.ttl, minimum=record.minimum)
