"""How the supervisor finds out that a process is ready; against servers in threads of the test."""

import socket
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from edgegate.lab import Ready
from edgegate.lab.looks import Look, holder, host_and_port


class Answers(BaseHTTPRequestHandler):
    """Answers by path; counts its connections."""

    protocol_version = "HTTP/1.1"
    connections: list[int]

    def setup(self) -> None:
        super().setup()
        self.connections.append(1)

    def do_GET(self) -> None:
        body = b"not yet" if self.path == "/starting" else b"ok " + self.headers.get("X-Who", "").encode()
        self.send_response(503 if self.path == "/starting" else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name in the base class
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[str]:
    Answers.connections = []
    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as listening:
        Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield f"127.0.0.1:{listening.server_port}"
        listening.shutdown()


@pytest.fixture
def nobody() -> str:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        return f"127.0.0.1:{closed.getsockname()[1]}"


@pytest.mark.parametrize(
    ("path", "contains", "is_ready"),
    [("/", "", True), ("/", "ok", True), ("/", "nope", False), ("/starting", "", False)],
)
def test_http(server: str, path: str, contains: str, is_ready: bool) -> None:
    look = Look(Ready("http", f"http://{server}{path}", contains=contains))
    assert look() is is_ready
    look.close()


def test_http_tells_what_it_saw(server: str) -> None:
    look = Look(Ready("http", f"http://{server}/starting"))
    look()
    look.close()
    assert look.last == f"http://{server}/starting: 503 not yet"


def test_http_sends_its_headers(server: str) -> None:
    look = Look(Ready("http", f"http://{server}/", contains="ok me", header={"X-Who": "me"}))
    assert look()
    look.close()


def test_http_keeps_its_connection(server: str) -> None:
    look = Look(Ready("http", f"http://{server}/starting"))
    for _ in range(5):
        look()
    look.close()
    assert len(Answers.connections) == 1


def test_nobody_there(nobody: str) -> None:
    look = Look(Ready("http", f"http://{nobody}/"))
    assert not look()
    assert look.last == f"http://{nobody}/: [Errno 111] Connection refused"


def test_tcp(server: str, nobody: str) -> None:
    assert Look(Ready("tcp", server))()
    assert not Look(Ready("tcp", nobody))()


@pytest.mark.parametrize(
    ("ready", "found"),
    [
        (Ready("tcp", "127.0.0.1:2379"), ("127.0.0.1", 2379)),
        (Ready("http", "http://10.88.1.1/x"), ("10.88.1.1", 80)),
        (Ready("http", "https://10.88.1.1/x"), ("10.88.1.1", 443)),
        (Ready("http", "https://[::1]:6443/x?y"), ("::1", 6443)),
    ],
)
def test_where_a_process_listens(ready: Ready, found: tuple[str, int]) -> None:
    assert host_and_port(ready) == found


def test_a_free_address_has_no_holder(nobody: str) -> None:
    assert holder(Ready("tcp", nobody), lambda group: None) is None
