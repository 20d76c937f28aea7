"""What probes and hooks do."""

import socket
import threading
from collections.abc import Callable

import pytest

from edgegate.lab.node.actions import Outcome, Target, act, perform, port_of
from edgegate.lab.node.kube import Json
from servers import Script

CONTAINER: Json = {"ports": [{"name": "web", "containerPort": 8080}]}


def _do(action: Json, address: str = "127.0.0.1", status: int = 0, said: str = "") -> Outcome:
    target = Target(address, CONTAINER, lambda argv, timeout: (status, said or " ".join(argv)))
    return perform(action, target, 1.0, threading.Event())


def _answering(text: str) -> Script:
    def script(connection: socket.socket) -> None:
        connection.recv(4096)
        connection.sendall(text.encode())

    return script


@pytest.mark.parametrize(("status", "ok"), [(200, True), (302, True), (399, True), (404, False), (503, False)])
def test_http_statuses_below_400_are_good(scripted: Callable[[Script], int], status: int, ok: bool) -> None:
    port = scripted(_answering(f"HTTP/1.1 {status} X\r\nContent-Length: 4\r\n\r\nbody"))
    outcome = _do({"httpGet": {"port": port, "path": "ready"}})
    assert outcome == Outcome(ok, f"HTTP probe failed with statuscode: {status} body")


def test_a_request_looks_like_a_kubelets(scripted: Callable[[Script], int]) -> None:
    asked: list[str] = []

    def script(connection: socket.socket) -> None:
        asked.append(connection.recv(4096).decode())
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    headers = [{"name": "Host", "value": "shop.test"}]
    assert _do({"httpGet": {"port": scripted(script), "path": "/a?b", "httpHeaders": headers}}).ok
    assert asked[0].startswith("GET /a?b HTTP/1.1\r\n")
    assert "User-Agent: kube-probe/1.35" in asked[0]


def test_nobody_there_is_a_failure_with_its_cause() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        assert _do({"httpGet": {"port": port}}).text.startswith("ConnectionRefusedError:")
        assert not _do({"tcpSocket": {"port": port}}).ok


def test_a_server_that_says_nothing_is_a_failure(scripted: Callable[[Script], int]) -> None:
    outcome = _do({"httpGet": {"port": scripted(_answering(""))}})
    assert not outcome.ok


def test_a_connection_is_enough_for_tcp(scripted: Callable[[Script], int]) -> None:
    assert _do({"tcpSocket": {"port": scripted(_answering("x"))}}) == Outcome(ok=True, text="")


def test_a_command_is_judged_by_its_status() -> None:
    assert _do({"exec": {"command": ["a", "b"]}}) == Outcome(ok=True, text="a b")
    assert _do({"exec": {"command": ["a"]}}, status=3, said=" ") == Outcome(ok=False, text="exit status 3")


def test_a_sleep_ends_early_with_its_container() -> None:
    over = threading.Event()
    over.set()
    target = Target("", {}, lambda argv, timeout: (0, ""))
    assert act({"sleep": {"seconds": 100}}, target, None, over).ok


def test_ports_have_numbers_or_names() -> None:
    assert (port_of(80, CONTAINER), port_of("80", CONTAINER), port_of("web", CONTAINER)) == (80, 80, 8080)
    assert _do({"tcpSocket": {"port": "metrics"}}).text == "ValueError: couldn't find port: metrics"


def test_a_hook_that_the_lab_lacks_has_failed() -> None:
    target = Target("", {}, lambda argv, timeout: (0, ""))
    outcome = act({"grpc": {"port": 1}}, target, None, threading.Event())
    expected = "the lab has no grpc probes and hooks; it has httpGet, tcpSocket, exec, sleep"
    assert outcome == Outcome(ok=False, text=expected)
