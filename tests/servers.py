"""What the fixtures of local servers give: see tests/unit/conftest.py."""

import datetime
import socket
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from edgegate.clock import wait_until
from edgegate.components.origin_server import OriginServer
from edgegate.probes.http import HttpProbe


class Serve(Protocol):
    """Starts an origin server on a free port of loopback."""

    def __call__(self, marker: str = "a", *, cert: Path | None = None, address: str = "127.0.0.1") -> OriginServer: ...


@dataclass(frozen=True)
class OriginProcess:
    """An origin server that runs as a process."""

    process: subprocess.Popen[bytes]
    port: int


Script = Callable[[socket.socket], None]
"""What a scripted server does with one connection."""


@dataclass(frozen=True)
class Authority:
    """A certificate authority of this test run."""

    folder: Path
    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @property
    def ca(self) -> Path:
        return self.folder / "ca.pem"

    def issue(self, *names: str, issuer: str | None = None) -> Path:
        """Return a PEM file with certificate and key for host names."""
        key = ec.generate_private_key(ec.SECP256R1())
        signer = self.key if issuer is None else ec.generate_private_key(ec.SECP256R1())
        by = self.certificate.subject if issuer is None else name_of(issuer)
        alternatives = x509.SubjectAlternativeName([x509.DNSName(name) for name in names])
        found = build(names[0], by, key).add_extension(alternatives, critical=False).sign(signer, hashes.SHA256())
        path = self.folder / f"{names[0].replace('*', '_')}-{found.serial_number}.pem"
        path.write_bytes(found.public_bytes(serialization.Encoding.PEM) + _private(key))
        return path


def name_of(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _private(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def build(subject: str, issuer: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    builder = x509.CertificateBuilder().subject_name(name_of(subject)).issuer_name(issuer).public_key(key.public_key())
    builder = builder.serial_number(x509.random_serial_number()).not_valid_before(now - datetime.timedelta(hours=1))
    return builder.not_valid_after(now + datetime.timedelta(days=1))


def reply(content: bytes) -> Script:
    """Read a request, send that, hang up."""

    def script(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(content)

    return script


def reset(connection: socket.socket) -> None:
    """Hang up with a TCP reset, as Envoy does when no filter chain matches."""
    connection.recv(1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def accept(listener: socket.socket, script: Script) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return  # the test is over
        with connection:
            script(connection)


@contextmanager
def origin_process(
    marker: str, *more: str, listen: str = "127.0.0.1", cert: Path | None = None
) -> Iterator[OriginProcess]:
    """Run an origin server as a process of its own, ready when the block begins and gone when it ends."""
    port = free_port()
    words = [sys.executable, "-m", "edgegate.components.origin_server", "--listen", f"{listen}:{port}"]
    certificate = ["--cert", str(cert)] if cert else []
    with subprocess.Popen([*words, "--marker", marker, *certificate, *more]) as process:
        probe = HttpProbe(listen.strip("[]"), "ready.example", port=port, tls=cert is not None)
        wait_until("origin server", lambda: probe.get().status, deadline=5.0)
        yield OriginProcess(process, port)
        process.kill()


def free_port() -> int:
    """Return a port of loopback on which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
    return port
