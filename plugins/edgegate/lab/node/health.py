"""`/healthz`: 200 once the node is registered and everything has been listed once."""

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def serve(address: str, ready: Callable[[], str]) -> ThreadingHTTPServer:
    """Serve health on `host:port`; `ready` returns what is missing, empty when nothing is."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            missing = ready() if self.path.startswith("/healthz") else "not found"
            body = (missing or "ok").encode()
            self.send_response(503 if missing else 200)
            self.send_header("Content-Type", "text/plain")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Keep health checks out of the log."""

    host, _, port = address.rpartition(":")
    server = ThreadingHTTPServer((host, int(port)), Handler)
    threading.Thread(target=server.serve_forever, name="health", daemon=True).start()
    return server
