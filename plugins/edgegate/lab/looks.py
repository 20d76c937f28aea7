"""Looks at a process from inside the lab: does it answer yet, and who else holds its address?"""

import http.client
import socket
import ssl
from collections.abc import Callable
from urllib.parse import urlsplit

from edgegate.lab import proc
from edgegate.lab.spec import Ready

_PATIENCE = 2.0
"""Seconds that one look may take: a server under load answers late, but it does answer."""


class Look:
    """One `Ready` evaluated again and again; an HTTP connection is kept, because TLS is what a look costs."""

    def __init__(self, ready: Ready) -> None:
        self._ready = ready
        self._connection: http.client.HTTPConnection | None = None
        self.last = "no look yet"
        """What the last look saw."""

    def __call__(self) -> bool:
        """Return whether it is ready now."""
        try:
            return self._http() if self._ready.kind == "http" else self._tcp()
        except (OSError, http.client.HTTPException) as trouble:
            self.close()
            self.last = f"{self._ready.address}: {trouble or type(trouble).__name__}"
            return False

    def close(self) -> None:
        """Drop the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _tcp(self) -> bool:
        host, port = host_and_port(self._ready)
        socket.create_connection((host, port), _PATIENCE).close()
        return True

    def _http(self) -> bool:
        url = urlsplit(self._ready.address)
        if self._connection is None:
            self._connection = _connection(self._ready)
        target = (url.path or "/") + (f"?{url.query}" if url.query else "")
        self._connection.request("GET", target, headers=dict(self._ready.header))
        answer = self._connection.getresponse()
        body = answer.read().decode(errors="replace")
        self.last = f"{self._ready.address}: {answer.status} {body[:200]}"
        return answer.status == http.client.OK and self._ready.contains in body


def host_and_port(ready: Ready) -> tuple[str, int]:
    """Return where a process listens, by its `Ready`."""
    url = urlsplit(ready.address if ready.kind == "http" else f"tcp://{ready.address}")
    return url.hostname or "", url.port or (443 if url.scheme == "https" else 80)


def holder(ready: Ready, name_of_group: Callable[[int], str | None]) -> str | None:
    """Return who listens at the address of a process that is yet to start; None when it is free."""
    host, port = host_and_port(ready)
    try:
        socket.create_connection((host, port), _PATIENCE).close()
    except OSError:
        return None
    pid = proc.listener(port)
    try:
        named = None if pid is None else name_of_group(proc.group(pid)) or proc.command(pid)
    except OSError:  # it ended while we looked
        named = None
    return "a process that cannot be seen" if named is None else f"{named} (pid {pid} in the lab)"


def _connection(ready: Ready) -> http.client.HTTPConnection:
    host, port = host_and_port(ready)
    if not ready.address.startswith("https"):
        return http.client.HTTPConnection(host, port, timeout=_PATIENCE)
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return http.client.HTTPSConnection(host, port, timeout=_PATIENCE, context=context)
