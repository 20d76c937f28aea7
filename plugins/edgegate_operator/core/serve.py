"""/metrics, /healthz and /readyz over plain HTTP."""

import socketserver
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from edgegate_operator.core.metrics import Metrics


class HttpServer(ThreadingHTTPServer):
    """A server that binds without asking DNS for its own name: where none answers, that alone takes 10 s."""

    daemon_threads = True

    def server_bind(self) -> None:
        """Bind, and know the address only."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), self.server_address[1]


class StatusServer:
    """Answers until it is closed. Healthy as soon as it answers; ready when `ready` says so."""

    def __init__(self, host: str, port: int, metrics: Metrics, ready: Callable[[], bool]) -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:  # the name that http.server calls
                pages: dict[str, Callable[[], tuple[int, str]]] = {
                    "/metrics": lambda: (200, metrics.text()),
                    "/healthz": lambda: (200, "ok"),
                    "/readyz": lambda: (200, "ok") if ready() else (503, "caches are not filled yet"),
                }
                status, text = pages.get(self.path.partition("?")[0], lambda: (404, "not found"))()
                body = text.encode()
                self.send_response(status)
                self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 the name that http.server uses
                """Say nothing: probes come every second."""

        self._server = HttpServer((host, port), Handler)
        self.port: int = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, name="status", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop answering."""
        self._server.shutdown()
        self._server.server_close()
