"""A visitor who keeps his connection: what is no 200 is told, and that a connection was closed is not."""

import socket
from collections.abc import Callable

import pytest

from edgegate.clock import wait_until
from edgegate.edge.kept_visitor import KeptVisitor
from edgegate.probes.http import HttpProbe
from edgegate.records import Versions
from edgegate.report.gate import Gate
from servers import Script


@pytest.mark.parametrize(("status", "findings"), [(b"200 OK", 0), (b"500 No", 1)])
def test_what_a_visitor_tells(scripted: Callable[[Script], int], status: bytes, findings: int) -> None:
    """Each connection gives two answers, and is closed without a word after the second."""
    answered: list[bytes] = []

    def serve(connection: socket.socket) -> None:
        for line in (b"200 OK", status):
            if not connection.recv(1000):
                return
            connection.sendall(b"HTTP/1.1 " + line + b"\r\ncontent-length: 0\r\n\r\n")
            answered.append(line)

    gate = Gate("changes", versions=lambda: Versions({}), again="pytest")
    with KeptVisitor(gate, "shop", HttpProbe("127.0.0.1", "shop.test", port=scripted(serve), keep_alive=True)):
        wait_until("two answers on each of two connections", lambda: len(answered) >= 4, deadline=5)
    assert len(gate.evidence.findings) == findings
