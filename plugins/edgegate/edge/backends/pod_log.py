"""A container's log as the kubelet keeps it, read through the control plane."""

from dataclasses import dataclass

import urllib3

from edgegate.clusters.plane import ControlPlane


@dataclass(frozen=True)
class PodLog:
    """The log of one container; it is gone with its pod."""

    plane: ControlPlane
    """Where the pod is."""
    namespace: str
    """Its namespace."""
    pod: str
    """Its name."""
    container: str
    """The container."""

    def mark(self) -> str:
        """Return how long it is."""
        return str(len(self._content()))

    def since(self, mark: str) -> str:
        """Return what came after that many bytes."""
        return self._content()[int(mark or 0) :].decode("utf-8", errors="replace")

    def _content(self) -> bytes:
        client = self.plane.client
        place = f"/api/v1/namespaces/{self.namespace}/pods/{self.pod}/log?container={self.container}"
        try:
            answer = client.call_api("GET", client.configuration.host + place, _request_timeout=10)
            content: bytes = answer.read()
        except (urllib3.exceptions.HTTPError, OSError):
            return b""
        return content if answer.status == 200 else b""
