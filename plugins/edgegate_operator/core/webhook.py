"""An HTTPS server for admission reviews, with a certificate of its own that only its API servers trust."""

import base64
import ipaddress
import json
import logging
import ssl
import tempfile
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from edgegate_operator.core.serve import HttpServer

LOG = logging.getLogger("edgegate_operator.webhook")

VALID = timedelta(days=365)
"""Life of the certificate; a new process makes a new one."""
LARGEST = 4 * 1024 * 1024
"""Bytes of a review that are read; API servers send at most 3 MiB."""

Review = Callable[[str, Any], dict[str, Any]]
"""Given path and request of a review, returns its response without uid."""


def certificate(host: str) -> tuple[bytes, bytes]:
    """Return a self-signed certificate for an address or name, and its key, both PEM."""
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, host)])
    try:
        subject: x509.GeneralName = x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        subject = x509.DNSName(host)
    now = datetime.now(UTC)
    built = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + VALID)
        .add_extension(x509.SubjectAlternativeName([subject]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return built.public_bytes(serialization.Encoding.PEM), private


class WebhookServer:
    """Answers reviews until it is closed."""

    def __init__(self, host: str, port: int, review: Review) -> None:
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True
            wbufsize = 65536  # one packet an answer: a second one would wait 40 ms for the first one's receipt

            def do_POST(self) -> None:  # the name that http.server calls
                length = int(self.headers.get("Content-Length") or 0)
                try:
                    asked = json.loads(self.rfile.read(min(length, LARGEST)))
                    answer = review(self.path.partition("?")[0], asked["request"]) | {"uid": asked["request"]["uid"]}
                except (ValueError, KeyError, TypeError) as error:
                    LOG.warning("review %s: %r", self.path, error)
                    return self._send(400, {"error": str(error)})
                kind = {"apiVersion": asked["apiVersion"], "kind": asked["kind"]}
                return self._send(200, kind | {"response": answer})

            def _send(self, status: int, body: Any) -> None:
                data = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 the name that http.server uses
                """Say nothing: API servers ask often."""

        self._server = HttpServer((host, port), Handler)
        self.port: int = self._server.server_address[1]
        public, private = certificate(host)
        self.ca_bundle = base64.b64encode(public).decode()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with tempfile.TemporaryDirectory() as folder:  # the ssl module takes keys from files only
            both = Path(folder) / "both.pem"
            both.touch(mode=0o600)
            both.write_bytes(public + private)
            context.load_cert_chain(both)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=self._server.serve_forever, name="webhook", daemon=True).start()

    def close(self) -> None:
        """Stop answering."""
        self._server.shutdown()
        self._server.server_close()
