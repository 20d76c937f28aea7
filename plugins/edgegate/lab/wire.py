"""One JSON object a line over a socket, and errors that arrive as what they were."""

import json
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from edgegate import errors
from edgegate.errors import EdgegateError, LabRequestFailed

_TRAVELLERS: tuple[type[EdgegateError], ...] = (
    errors.AlreadyRunning,
    errors.CommandFailed,
    errors.ComponentExited,
    errors.LabRequestFailed,
    errors.NeverReady,
    errors.PortTaken,
    errors.SandboxNotPermitted,
    errors.UnknownProcess,
)
"""The errors that a supervisor raises for its users; each can be built from its own fields."""


class Line:
    """A connection that carries one JSON object a line."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        """The socket itself."""
        self._rest = b""

    def send(self, message: Mapping[str, Any]) -> None:
        """Send one object."""
        self.connection.sendall(json.dumps(message).encode() + b"\n")

    def receive(self) -> dict[str, Any] | None:
        """Return the next object; None when the other side has gone."""
        while b"\n" not in self._rest:
            try:
                more = self.connection.recv(1 << 16)
            except ConnectionResetError:  # it died with something of ours unread
                return None
            if not more:
                return None
            self._rest += more
        line, self._rest = self._rest.split(b"\n", 1)
        message: dict[str, Any] = json.loads(line)
        return message

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()


def failure(error: Exception, request: str) -> dict[str, Any]:
    """Return the message for an error that a request ended with."""
    if not isinstance(error, _TRAVELLERS):
        error = LabRequestFailed(request, reason=f"{type(error).__name__}: {error}")
    return {"error": type(error).__name__, "fields": {name: _plain(value) for name, value in vars(error).items()}}


def unwrap(message: Mapping[str, Any]) -> Any:
    """Return the result in an answer.

    Raises:
        EdgegateError: the error in the answer, of the class it had.
    """
    if "error" not in message:
        return message.get("result")
    kind = next(kind for kind in _TRAVELLERS if kind.__name__ == message["error"])
    fields = dict(message["fields"])
    if "log" in fields:
        fields["log"] = Path(fields["log"])
    raise _rebuilt(kind, fields)


def _rebuilt(kind: type[EdgegateError], fields: dict[str, Any]) -> EdgegateError:
    positional = [fields.pop(name) for name in ("name", "what", "argv", "request", "reason") if name in fields]
    if kind is LabRequestFailed:
        return LabRequestFailed(positional[0], reason=positional[1])
    return kind(*positional, **fields)


def _plain(value: object) -> object:
    return str(value) if isinstance(value, Path) else value
