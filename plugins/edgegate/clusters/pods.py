"""Reach into a pod through its control plane: its ports and its log, from wherever the control plane can be reached."""

import http.client
import socket
from dataclasses import dataclass
from http.client import OK

import httpx
from kubernetes import client
from kubernetes.client.exceptions import ApiException
from kubernetes.stream import portforward
from websocket import WebSocketException

from edgegate.clusters.plane import ControlPlane
from edgegate.errors import PlaneUnreachable

_PATIENCE = (3.0, 5.0)
"""Seconds to reach the control plane, and for each wait for an answer of the pod."""
_MOST = 16 * 1024 * 1024
"""Bytes of a log that are read at most."""


@dataclass(frozen=True)
class PodPort:
    """A port of a pod."""

    plane: ControlPlane
    namespace: str
    name: str
    port: int

    @property
    def path(self) -> str:
        """API path under which the control plane passes requests on."""
        return f"/api/v1/namespaces/{self.namespace}/pods/{self.name}:{self.port}/proxy"


class ThroughProxy(httpx.BaseTransport):
    """Passes requests to a pod's port by way of the control plane, which must reach the pod's address.

    A port that listens on the pod's loopback only cannot be reached so; see `ThroughForward`.
    """

    def __init__(self, pod: PodPort) -> None:
        self._pod = pod

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send one request. Raises ConnectError when the control plane does not answer."""
        path = self._pod.path + request.url.raw_path.decode()
        try:
            answer = self._pod.plane.send(request.method, path, timeout=_PATIENCE)
        except PlaneUnreachable as trouble:
            raise httpx.ConnectError(str(trouble)) from trouble
        return httpx.Response(answer.status, content=answer.data, request=request)


class ThroughForward(httpx.BaseTransport):
    """Passes requests to a pod's port by a forwarding that its node opens: loopback of the pod is enough."""

    def __init__(self, pod: PodPort) -> None:
        self._pod = pod

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Open a forwarding, send one request and read its answer. Raises ConnectError when that cannot be."""
        connection = http.client.HTTPConnection("localhost", self._pod.port, timeout=_PATIENCE[1])
        try:
            connection.sock = self._forwarded()
            connection.request(request.method, request.url.raw_path.decode(), headers={"Connection": "close"})
            answer = connection.getresponse()
            return httpx.Response(answer.status, content=answer.read(), request=request)
        except (ApiException, WebSocketException, http.client.HTTPException, OSError) as trouble:
            raise httpx.ConnectError(f"no port could be forwarded: {trouble}") from trouble
        finally:
            connection.close()

    def _forwarded(self) -> socket.socket:
        pod = self._pod
        # A client of its own: while it forwards, the library lets every request of a client be a WebSocket.
        own = client.ApiClient(pod.plane.client.configuration)
        ask = client.CoreV1Api(own).connect_get_namespaced_pod_portforward
        forwarded: socket.socket = portforward(ask, pod.name, pod.namespace, ports=str(pod.port)).socket(pod.port)
        forwarded.settimeout(_PATIENCE[1])
        return forwarded


@dataclass(frozen=True)
class PodLog:
    """What a container of a pod writes, as its node keeps it."""

    plane: ControlPlane
    namespace: str
    name: str
    container: str

    def readable(self) -> bool:
        """Tell whether its node gives it away: not every node does, nor to everybody."""
        return self._answer({"tailLines": "1"}) is not None

    def mark(self) -> str:
        """Return the time of its last line, which is how the node tells lines apart; empty where it has no log."""
        return self._read({"tailLines": "1"}).partition(" ")[0]

    def since(self, mark: str) -> str:
        """Return the lines that are younger than a mark, all of them for an empty one; empty where it has no log."""
        lines = self._read({"sinceTime": mark} if mark else {}).splitlines()
        pairs = (line.partition(" ") for line in lines)
        # Fractions have as many digits as they need, so the letter at the end would be compared with a digit.
        return "".join(f"{text}\n" for when, _, text in pairs if when.rstrip("Z") > mark.rstrip("Z"))

    def _read(self, query: dict[str, str]) -> str:
        return self._answer(query) or ""

    def _answer(self, query: dict[str, str]) -> str | None:
        path = f"/api/v1/namespaces/{self.namespace}/pods/{self.name}/log"
        more = {"container": self.container, "timestamps": "true", "limitBytes": str(_MOST)}
        try:
            answer = self.plane.send("GET", path, query={**more, **query}, timeout=_PATIENCE)
        except PlaneUnreachable:
            return None
        return answer.data.decode(errors="replace") if answer.status == OK else None
