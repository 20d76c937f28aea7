"""Certificates and answers say what a person needs to know of them."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from edgegate.records import Answer, Certificate

CERTIFICATE = Certificate(
    sha256="ab" * 32,
    subject="CN=a.example",
    issuer="CN=edge",
    names=("a.example", "*.b.example", "10.88.1.8"),
    not_before=datetime(2026, 1, 1, tzinfo=UTC),
    not_after=datetime(2027, 1, 1, tzinfo=UTC),
)
ANSWER = Answer("GET", "https://a.example/", "10.88.1.8:443", at=1.0, took=0.012, status=200)


@pytest.mark.parametrize(
    ("host", "covered"),
    [
        ("a.example", True),
        ("A.Example.", True),
        ("x.b.example", True),
        ("b.example", False),
        ("x.y.b.example", False),
        ("x.a.example", False),
        ("10.88.1.8", True),
    ],
)
def test_names_of_a_certificate(host: str, covered: bool) -> None:
    """A wildcard stands for one label."""
    assert CERTIFICATE.covers(host) is covered


def test_certificate_for_a_person() -> None:
    assert CERTIFICATE.describe() == ("certificate for a.example, *.b.example, 10.88.1.8 from CN=edge (abababababab)")
    assert replace(CERTIFICATE, names=()).describe().startswith("certificate for CN=a.example from")


def test_headers() -> None:
    answer = replace(ANSWER, headers=(("set-cookie", "a=1"), ("location", "/x"), ("set-cookie", "b=2")))

    assert answer.header("Set-Cookie") == "a=1"
    assert answer.header_values("Set-Cookie") == ["a=1", "b=2"]
    assert (answer.location, answer.marker, answer.header("x")) == ("/x", None, None)


def test_content() -> None:
    assert replace(ANSWER, body=b'{"a": 1}').json() == {"a": 1}
    assert replace(ANSWER, body=b"\xff").text == "\ufffd"
    with pytest.raises(ValueError, match="Expecting value"):
        ANSWER.json()


@pytest.mark.parametrize(
    ("answer", "ok", "text"),
    [
        (ANSWER, True, "200 (12 ms)"),
        (replace(ANSWER, headers=(("x-edgegate-origin", "a"),)), True, "200 from a (12 ms)"),
        (replace(ANSWER, status=302, headers=(("location", "/x"),)), False, "302 to /x (12 ms)"),
        (replace(ANSWER, trusted=False, distrust="expired"), True, "200, not trusted: expired (12 ms)"),
        (replace(ANSWER, status=None, error="reset"), False, "no answer, reset (12 ms)"),
        (replace(ANSWER, error="closed"), False, "no answer, closed after status 200 (12 ms)"),
    ],
)
def test_answer_for_a_person(answer: Answer, ok: bool, text: str) -> None:
    assert answer.ok is ok
    assert answer.describe() == f"GET https://a.example/ at 10.88.1.8:443: {text}"
