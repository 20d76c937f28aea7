"""As much of a container registry as a Docker engine pulls from, served by a thread on loopback."""

import hashlib
import json
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
_CONFIG = "application/vnd.docker.container.image.v1+json"
_LAYER = "application/vnd.docker.image.rootfs.diff.tar"


class Registry:
    """Images by repository and tag, or by digest."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.manifests: dict[str, bytes] = {}
        self.blobs: dict[str, bytes] = {}

    def push(self, archive: Path, name: str) -> str:
        """Take an image from an archive of ours, as `repository:tag`, and return the digest of its manifest."""
        with tarfile.open(archive) as content:

            def read(member: str) -> bytes:
                found = content.extractfile(member)
                assert found is not None
                return found.read()

            (image,) = json.loads(read("manifest.json"))
            layers = [self._blob(read(layer), _LAYER) for layer in image["Layers"]]
            config = self._blob(read(image["Config"]), _CONFIG)
        made = {"schemaVersion": 2, "mediaType": _MANIFEST, "config": config, "layers": layers}
        text = json.dumps(made).encode()
        digest = f"sha256:{hashlib.sha256(text).hexdigest()}"
        repository, _, tag = name.rpartition(":")
        self.manifests |= {f"{repository}/{tag}": text, f"{repository}/{digest}": text}
        return digest

    def _blob(self, content: bytes, kind: str) -> dict[str, Any]:
        digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
        self.blobs[digest] = content
        return {"mediaType": kind, "size": len(content), "digest": digest}


class _Handler(BaseHTTPRequestHandler):
    registry: Registry
    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:
        """Tell of a manifest."""
        self._answer(body=False)

    def do_GET(self) -> None:
        """Give a manifest or a blob."""
        self._answer(body=True)

    def _answer(self, *, body: bool) -> None:
        content, kind = self._find(self.path.removeprefix("/v2/"))
        self.send_response(404 if content is None else 200)
        found = content or b""
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(found)))
        self.send_header("Docker-Distribution-Api-Version", "registry/2.0")
        self.send_header("Docker-Content-Digest", f"sha256:{hashlib.sha256(found).hexdigest()}")
        self.end_headers()
        if body:
            self.wfile.write(found)

    def _find(self, path: str) -> tuple[bytes | None, str]:
        repository, slash, name = path.rpartition("/blobs/")
        if slash:
            return self.registry.blobs.get(name), "application/octet-stream"
        repository, slash, name = path.rpartition("/manifests/")
        if slash:
            return self.registry.manifests.get(f"{repository}/{name}"), _MANIFEST
        return b"{}", "application/json"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class calls it that
        """Keep quiet."""


@contextmanager
def serve() -> Iterator[Registry]:
    """Serve a registry while the block runs. Engines take one on loopback without certificates."""

    class Handler(_Handler):
        """Of this registry alone."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Handler.registry = Registry(f"127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield Handler.registry
    finally:  # a test that fails must not leave a thread for which pytest waits
        server.shutdown()
        server.server_close()
        thread.join()
