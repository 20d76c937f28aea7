"""An origin server that says which one it is and what reached it.

Run as `python -m edgegate.components.origin_server --listen ADDRESS:PORT --marker NAME [--cert PEM --key PEM]`.
It needs the standard library only, starts in about 0.1 s and takes 80 µs of processor time a request. Every answer
carries `x-edgegate-origin: NAME`; the content is JSON with method, path, host, headers and the number of bytes that
came with the request.

    /status/NNN   answers with that status
    /delay/MS     answers after that many milliseconds
    /bytes/N      answers with N bytes instead of JSON

With `--answer HOST=NNN` (repeatable) every other path of that host is answered with that status.
"""

import argparse
import json
import signal
import socket
import socketserver
import ssl
import sys
import threading
from collections.abc import Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from edgegate.clock import MONOTONIC
from edgegate.records import MARKER

LONGEST_DELAY = 60.0
"""Seconds; a longer /delay is refused with 400."""
MOST_BYTES = 64 * 1024 * 1024
"""A bigger /bytes is refused with 400."""

_WITHOUT_CONTENT = (204, 304)


class OriginServer(ThreadingHTTPServer):
    """Serves until `shutdown`; with `port` 0 the system chooses one, see `server_port`."""

    daemon_threads = True
    request_queue_size = 1024

    def __init__(
        self,
        address: str,
        port: int,
        marker: str,
        *,
        cert: Path | None = None,
        key: Path | None = None,
        answers: Mapping[str, int] | None = None,
    ) -> None:
        """Bind and listen. Raises OSError when the address is taken or the certificate cannot be read."""
        self.address_family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self.marker, self.answers = marker, answers or {}
        super().__init__((address, port), _Handler)
        if cert is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(cert, key)
            # The handshake belongs to the connection's own thread: one slow client must not stop the others.
            self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)

    def server_bind(self) -> None:
        """Bind without asking DNS for the host's name: where none answers, that alone takes 10 s."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), self.server_address[1]

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing about clients that hang up; probes do so all the time."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = 65536  # one packet an answer
    server: OriginServer

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - name of the base class
        """Log nothing: a watcher asks four hundred times a second."""

    def _answer(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        body = self.rfile.read(length)
        status, content = self._content(len(body))
        self.send_response(status)
        self.send_header(MARKER, self.server.marker)
        if status in _WITHOUT_CONTENT:
            content = b""
        else:
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = do_PATCH = do_OPTIONS = _answer  # noqa: N815

    def _content(self, received: int) -> tuple[int, bytes]:
        words = self.path.partition("?")[0].strip("/").split("/")
        status = self.server.answers.get(self.headers.get("host", "").partition(":")[0], 200)
        match words:
            case ["status", number] if number.isdigit() and 200 <= int(number) <= 599:
                status = int(number)
            case ["delay", number] if number.isdigit() and int(number) <= LONGEST_DELAY * 1000:
                MONOTONIC.sleep(int(number) / 1000)
            case ["bytes", number] if number.isdigit() and int(number) <= MOST_BYTES:
                return 200, b"x" * int(number)
            case ["status" | "delay" | "bytes", *_]:
                status = 400
        return status, self._story(received)

    def _story(self, received: int) -> bytes:
        seen = {
            "marker": self.server.marker,
            "method": self.command,
            "path": self.path,
            "host": self.headers.get("host", ""),
            "headers": {name.lower(): value for name, value in self.headers.items()},
            "bytes": received,
        }
        return json.dumps(seen).encode()


def _answer(text: str) -> tuple[str, int]:
    host, _, status = text.partition("=")
    if not host or not status.isdigit() or not 200 <= int(status) <= 599:
        raise argparse.ArgumentTypeError(f"'{text}' is not HOST=STATUS, as in old.example=404")
    return host, int(status)


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until SIGTERM or SIGINT; return 0."""
    parser = argparse.ArgumentParser(prog="origin_server", description="Origin server with a marker")
    parser.add_argument("--listen", required=True, metavar="ADDRESS:PORT", help="Where to listen, [::]:80 for IPv6")
    parser.add_argument("--marker", required=True, help="Name in every answer")
    parser.add_argument("--cert", type=Path, help="PEM file of the certificate chain; speaks TLS")
    parser.add_argument("--key", type=Path, help="PEM file of the key, unless it is in the same file")
    parser.add_argument(
        "--answer", action="append", default=[], type=_answer, metavar="HOST=STATUS", help="Status for a host"
    )
    chosen = parser.parse_args(argv)
    address, _, port = chosen.listen.rpartition(":")
    if not address or not port.isdigit():
        parser.error(f"--listen '{chosen.listen}' is not ADDRESS:PORT, as in 0.0.0.0:8080 or [::]:8080")
    answers = dict(chosen.answer)
    server = OriginServer(
        address.strip("[]"), int(port), chosen.marker, cert=chosen.cert, key=chosen.key, answers=answers
    )
    for number in (signal.SIGTERM, signal.SIGINT):
        # From a thread of its own: `shutdown` waits for the loop that this handler interrupts.
        signal.signal(number, lambda *_: threading.Thread(target=server.shutdown).start())
    with server:
        server.serve_forever(poll_interval=0.2)
    return 0


if __name__ == "__main__":
    sys.exit(main())
