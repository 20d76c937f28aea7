"""HTTP probes see what a server does under any name, and never raise for it."""

import socket
from collections.abc import Callable
from typing import Any

import pytest

from edgegate.probes.http import HttpProbe
from servers import Authority, Script, Serve, reply, reset


def test_host_header_is_ours_and_address_is_not_looked_up(serve: Serve) -> None:
    """The request goes to the address, under a name that no resolver knows."""
    server = serve("a")

    answer = HttpProbe("127.0.0.1", "shop.example", port=server.server_port).get("/x?y=%20z")

    assert (answer.status, answer.marker, answer.error) == (200, "a", None)
    assert answer.json()["host"] == f"shop.example:{server.server_port}"
    assert answer.json()["path"] == "/x?y=%20z"
    assert answer.ok


def test_answer_tells_when_it_was_asked_and_how_long_it_took(serve: Serve) -> None:
    answer = HttpProbe("127.0.0.1", "a.example", port=serve().server_port).get("/delay/50")

    assert answer.took >= 0.05
    assert answer.at > 0


def test_usual_port_is_not_in_the_host_header() -> None:
    assert HttpProbe("127.0.0.1", "a.example").root.netloc == b"a.example"
    assert HttpProbe("127.0.0.1", "a.example", tls=True).port == 443


def test_ipv6(serve: Serve) -> None:
    server = serve("six", address="::1")

    answer = HttpProbe("::1", "a.example", port=server.server_port).get()

    assert answer.marker == "six"
    assert answer.address == f"[::1]:{server.server_port}"


def test_method_headers_cookies_and_content_are_sent(serve: Serve) -> None:
    probe = HttpProbe("127.0.0.1", "a.example", port=serve().server_port)

    seen = probe.request("POST", headers={"x-try": "1"}, cookies={"a": "1", "b": "2"}, content=b"four").json()

    assert (seen["method"], seen["bytes"]) == ("POST", 4)
    assert (seen["headers"]["x-try"], seen["headers"]["cookie"]) == ("1", "a=1; b=2")


def test_proxy_of_the_environment_is_not_used(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")

    assert HttpProbe("127.0.0.1", "a.example", port=serve().server_port).get().ok


def test_connections_are_kept_when_asked(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two requests, one connection; without `keep_alive` each has its own."""
    server, opened = serve(), []
    accept = server.get_request

    def count() -> tuple[socket.socket, Any]:
        opened.append(1)
        return accept()

    monkeypatch.setattr(server, "get_request", count)

    with HttpProbe("127.0.0.1", "a.example", port=server.server_port, keep_alive=True) as kept:
        assert kept.get().ok
        assert kept.get().ok
    assert len(opened) == 1

    with HttpProbe("127.0.0.1", "a.example", port=server.server_port) as fresh:
        assert fresh.get().ok
        assert fresh.get().ok
    assert len(opened) == 3


def test_certificate_that_is_trusted(serve: Serve, authority: Authority) -> None:
    server = serve("a", cert=authority.issue("a.example", "www.a.example"))

    answer = HttpProbe("127.0.0.1", "a.example", port=server.server_port, tls=True, ca=authority.ca).get()

    assert (answer.status, answer.trusted, answer.distrust) == (200, True, "")
    assert answer.certificate is not None
    assert answer.certificate.names == ("a.example", "www.a.example")
    assert answer.certificate.issuer == "CN=edgegate test authority"
    assert len(answer.certificate.sha256) == 64


def test_certificate_of_somebody_else_is_seen_and_not_trusted(serve: Serve, authority: Authority) -> None:
    """The wrong certificate is reported with the answer behind it."""
    server = serve("a", cert=authority.issue("other.example"))

    answer = HttpProbe("127.0.0.1", "a.example", port=server.server_port, tls=True, ca=authority.ca).get()

    assert (answer.status, answer.trusted) == (200, False)
    assert answer.certificate is not None
    assert answer.certificate.names == ("other.example",)
    assert "not valid for 'a.example'" in answer.distrust
    assert "not trusted: Hostname mismatch" in answer.describe()


def test_certificate_of_an_unknown_authority_is_not_trusted(serve: Serve, authority: Authority) -> None:
    server = serve("a", cert=authority.issue("a.example", issuer="nobody"))

    answer = HttpProbe("127.0.0.1", "a.example", port=server.server_port, tls=True, ca=authority.ca).get()

    assert (answer.status, answer.trusted) == (200, False)
    assert answer.certificate is not None
    assert answer.certificate.issuer == "CN=nobody"
    assert "unable to get local issuer" in answer.distrust


def test_certificate_is_not_judged_without_authority(serve: Serve, authority: Authority) -> None:
    server = serve("a", cert=authority.issue("a.example"))

    answer = HttpProbe("127.0.0.1", "a.example", port=server.server_port, tls=True).get()

    assert (answer.status, answer.trusted) == (200, None)
    assert answer.certificate is not None


def _same_server(connection: socket.socket) -> None:
    path = connection.recv(65536).split()[1]
    to = b"HTTP/1.1 302 Found\r\nlocation: /next\r\ncontent-length: 0\r\n\r\n"
    connection.sendall(to if path == b"/" else b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")


def test_redirect_is_followed_only_when_asked(scripted: Callable[[Script], int]) -> None:
    probe = HttpProbe("127.0.0.1", "a.example", port=scripted(_same_server))

    first, followed = probe.get(), probe.get(follow=True)

    assert (first.status, first.location, first.hops) == (302, "/next", ())
    assert (followed.status, followed.text) == (200, "ok")
    assert followed.hops == (f"http://a.example:{probe.port}/next",)
    assert "302 to /next" in first.describe()


def test_redirect_to_another_host_is_not_followed(scripted: Callable[[Script], int]) -> None:
    """A probe knows one address: another host is somebody else's."""
    port = scripted(reply(b"HTTP/1.1 302 Found\r\nlocation: http://idp.example/\r\ncontent-length: 0\r\n\r\n"))

    answer = HttpProbe("127.0.0.1", "a.example", port=port).get(follow=True)

    assert (answer.status, answer.location) == (302, "http://idp.example/")


def test_circle_of_redirects_ends(scripted: Callable[[Script], int]) -> None:
    port = scripted(reply(b"HTTP/1.1 302 Found\r\nlocation: /\r\ncontent-length: 0\r\n\r\n"))

    assert len(HttpProbe("127.0.0.1", "a.example", port=port).get(follow=True).hops) == 10


def test_refused_connection_is_an_answer() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

    answer = HttpProbe("127.0.0.1", "a.example", port=port).get()

    assert (answer.error, answer.status, answer.ok) == ("refused", None, False)
    assert answer.describe().startswith(f"GET http://a.example:{port}/ at 127.0.0.1:{port}: no answer, refused (")


@pytest.mark.parametrize(
    ("script", "error"),
    [
        pytest.param(reset, "reset", id="reset"),
        pytest.param(reply(b""), "closed", id="hung up"),
        pytest.param(reply(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf"), "closed", id="cut short"),
        pytest.param(reply(b"SSH-2.0-OpenSSH\r\n\r\n"), "protocol: illegal status line", id="another protocol"),
    ],
)
def test_broken_answer_is_an_answer(scripted: Callable[[Script], int], script: Script, error: str) -> None:
    answer = HttpProbe("127.0.0.1", "a.example", port=scripted(script)).get()

    assert answer.error is not None
    assert answer.error.startswith(error)
    assert not answer.ok


def test_status_of_an_answer_that_was_cut_is_kept(scripted: Callable[[Script], int]) -> None:
    port = scripted(reply(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf"))

    answer = HttpProbe("127.0.0.1", "a.example", port=port).get()

    assert (answer.status, answer.ok) == (200, False)
    assert "no answer, closed after status 200" in answer.describe()


def test_late_answer_is_a_timeout(serve: Serve) -> None:
    answer = HttpProbe("127.0.0.1", "a.example", port=serve().server_port, timeout=0.05).get("/delay/200")

    assert answer.error == "timeout"
    assert 0.05 <= answer.took < 0.2


@pytest.mark.parametrize(
    ("script", "error"),
    [
        pytest.param(reset, "reset", id="no filter chain"),
        pytest.param(reply(b""), "tls: closed in the handshake", id="hung up"),
        pytest.param(reply(b"HTTP/1.1 400 Bad Request\r\n\r\n"), "tls: wrong version number", id="no TLS"),
    ],
)
def test_failed_handshake_is_an_answer(
    scripted: Callable[[Script], int], authority: Authority, script: Script, error: str
) -> None:
    """Nothing is judged when no certificate came."""
    answer = HttpProbe("127.0.0.1", "a.example", port=scripted(script), tls=True, ca=authority.ca).get()

    assert (answer.error, answer.certificate, answer.trusted) == (error, None, None)
