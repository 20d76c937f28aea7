"""A port that Envoy opens on loopback is reached by a forwarding of its node, in WebSocket frames as sent there."""

import base64
import hashlib
import socketserver
import struct
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from edgegate.clusters.plane import ControlPlane
from edgegate.clusters.pods import PodPort, ThroughForward
from edgegate.errors import AdminUnreachable
from edgegate.probes.envoy import EnvoyAdmin
from kube_api import kubeconfig
from servers import free_port

PORT = 19000
STATS = b"HTTP/1.1 200 OK\r\ncontent-length: 7\r\nconnection: close\r\n\r\na.b: 3\n"
_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_DATA, _ERRORS = b"\x00", b"\x01"
_BINARY, _CLOSE = 2, 8


class Node(socketserver.StreamRequestHandler):
    """Forwards one port as a kubelet does, and plays the pod behind it."""

    asked: list[bytes]
    """First lines of what came, of the handshake and through the forwarding."""
    refuses = False

    def handle(self) -> None:
        """Answer the handshake, name the port on both channels, then answer one request."""
        line, headers = self.rfile.readline(), {}
        while name := (header := self.rfile.readline()).partition(b":")[0].strip().lower():
            headers[name] = header.partition(b":")[2].strip()
        self.asked.append(line.strip())
        if self.refuses:
            self.wfile.write(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n")
            return
        key = base64.b64encode(hashlib.sha1(headers[b"sec-websocket-key"] + _GUID).digest())
        self.wfile.write(
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Accept: " + key + b"\r\nSec-WebSocket-Protocol: v4.channel.k8s.io\r\n\r\n"
        )
        for channel in (_DATA, _ERRORS):
            self._send(channel + struct.pack("<H", PORT))
        request = b""
        while b"\r\n\r\n" not in request:
            request += self._receive()[1:]
        self.asked.append(request.partition(b"\r\n")[0])
        self._send(_DATA + STATS)
        self._receive()

    def _send(self, content: bytes) -> None:
        self.wfile.write(bytes((0x80 | _BINARY, len(content))) + content)

    def _receive(self) -> bytes:
        head = self.rfile.read(2)
        if len(head) < 2 or head[0] & 15 == _CLOSE:
            return b""
        length = head[1] & 127
        if length == 126:
            (length,) = struct.unpack(">H", self.rfile.read(2))
        mask = self.rfile.read(4)
        return bytes(byte ^ mask[at % 4] for at, byte in enumerate(self.rfile.read(length)))


@pytest.fixture
def node(tmp_path: Path) -> Iterator[tuple[type[Node], ControlPlane]]:
    handler = type("Told", (Node,), {"asked": []})
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        plane = ControlPlane("downstream", kubeconfig(tmp_path / "node", server.server_address[1]))
        yield handler, plane
        plane.client.close()
        server.shutdown()
        thread.join()


def _admin(plane: ControlPlane) -> EnvoyAdmin:
    return EnvoyAdmin("http://envoy-1:19000", transport=ThroughForward(PodPort(plane, "system", "envoy-1", PORT)))


def test_envoy_is_asked_through_a_forwarded_port(node: tuple[type[Node], ControlPlane]) -> None:
    told, plane = node
    with _admin(plane) as admin:
        assert admin.stats("a") == {"a.b": 3}
    handshake, request = told.asked
    assert b"/api/v1/namespaces/system/pods/envoy-1/portforward?ports=19000" in handshake
    assert request == b"GET /stats?filter=a HTTP/1.1"


def test_a_forwarding_that_is_refused_is_told(node: tuple[type[Node], ControlPlane]) -> None:
    told, plane = node
    told.refuses = True
    with _admin(plane) as admin, pytest.raises(AdminUnreachable):
        admin.stats("a")


def test_a_control_plane_that_is_gone_is_told(tmp_path: Path) -> None:
    gone = ControlPlane("downstream", kubeconfig(tmp_path / "gone", free_port()))
    with _admin(gone) as admin, pytest.raises(AdminUnreachable):
        admin.version()
