"""A DNS probe reports what a server really said, and does not let a resolver remember an absence by accident."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace

import dns.flags
import dns.message
import dns.rcode
import dns.rdatatype
import dns.rrset
import pytest

from edgegate.errors import AskedTooEarly, NeverReady
from edgegate.probes.dns import DnsAnswer, DnsProbe, absent, wait_for_record

Reply = Callable[[dns.message.Message], dns.message.Message | None]
Serve = Callable[[Reply], DnsProbe]

SOA = "ns1.shop.test. hostmaster.shop.test. 7 10800 3600 604800 60"


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Return a factory of UDP servers that answer by a function; None answers nothing."""
    with ExitStack() as undo:

        def start(reply: Reply) -> DnsProbe:
            server = undo.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
            server.bind(("127.0.0.1", 0))
            thread = threading.Thread(target=_answer, args=(server, reply))
            thread.start()
            undo.callback(thread.join)
            port = server.getsockname()[1]
            undo.callback(_poke, port)
            return DnsProbe("127.0.0.1", port, name="authoritative", timeout=0.5)

        yield start


def _poke(port: int) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as poke:
        poke.sendto(b"end", ("127.0.0.1", port))


def _answer(server: socket.socket, reply: Reply) -> None:
    while True:
        wire, client = server.recvfrom(4096)
        if wire == b"end":
            return
        answer = reply(dns.message.from_wire(wire))
        if answer is not None:
            server.sendto(answer.to_wire(), client)


def said(
    *answer: dns.rrset.RRset, rcode: str = "NOERROR", authority: tuple[dns.rrset.RRset, ...] = (), flags: int = 0
) -> Reply:
    """Return a function that gives one answer to every question."""

    def reply(question: dns.message.Message) -> dns.message.Message:
        made = dns.message.make_response(question)
        made.set_rcode(dns.rcode.from_text(rcode))
        made.flags |= flags
        made.answer.extend(answer)
        made.authority.extend(authority)
        return made

    return reply


def records(name: str, kind: str, *contents: str, ttl: int = 300) -> dns.rrset.RRset:
    """Return one record set."""
    return dns.rrset.from_text(f"{name}.", ttl, "IN", kind, *contents)


def test_records_are_sorted_and_the_chain_is_told(serve: Serve) -> None:
    probe = serve(
        said(
            records("shop.test", "CNAME", "a.edge.test.", ttl=60),
            records("a.edge.test", "A", "10.0.0.2", "10.0.0.1"),
            flags=dns.flags.AA,
        )
    )
    answer = probe.query("shop.test.")
    assert answer.found
    assert answer.authoritative
    assert not answer.absent
    assert (answer.values, answer.ttl, answer.chain) == (("10.0.0.1", "10.0.0.2"), 60, ("a.edge.test",))
    told = answer.describe()
    assert told.startswith(f"shop.test A at authoritative 127.0.0.1:{probe.port}: 10.0.0.1, 10.0.0.2 by way of")
    assert "a.edge.test, for 60 s" in told


def test_a_cname_that_was_asked_for_is_no_chain(serve: Serve) -> None:
    answer = serve(said(records("shop.test", "CNAME", "a.edge.test."))).query("shop.test", "cname")
    assert (answer.type, answer.values, answer.chain) == ("CNAME", ("a.edge.test.",), ())


def test_an_absence_says_how_long_it_is_remembered(serve: Serve) -> None:
    soa = records("shop.test", "SOA", SOA, ttl=3600)
    answer = serve(said(rcode="NXDOMAIN", authority=(soa,))).query("www.shop.test")
    assert answer.absent
    assert answer.soa is not None
    assert (answer.soa.zone, answer.soa.serial) == ("shop.test", 7)
    assert answer.remembered == 60
    assert "NXDOMAIN, no such record, to be remembered for 60 s" in answer.describe()


@pytest.mark.parametrize("rcode", ["SERVFAIL", "REFUSED"])
def test_a_failure_of_the_server_is_no_absence(serve: Serve, rcode: str) -> None:
    answer = serve(said(rcode=rcode)).query("shop.test")
    assert (answer.rcode, answer.absent, answer.found, answer.remembered) == (rcode, False, False, None)


def test_only_a_recursor_is_asked_to_look_further(serve: Serve) -> None:
    asked: list[bool] = []

    def reply(question: dns.message.Message) -> dns.message.Message:
        asked.append(bool(question.flags & dns.flags.RD))
        return dns.message.make_response(question)

    probe = serve(reply)
    probe.query("shop.test")
    DnsProbe(probe.address, probe.port, recursor=True).query("shop.test")
    assert asked == [False, True]


def test_no_two_questions_are_alike_when_asked_afresh(serve: Serve) -> None:
    asked: list[tuple[object, ...]] = []

    def reply(question: dns.message.Message) -> dns.message.Message:
        asked.append(tuple(question.options))
        return dns.message.make_response(question)

    probe = serve(reply)
    for each in (probe, probe, replace(probe, afresh=True), replace(probe, afresh=True)):
        assert each.query("shop.test").rcode == "NOERROR"
    assert asked[:2] == [(), ()]
    assert asked[2] != asked[3]
    assert len(asked[2]) == len(asked[3]) == 1


def test_a_silent_server_is_a_timeout(serve: Serve) -> None:
    answer = serve(lambda question: None).query("shop.test")
    assert (answer.rcode, answer.error, answer.found, answer.absent) == (None, "timeout", False, False)
    assert "no answer, timeout (5" in answer.describe()


def test_a_closed_port_is_refused() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    assert DnsProbe("127.0.0.1", port, timeout=0.2).query("shop.test").error == "refused"


def test_a_long_answer_comes_over_tcp(serve: Serve) -> None:
    """UDP says that the answer is cut; nobody listens on TCP here, so the probe says that instead of half a truth."""

    def reply(question: dns.message.Message) -> dns.message.Message:
        made = dns.message.make_response(question)
        made.flags |= dns.flags.TC
        return made

    assert serve(reply).query("shop.test").error == "refused"


def test_a_wait_returns_the_right_answer(serve: Serve) -> None:
    counted = iter(range(100))
    there = records("shop.test", "A", "10.0.0.1")

    def reply(question: dns.message.Message) -> dns.message.Message | None:
        return said(there)(question) if next(counted) == 2 else said(rcode="NXDOMAIN")(question)

    assert wait_for_record(serve(reply), "shop.test", within=2).values == ("10.0.0.1",)
    assert next(counted) == 3


def test_a_wait_that_runs_out_describes_the_last_answer(serve: Serve) -> None:
    probe = serve(said(rcode="SERVFAIL"))
    with pytest.raises(NeverReady, match=r"authoritative: shop.test A absent: not within 50 ms; last seen: .*SERVFAIL"):
        wait_for_record(probe, "shop.test", right=absent, within=0.05)


def proof(name: str = "shop.test", *, authoritative: bool = True, rcode: str = "NOERROR") -> DnsAnswer:
    """Return an answer that may prove that a name exists."""
    values = ("10.0.0.1",) if rcode == "NOERROR" else ()
    return DnsAnswer(name, "A", "authoritative", 0, 0, rcode, values, authoritative=authoritative)


@pytest.mark.parametrize(
    "after",
    [None, proof("other.test"), proof(authoritative=False), proof(rcode="NXDOMAIN")],
    ids=["nothing", "another name", "a resolver's answer", "absent"],
)
def test_a_recursor_is_not_asked_without_proof(after: DnsAnswer | None) -> None:
    recursor = DnsProbe("127.0.0.1", 1, name="recursor", recursor=True)
    text = r"recursor 127.0.0.1:1 was to be asked for shop.test A without proof that it exists. .* Pass .* after="
    with pytest.raises(AskedTooEarly, match=text):
        wait_for_record(recursor, "shop.test", within=1, after=after)


@pytest.mark.parametrize("allowed", [{"after": proof()}, {"early": True}], ids=["with proof", "on purpose"])
def test_a_recursor_is_asked_after_proof_or_on_purpose(serve: Serve, allowed: dict[str, object]) -> None:
    server = serve(said(records("shop.test", "A", "10.0.0.1")))
    recursor = DnsProbe(server.address, server.port, recursor=True)
    assert wait_for_record(recursor, "shop.test", within=1, **allowed).found  # type: ignore[arg-type]
