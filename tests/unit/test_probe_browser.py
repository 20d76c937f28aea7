"""A browser keeps cookies, follows redirects across hosts, sends forms, and goes where its table says only."""

import socket
import ssl
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from edgegate.probes.browser import Browser
from servers import Authority, Script, reply

Scripted = Callable[[Script], int]
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nin"


def _answer(status: str, *headers: str, body: str = "") -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close", *headers, "", body]
    return "\r\n".join(lines).encode()


def _whole(connection: socket.socket) -> str:
    """Return a request with its body, which may come in a packet of its own."""
    asked = connection.recv(65536).decode()
    head, _, body = asked.partition("\r\n\r\n")
    length = next((int(line.split()[1]) for line in head.splitlines() if line.startswith("Content-Length")), 0)
    return asked if len(body) == length else asked + connection.recv(65536).decode()


def _noting(requests: list[str], *answers: bytes) -> Script:
    """Return a script that keeps what was asked and gives one answer a connection, the last one again and again."""
    left = list(answers)

    def script(connection: socket.socket) -> None:
        requests.append(_whole(connection))
        connection.sendall(left.pop(0) if len(left) > 1 else left[0])

    return script


def test_names_go_where_the_table_says(scripted: Scripted) -> None:
    requests: list[str] = []
    port = scripted(_noting(requests, _answer("200 OK", "X-Who: a", body="hello")))
    with Browser({"a.edge.test": ("127.0.0.1", port)}) as browser:
        page = browser.get("http://a.edge.test/path?q=1")
    assert (page.status, page.text, page.headers["x-who"], page.host) == (200, "hello", "a", "a.edge.test")
    assert page.url == "http://a.edge.test/path?q=1"
    assert requests[0].startswith("GET /path?q=1 HTTP/1.1\r\nHost: a.edge.test\r\n")


def test_a_host_that_the_table_does_not_have_is_told(scripted: Scripted) -> None:
    with (
        Browser({"b.edge.test": ("127.0.0.1", 1), "a.edge.test": ("127.0.0.1", 1)}) as browser,
        pytest.raises(httpx.ConnectError) as raised,
    ):
        browser.get("http://localhost/")
    assert str(raised.value) == "no address is known for localhost; known: a.edge.test, b.edge.test"


def test_a_redirect_is_returned_and_followed_when_asked(scripted: Scripted) -> None:
    there: list[str] = []
    here = scripted(reply(_answer("302 Found", "Location: http://provider.test/form?x=1")))
    table = {"site.test": ("127.0.0.1", here), "provider.test": ("127.0.0.1", scripted(_noting(there, OK)))}
    with Browser(table) as browser:
        sent = browser.get("http://site.test/")
        assert (sent.status, sent.location) == (302, "http://provider.test/form?x=1")
        assert browser.follow(sent).status == 200
    assert there[0].startswith("GET /form?x=1 ")


def test_a_redirect_may_be_relative(scripted: Scripted) -> None:
    requests: list[str] = []
    port = scripted(_noting(requests, _answer("302 Found", "Location: ../next"), OK))
    with Browser({"site.test": ("127.0.0.1", port)}) as browser:
        browser.follow(browser.get("http://site.test/a/b"))
    assert requests[1].startswith("GET /next ")


def test_a_page_that_does_not_redirect_has_no_location(scripted: Scripted) -> None:
    with Browser({"site.test": ("127.0.0.1", scripted(reply(OK)))}) as browser:
        assert browser.get("http://site.test/").location == ""


def test_cookies_go_back_to_their_own_host_only(scripted: Scripted) -> None:
    mine: list[str] = []
    others: list[str] = []
    cookie = _answer("200 OK", "Set-Cookie: session=s3cret; Path=/; HttpOnly", "Set-Cookie: a=1; Path=/")
    table = {
        "site.test": ("127.0.0.1", scripted(_noting(mine, cookie))),
        "other.test": ("127.0.0.1", scripted(_noting(others, OK))),
    }
    with Browser(table) as browser:
        browser.get("http://site.test/")
        browser.get("http://site.test/")
        browser.get("http://other.test/")
        assert browser.cookies == ["a", "session"]
    assert "session=s3cret" in mine[1]
    assert "session" not in others[0]


def test_secure_cookies_do_not_travel_in_the_clear(scripted: Scripted) -> None:
    requests: list[str] = []
    port = scripted(_noting(requests, _answer("200 OK", "Set-Cookie: session=1; Path=/; Secure")))
    with Browser({"site.test": ("127.0.0.1", port)}) as browser:
        browser.get("http://site.test/")
        browser.get("http://site.test/")
    assert "session" not in requests[1]


def test_a_form_is_posted(scripted: Scripted) -> None:
    requests: list[str] = []
    with Browser({"site.test": ("127.0.0.1", scripted(_noting(requests, OK)))}) as browser:
        browser.submit("http://site.test/login", {"sub": "alice & bob"})
    assert requests[0].startswith("POST /login ")
    assert requests[0].endswith("\r\n\r\nsub=alice+%26+bob")


def test_proxies_of_the_environment_are_passed_by(scripted: Scripted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    with Browser({"site.test": ("127.0.0.1", scripted(reply(OK)))}) as browser:
        assert browser.get("http://site.test/").status == 200


def _over_tls(cert: Path) -> Script:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert)

    def script(connection: socket.socket) -> None:
        try:
            with context.wrap_socket(connection, server_side=True) as secured:
                secured.recv(65536)
                secured.sendall(OK)
        except ssl.SSLError:
            return  # the client did not like the certificate

    return script


def test_https_is_checked_by_the_name_and_not_by_the_address(scripted: Scripted, authority: Authority) -> None:
    port = scripted(_over_tls(authority.issue("site.test")))
    with Browser({"site.test": ("127.0.0.1", port)}, ca=authority.ca) as browser:
        assert browser.get("https://site.test/").status == 200


def test_a_certificate_for_somebody_else_is_refused(scripted: Scripted, authority: Authority) -> None:
    port = scripted(_over_tls(authority.issue("other.test")))
    with (
        Browser({"site.test": ("127.0.0.1", port)}, ca=authority.ca) as browser,
        pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"),
    ):
        browser.get("https://site.test/")


def test_without_an_authority_nothing_is_checked(scripted: Scripted, authority: Authority) -> None:
    port = scripted(_over_tls(authority.issue("other.test")))
    with Browser({"site.test": ("127.0.0.1", port)}) as browser:
        assert browser.get("https://site.test/").status == 200
