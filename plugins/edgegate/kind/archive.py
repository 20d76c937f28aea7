"""Write container images as files that `docker load` and `ctr images import` read, without a container engine."""

import hashlib
import io
import json
import shutil
import tarfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from edgegate.kind.tree import Tree

_BLOCK = 512
_PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True)
class Command:
    """What an image runs."""

    entry: tuple[str, ...] = ()
    """Its entry point; empty where whoever uses it names the program."""
    env: tuple[str, ...] = ()
    """Further environment, `NAME=value` each."""


@dataclass
class _Hashing:
    """A file that is written, and the digest of what was."""

    file: IO[bytes]
    digest: "hashlib._Hash" = field(default_factory=hashlib.sha256)
    size: int = 0

    def write(self, data: bytes) -> int:
        self.digest.update(data)
        self.size += len(data)
        return self.file.write(data)


def write(out: Path, tags: Sequence[str], tree: Tree, command: Command) -> str:
    """Write an image of one layer and return its id, `sha256:` and the digest of its configuration.

    The same content gives the same id: times are 0, owners root.
    """
    with out.open("wb") as file:
        with _entry(file, "layer.tar") as layer, _tar_to(layer) as content:
            tree.write(content)
        return _finish(file, tags, _config("sha256:" + layer.digest.hexdigest(), command), ["layer.tar"])


def rewrite(out: Path, tags: Sequence[str], config: bytes, layers: Iterable[IO[bytes]]) -> str:
    """Write an image of another archive anew, under names of ours, and return its id, which is what it was."""
    with out.open("wb") as file:
        names = []
        for number, layer in enumerate(layers):
            names.append(f"layer-{number}.tar")
            with _entry(file, names[-1]) as content:
                shutil.copyfileobj(layer, content, 1 << 20)
        return _finish(file, tags, config, names)


def _finish(file: IO[bytes], tags: Sequence[str], config: bytes, layers: Sequence[str]) -> str:
    name = hashlib.sha256(config).hexdigest()
    manifest = [{"Config": f"{name}.json", "RepoTags": list(tags), "Layers": list(layers)}]
    for path, data in ((f"{name}.json", config), ("manifest.json", json.dumps(manifest).encode())):
        with _entry(file, path) as entry:
            entry.write(data)
    file.write(b"\0" * 2 * _BLOCK)
    return f"sha256:{name}"


def _tar_to(layer: _Hashing) -> tarfile.TarFile:
    stream: Any = layer  # it is written to, never read or moved in
    return tarfile.open(fileobj=stream, mode="w|", format=tarfile.GNU_FORMAT, bufsize=1 << 20)


@contextmanager
def _entry(file: IO[bytes], path: str) -> Iterator[_Hashing]:
    """Write one file of an archive whose size is known at its end only: its header is written then."""
    start = file.tell()
    file.write(b"\0" * _BLOCK)
    content = _Hashing(file)
    yield content
    file.write(b"\0" * (-content.size % _BLOCK))
    end = file.tell()
    header = tarfile.TarInfo(path)
    header.size = content.size
    file.seek(start)
    file.write(header.tobuf(tarfile.GNU_FORMAT))
    file.seek(end)


def _config(layer: str, command: Command) -> bytes:
    run = {"Entrypoint": list(command.entry) or None, "Env": [_PATH, *command.env], "WorkingDir": "/"}
    content = {
        "architecture": "amd64",
        "os": "linux",
        "created": "1970-01-01T00:00:00Z",
        "config": run,
        "rootfs": {"type": "layers", "diff_ids": [layer]},
        "history": [{"created": "1970-01-01T00:00:00Z", "created_by": "edgegate"}],
    }
    return json.dumps(content).encode()


def read_id(archive: Path) -> str:
    """Return the id of an image that `write` wrote."""
    with tarfile.open(archive) as content:
        manifest = content.extractfile("manifest.json")
        assert manifest is not None
        (image,) = json.load(io.BytesIO(manifest.read()))
    return "sha256:" + str(image["Config"]).removesuffix(".json")
