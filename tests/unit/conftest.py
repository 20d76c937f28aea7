"""Real servers on loopback, each in a thread, and certificates for them."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from edgegate.components.origin_server import OriginServer
from servers import Authority, Script, Serve, accept, build, name_of


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """Return an authority that can issue certificates."""
    key = ec.generate_private_key(ec.SECP256R1())
    made = build("edgegate test authority", name_of("edgegate test authority"), key)
    certificate = made.add_extension(x509.BasicConstraints(True, None), critical=True).sign(key, hashes.SHA256())
    folder = tmp_path_factory.mktemp("authority")
    (folder / "ca.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    return Authority(folder, certificate, key)


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Return a factory of origin servers; all are gone after the test."""
    with ExitStack() as undo:

        def start(marker: str = "a", *, cert: Path | None = None, address: str = "127.0.0.1") -> OriginServer:
            server = undo.enter_context(OriginServer(address, 0, marker, cert=cert))
            thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
            thread.start()
            undo.callback(thread.join)
            undo.callback(server.shutdown)
            return server

        yield start


@pytest.fixture
def scripted() -> Iterator[Callable[[Script], int]]:
    """Return a function that serves a script to every connection on a new port, and returns the port."""
    with ExitStack() as undo:

        def start(script: Script) -> int:
            listener = undo.enter_context(socket.create_server(("127.0.0.1", 0)))
            thread = threading.Thread(target=accept, args=(listener, script))
            thread.start()
            undo.callback(thread.join)
            undo.callback(listener.shutdown, socket.SHUT_RDWR)
            port: int = listener.getsockname()[1]
            return port

        yield start
