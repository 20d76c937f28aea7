"""Domain: when it is looked at, what proves it, and what it says."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import dns.message
import dns.rcode
import dns.rrset
import pytest

from edgegate_operator import conditions, kinds
from edgegate_operator.controllers import domain as controller
from edgegate_operator.controllers.domain import Seen, Times, decide, interval, is_due, zone_verdict
from edgegate_operator.controllers.domainprobe import Answer, Registration, ask, is_apex, register
from edgegate_operator.core.plan import Plan, Status
from edgegate_operator.kinds import Obj
from edgegate_operator.settings import Domains
from operator_objects import NOW, cond, domain, obj, settings, with_conditions, zone

DOMAINS = settings().domain
GOOD = Answer(True, "Verified", "TXT record")
BAD = Answer(False, "RecordNotFound", "nothing")


def at(seconds: float) -> str:
    return conditions.timestamp(NOW + seconds)


@pytest.mark.parametrize(
    ("last", "following", "desired", "due"),
    [
        (None, None, None, True),
        (at(-4), at(1), None, False),
        (at(-9), at(-4), None, True),
        (at(-4), at(300), at(-1), True),
        (at(-4), at(300), at(-5), False),
        (at(-4), at(300), at(60), False),
    ],
)
def test_an_attempt_is_due(last: str | None, following: str | None, desired: str | None, due: bool) -> None:
    assert is_due(last, following, desired, NOW) is due


def test_attempts_become_rarer() -> None:
    assert [interval(elapsed, DOMAINS) for elapsed in (0, 299, 301, 899, 901, 1e6)] == [5, 5, 60, 60, 300, 300]


def fresh(**parts: Any) -> Obj:
    made = domain("shop.test", **parts)
    made["status"] = {
        "conditions": [cond(kind, "Unknown", "Pending") for kind in ("Verified", "VerifiedDNS", "VerifiedHTTP")]
    }
    return made


def plan(
    what: Seen, answers: dict[str, Answer] | None = None, registration: Registration | None = None, **times: Any
) -> Plan:
    return decide(what, answers, registration, Times(times.get("attempt"), times.get("following")), NOW, DOMAINS)


def status(found: Plan) -> Any:
    (only,) = [step.status for step in found.steps if isinstance(step, Status)]
    return only


def shown(found: Plan) -> dict[str, tuple[str, str]]:
    return {c["type"]: (c["status"], c["reason"]) for c in status(found)["conditions"]}


def test_a_new_domain_says_what_to_publish() -> None:
    found = status(plan(Seen(fresh())))["verification"]
    assert found["dnsRecord"]["name"] == "datum-custom-hostname.shop.test"
    url = "http://shop.test/.well-known/datum-custom-hostname-challenge/uid-shop.test"
    assert found["httpToken"] == {"url": url, "body": found["dnsRecord"]["content"]}


def test_the_token_stays() -> None:
    known = fresh() | {"status": {"verification": {"dnsRecord": {"content": "abc"}}}}
    assert status(plan(Seen(known)))["verification"]["httpToken"]["body"] == "abc"


def test_what_was_found_is_told_for_each_way() -> None:
    wrong = Answer(False, "VerificationRecordContentMismatch", "says x")
    found = plan(Seen(fresh()), {"VerifiedDNS": wrong, "VerifiedHTTP": BAD}, attempt=NOW, following=NOW + 5)
    assert shown(found) == {
        "Verified": ("False", "PendingVerification"),
        "VerifiedDNS": ("False", "VerificationRecordContentMismatch"),
        "VerifiedHTTP": ("False", "RecordNotFound"),
    }
    assert found.after == pytest.approx(5)


def test_one_good_way_is_enough_and_the_others_are_not_mentioned_any_more() -> None:
    assert shown(plan(Seen(fresh()), {"VerifiedDNS": GOOD})) == {"Verified": ("True", "Verified")}


def test_a_refresh_in_the_future_is_kept_in_mind() -> None:
    wished = fresh()
    wished["spec"]["desiredVerificationRefreshAttempt"] = at(2)
    assert plan(Seen(wished), attempt=NOW, following=NOW + 300).after == pytest.approx(2)


def test_a_verified_domain_stays_verified_and_is_not_asked_again() -> None:
    done = with_conditions(fresh(), cond("Verified"))
    assert shown(plan(Seen(done))) == {"Verified": ("True", "Verified")}
    assert plan(Seen(done)).after is None


@pytest.mark.parametrize(
    ("zones", "servers", "verdict"),
    [
        ([], ["ns1.edge.test"], None),
        ([zone("z", programmed=False)], ["ns1.edge.test"], (False, "DNSZoneNotReady")),
        ([zone("z")], ["ns.other.test"], (False, "DNSZoneNameserverMismatch")),
        ([zone("z")], ["NS1.edge.test."], (True, "Verified")),
    ],
)
def test_a_zone_of_ours_proves_ownership(
    zones: list[Obj], servers: list[str], verdict: tuple[bool, str] | None
) -> None:
    found = zone_verdict(Seen(fresh(), zones), servers)
    assert (found[:2] if found else None) == verdict


def test_a_zone_and_its_delegation_verify_at_once() -> None:
    looked_up = Registration(["ns1.edge.test"], True, NOW, NOW + 60)
    found = plan(Seen(fresh(), [zone("z")]), registration=looked_up)
    assert shown(found)["Verified"] == ("True", "Verified")
    assert shown(found)["VerifiedDNSZone"] == ("True", "Verified")
    assert shown(found)["ValidDomain"] == ("True", "Valid")
    assert found.after == pytest.approx(60)


def test_a_zone_that_waits_for_the_delegation_has_it_looked_up_soon() -> None:
    looked_up = Registration([], False, NOW, NOW + 3600)
    found = plan(Seen(fresh(), [zone("z")]), registration=looked_up)
    assert found.after == pytest.approx(5)
    assert shown(found)["ValidDomain"] == ("False", "InvalidApex")


def test_nobody_is_asked_about_a_zone_that_is_just_being_created(monkeypatch: pytest.MonkeyPatch) -> None:
    """A resolver goes on with what it heard in that moment; the zone's own event says when it is served."""
    asked: list[float] = []
    found = Registration([], True, NOW, NOW + 3600)

    def look(_name: str, _settings: Domains, now: float) -> Registration:
        asked.append(now)
        return found

    monkeypatch.setattr(controller, "register", look)
    created = {"creationTimestamp": conditions.timestamp(NOW - 1)}
    young = [obj(kinds.DNS_ZONE, "z", spec={"domainName": "shop.test"}, metadata=created)]
    assert controller._registration(Seen(fresh(), young), DOMAINS, NOW) is None
    assert plan(Seen(fresh(), young)).after == pytest.approx(9)
    assert controller._registration(Seen(fresh(), young), DOMAINS, NOW + 9) is found
    assert (
        controller._registration(Seen(fresh(), [with_conditions(young[0], cond("Programmed"))]), DOMAINS, NOW) is found
    )
    assert asked == [NOW + 9, NOW]


@pytest.mark.parametrize(
    ("name", "answer"), [("shop.test", True), ("www.shop.test", False), ("shop.co.uk", True), ("co.uk", True)]
)
def test_apex(name: str, answer: bool) -> None:
    assert is_apex(name) is answer


# what the world says, from real servers on loopback -------------------------------------------------------------------


@contextmanager
def name_server(records: dict[tuple[str, str], list[str]]) -> Iterator[str]:
    """Answer those names over UDP, and NXDOMAIN for the rest; yield address:port."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("127.0.0.1", 0))
        sock.settimeout(0.05)
        over = threading.Event()

        def serve() -> None:
            while not over.is_set():
                try:
                    data, peer = sock.recvfrom(4096)
                except TimeoutError:
                    continue
                query = dns.message.from_wire(data)
                answer, question = dns.message.make_response(query), query.question[0]
                kind = question.rdtype.name
                values = records.get((question.name.to_text(omit_final_dot=True), kind))
                if values is None:
                    answer.set_rcode(dns.rcode.NXDOMAIN)
                else:
                    answer.answer.append(dns.rrset.from_text_list(question.name, 60, "IN", kind, values))
                sock.sendto(answer.to_wire(), peer)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"127.0.0.1:{sock.getsockname()[1]}"
        finally:
            over.set()
            thread.join()


@contextmanager
def web_server(status: int, body: bytes) -> Iterator[int]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            """Stay quiet."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


RECORD = {"name": "datum-custom-hostname.shop.test", "content": "token"}


def asked(records: dict[tuple[str, str], list[str]], port: int = 1) -> dict[str, tuple[bool, str]]:
    with name_server(records) as address:
        token = {"url": f"http://shop.test:{port}/t", "body": "token"}
        found = ask(RECORD, token, replace(DOMAINS, resolver=address, attempt_timeout=2.0))
    return {kind: (answer.good, answer.reason) for kind, answer in found.items()}


def test_the_txt_record_is_enough() -> None:
    assert asked({(RECORD["name"], "TXT"): ['"other"', '"token"']}) == {"VerifiedDNS": (True, "Verified")}


def test_a_wrong_txt_record_is_told_apart_from_none() -> None:
    wrong = asked({(RECORD["name"], "TXT"): ['"other"']})
    assert wrong["VerifiedDNS"] == (False, "VerificationRecordContentMismatch")
    assert asked({})["VerifiedDNS"] == (False, "RecordNotFound")
    assert asked({})["VerifiedHTTP"] == (False, "RecordNotFound")


@pytest.mark.parametrize(
    ("status", "body", "answer"),
    [
        (200, b"token\n", (True, "Verified")),
        (200, b"other", (False, "UnexpectedResponse")),
        (503, b"token", (False, "UnexpectedResponse")),
    ],
)
def test_the_http_token(status: int, body: bytes, answer: tuple[bool, str]) -> None:
    with web_server(status, body) as port:
        assert asked({("shop.test", "A"): ["127.0.0.1"]}, port)["VerifiedHTTP"] == answer


def test_an_origin_that_does_not_answer_is_an_unexpected_response() -> None:
    assert asked({("shop.test", "A"): ["127.0.0.1"]}, 1)["VerifiedHTTP"] == (False, "UnexpectedResponse")


def test_name_servers_are_looked_up() -> None:
    with name_server({("shop.test", "NS"): ["ns2.edge.test.", "ns1.edge.test."]}) as address:
        found = register("shop.test", Domains(resolver=address), NOW)
    assert (found.nameservers, found.apex, found.again) == (["ns1.edge.test", "ns2.edge.test"], True, NOW + 86400)


def test_a_look_up_that_fails_is_tried_again_earlier() -> None:
    with name_server({}) as address:
        found = register("shop.test", Domains(resolver=address), NOW)
    assert (found.nameservers, found.again) == ([], NOW + 3600)
