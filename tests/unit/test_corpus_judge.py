"""Requests are written as the corpus has them, and what comes back is judged."""

import json
import socket
import threading
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from rich.text import Text

from corpus_files import seen
from edgegate.cli.corpus import _cut, _delta_shown, _shown
from edgegate.corpus import origin
from edgegate.corpus.bootstrap import bootstrap
from edgegate.corpus.cases import Case, Expected, Request, Stage
from edgegate.corpus.ignores import Ignore
from edgegate.corpus.judge import case_verdict, rule_faults, verdict_faults
from edgegate.corpus.result import Change, Outcome, Result, changes
from edgegate.corpus.run import Seen
from edgegate.corpus.wire import encode, exchange


def _case(*expected: Expected) -> Case:
    return Case("a-1", "a", "", tuple(Stage(Request(), one) for one in expected))


def test_headers_are_completed() -> None:
    """As go-ftw does it: a body has a type and a length."""
    raw = encode(Request("POST", "/p", headers={"Host": "h"}, data="a=ä"), "k")
    assert raw == (
        b"POST /p HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Type: application/x-www-form-urlencoded\r\n"
        b"Content-Length: 4\r\nx-edgegate-case: k\r\n\r\na=\xc3\xa4"
    )


def test_headers_are_left_alone() -> None:
    """Where the case says so, and where it has the whole request."""
    assert encode(Request(data="x", complete=False), "k") == b"GET / HTTP/1.1\r\nx-edgegate-case: k\r\n\r\nx"
    whole = Request(encoded=b"GET / HTTP/1.1\nHost: h\n\n")
    assert encode(whole, "k") == b"GET / HTTP/1.1\nx-edgegate-case: k\r\nHost: h\n\n"


def test_parts_end_with_two_bytes() -> None:
    """YAML has line feeds, multipart wants carriage returns too, and one at the end."""
    headers = {"Host": "h", "content-type": "multipart/form-data; boundary=b"}
    assert encode(Request("POST", headers=headers, data="--b\n\r\n--b--"), "k").endswith(b"--b\r\n\r\n--b--\r\n")


VERDICTS = {
    "blocked": (seen(403, "blocked", 949110), "blocked"),
    "blocked with another status": (seen(500, "blocked", 949110), "blocked with 500"),
    "passed": (seen(200, "passed"), "passed"),
    "403 of the origin": (seen(403, "passed"), "passed"),
    "over a limit": (seen(413, "refused"), "refused"),
    "Envoy's own 400": (seen(400, None), "envoy"),
    "answered without the firewall": (seen(200, None), "unseen"),
    "no answer": (seen(None, None), "nothing"),
    "no answer although it passed": (seen(None, "passed"), "nothing"),
}


@pytest.mark.parametrize(("one", "word"), VERDICTS.values(), ids=VERDICTS)
def test_verdicts(one: Seen, word: str) -> None:
    """Only a 403 of the firewall's own is a block."""
    assert case_verdict([one]) == word


FAULTS = {
    "as expected": (Expected(ids=(1,), no_ids=(2,)), seen(200, "detected", 1, 3), []),
    "missing rule": (Expected(ids=(1, 4)), seen(200, "passed", 1), ["expected rules 4, seen 1"]),
    "unwanted rule": (Expected(no_ids=(2,)), seen(200, "detected", 2), ["rules 2 must not match"]),
    "unseen": (Expected(ids=(1,)), seen(400, None), ["the firewall did not see it: 400"]),
    "refused as expected": (Expected(status=400), seen(400, None), []),
    "status": (Expected(status=400), seen(200, "passed"), ["expected status 400, seen 200"]),
    "no answer as expected": (Expected(error=True), seen(None, None), []),
    "an answer": (Expected(error=True), seen(200, None), ["expected no answer, seen 200"]),
    "log": (Expected(matches="a.b"), seen(200, "detected", log="a\nb"), []),
    "no such log": (Expected(matches="c"), seen(200, "detected", log="a"), ["nothing in the log is like 'c'"]),
    "such a log": (Expected(no_match="a"), seen(200, "detected", log="a"), ["something in the log is like 'a'"]),
}


@pytest.mark.parametrize(("expected", "one", "faults"), FAULTS.values(), ids=FAULTS)
def test_rules(expected: Expected, one: Seen, faults: list[str]) -> None:
    """The rules that match, the log and the status are compared with what the case expects."""
    assert rule_faults(_case(expected), [one]) == faults


def test_our_own_cases_expect_a_verdict() -> None:
    """403 is a block by the firewall, 200 an answer of the origin."""
    attack, harmless = _case(Expected(status=403)), _case(Expected(status=200))
    assert verdict_faults(attack, [seen(403, "blocked", 949110)]) == []
    assert verdict_faults(attack, [seen(400, None)]) == ["expected blocked, seen envoy"]
    assert verdict_faults(harmless, [seen(200, "passed")]) == []
    assert verdict_faults(harmless, [seen(403, "blocked", 1, 2)]) == ["expected passed, seen blocked by 1, 2"]
    assert verdict_faults(harmless, [seen(503, "passed")]) == ["expected status 200, seen 503"]


def _result(*outcomes: Outcome, controls: tuple[str, ...] = ()) -> Result:
    return Result({"coreruleset": "4.25.0"}, outcomes, controls, {"detect": 1.234}, ("x.yaml",))


def test_the_verdict_of_a_run() -> None:
    """A fault that is ignored is borne, one that is not fails, and so does a control."""
    ignore = Ignore(("a-1",), "because", date(2027, 1, 1))
    good, borne = Outcome("a-2", "a", "passed"), Outcome("a-1", "a", "passed", ("x",), ignore)
    assert not _result(good, borne).failed
    assert _result(good, replace(borne, ignored=None)).failed
    assert _result(good, controls=("control-attack: expected blocked, seen passed",)).failed
    assert _result(Outcome("a-1", "a", "passed", (), ignore)).stale == ("a-1",)


def test_what_is_shown() -> None:
    """Failures by name, ignores that are no longer needed, files without a test."""
    result = _result(Outcome("a-1", "a", "blocked", ("expected passed, seen blocked",)), Outcome("a-2", "a", "passed"))
    assert result.as_data()["families"] == [{"name": "a", "passed": 1, "ignored": 0, "failed": 1, "blocked": 1}]
    assert result.as_data()["failed"] == {"a-1": ["expected passed, seen blocked"]}
    lines = [str(one) for one in _shown(result).renderables[1:]]  # type: ignore[union-attr]
    assert lines[0] == "harmless: 0 of 0 passed; 0 known to be blocked although harmless, see exclusions.toml"
    assert lines[1:] == ["a-1: expected passed, seen blocked", "x.yaml: holds no test"]


def test_harmless_cases_that_are_blocked() -> None:
    """They are counted apart, and so are those that are known to be."""
    one, other = Outcome("a-1", "a", "blocked", benign=True), Outcome("a-2", "a", "passed", benign=True)
    result = replace(_result(one, other, Outcome("b-1", "b", "blocked")), excluded=("b-1",))
    assert result.wrongly_blocked == ("a-1",)
    assert result.as_data()["benign"] == {"cases": 2, "not passed": ["a-1"]}
    assert str(_shown(result).renderables[1]).startswith("harmless: 1 of 2 passed; 1 known")  # type: ignore[union-attr]


def test_a_bump_is_a_list_of_changes() -> None:
    """A case that only one of the versions knows is no change."""
    before = _result(Outcome("a-1", "a", "passed"), Outcome("a-2", "a", "blocked"))
    after = replace(_result(Outcome("a-1", "a", "blocked"), Outcome("a-2", "a", "blocked"), Outcome("a-3", "a", "x")))
    assert changes(before, after) == [Change("a-1", "a", "passed", "blocked")]
    shown = _delta_shown(before, after, changes(before, after))
    assert [str(one) for one in shown.renderables[1:]] == ["a-1: passed → blocked"]  # type: ignore[union-attr]


def test_the_origin_answers_what_it_is_asked() -> None:
    """What it cannot read is 400, and no status without a body gets one."""
    asked = json.dumps({"status": 201, "headers": {"X-A": "b", "Content-Length": "7"}, "encodedBody": "aGk="})
    assert origin.answer("POST", "/reflect/?x=1", asked.encode()) == (
        b"HTTP/1.1 201 Reflected\r\ncontent-type: text/plain\r\nx-a: b\r\ncontent-length: 2\r\n\r\nhi"
    )
    assert origin.answer("GET", "/", b"").endswith(b"content-length: 3\r\n\r\nok\n")
    assert origin.answer("HEAD", "/", b"").endswith(b"content-length: 3\r\n\r\n")
    assert origin.answer("POST", "/reflect", b'{"status": 304, "body": "x"}').endswith(b"text/plain\r\n\r\n")
    assert origin.answer("POST", "/reflect", b"[]").startswith(b"HTTP/1.1 400")


def test_a_door_without_a_firewall() -> None:
    """The filter is in every chain, and only guarded routes enable it."""
    paths = {name: Path(f"/x/{name}") for name in ("without", "origin", "firewall", "admin")}
    found = json.loads(bootstrap({"enforce": Path("/x/enforce")}, **paths))
    managers = {
        one["name"]: one["filter_chains"][0]["filters"][0]["typed_config"]
        for one in found["static_resources"]["listeners"]
    }
    routes = {name: one["route_config"]["virtual_hosts"][0]["routes"][0] for name, one in managers.items()}
    assert routes["enforce"]["name"] == "corpus/enforce/"
    assert "typed_per_filter_config" in routes["enforce"]
    assert "typed_per_filter_config" not in routes["none"]
    assert all(one["http_filters"][0]["disabled"] for one in managers.values())


def test_the_answer_to_head_ends_with_its_headers(tmp_path: Path) -> None:
    """Even where it announces chunks, and the connection stays open."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "door"))
        server.listen()
        ended = threading.Event()

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(1000)
                connection.sendall(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
                ended.wait(5)

        thread = threading.Thread(target=serve)
        thread.start()
        answer = exchange(tmp_path / "door", b"HEAD / HTTP/1.1\r\nhost: a\r\n\r\n", within=4)
        ended.set()
        thread.join()
    assert (answer.status, answer.error) == (200, "")


def test_what_a_case_says_is_no_markup() -> None:
    shown = _cut(["942100-1: log has no [id 942100], seen [/x]"])
    assert [Text.from_markup(line).plain for line in shown] == ["942100-1: log has no [id 942100], seen [/x]"]
