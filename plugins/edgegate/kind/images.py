"""Make the node image and the components' images from the store, once for what they are made of."""

import errno
import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from edgegate import command
from edgegate.artifacts import Artifact, Progress
from edgegate.artifacts.lock import locked
from edgegate.artifacts.store import free_disk_mib
from edgegate.errors import CacheNotWritable, CommandFailed, NotEnoughDisk
from edgegate.kind import archive, system
from edgegate.kind.archive import Command
from edgegate.kind.content import import_images
from edgegate.kind.tree import Tree
from edgegate.pins import Pins

NODE_PINS = ("kubernetes", "kubernetes-node", "etcd", "coredns", "pause", "kind", "node-base")
"""The pins that the node image is made of."""
COMPONENT_PINS = ("envoy", "envoy-gateway", "coredns", "acmesolver")
"""The pins that become images of their own where they are among the artifacts."""
_NEEDS_MIB = 3000
"""Free disk that the largest image needs while it is made: its parts, what containerd unpacks, the archive."""
_CODE = ("archive.py", "content.py", "images.py", "system.py", "tree.py")


@dataclass(frozen=True)
class Image:
    """An image as a file."""

    name: str
    """What it is called in messages: `node`, or a pin."""
    tags: tuple[str, ...]
    """Its references; the first one is what nodes and pods name."""
    id: str
    """Digest of its configuration, `sha256:` first: what an engine says that a container runs."""
    path: Path
    """The archive."""
    source: str = ""
    """Reference and digest by which a registry knows it; empty where it was made here."""


def tags(pins: Pins, artifact: Artifact) -> list[str]:
    """Return the references by which pods name a component's image: those of its pin, as in the host lab."""
    return [
        f"{repository}:{form.format(artifact.version)}"
        for repository in pins.pin(artifact.name).images
        for form in ("v{}", "distroless-v{}")
    ]


@dataclass(frozen=True)
class Images:
    """Makes images, and keeps them in the cache."""

    cache: Path
    """The user's cache."""
    artifacts: Mapping[str, Artifact]
    """What they are made of, by pin."""
    progress: Progress
    """Who listens."""

    def node(self) -> Image:
        """Return the node image; it is made first where it is not there.

        Raises:
            CommandFailed: a program that helps to make it failed.
        """
        version = self.artifacts["kubernetes-node"].version
        return self._made("node", (f"edgegate.local/node:v{version}",), NODE_PINS, self._make_node, Command(
            entry=("/usr/local/bin/before-entrypoint", "/sbin/init"), env=("container=docker",)
        ))  # fmt: skip

    def component(self, pin: str, tags: Sequence[str]) -> Image:
        """Return the image of one component; it is made first where it is not there. Raises as `node`."""
        artifact = self.artifacts[pin]
        program = f"/usr/local/bin/{pin}"

        def make(scratch: Path, tree: Tree) -> None:
            _program(tree, program, artifact.binary(pin), self._system)

        return self._made(pin, tuple(tags), (pin, "node-base"), make, Command(entry=(program,)))

    @property
    def _system(self) -> Path:
        return self.artifacts["node-base"].path / "files"

    def _made(
        self,
        name: str,
        tags: tuple[str, ...],
        pins: Iterable[str],
        make: Callable[[Path, Tree], None],
        run: Command,
    ) -> Image:
        made_of = [*(self.artifacts[pin].path.name for pin in pins), *tags, str(run), _code()]
        key = hashlib.sha256("\0".join(made_of).encode()).hexdigest()[:16]
        place = self.cache / "images" / f"{name}-{key}.tar"

        def write(out: Path, scratch: Path) -> None:
            tree = Tree()
            self.progress.step(f"image {name}", "assembling")
            make(scratch, tree)
            self.progress.step(f"image {name}", "writing")
            archive.write(out, tags, tree, run)

        return self.kept(name, tags, place, write)

    def kept(self, name: str, tags: tuple[str, ...], place: Path, write: Callable[[Path, Path], None]) -> Image:
        """Return the image of an archive in the cache; where it is not there, `write` makes it, given a scratch folder.

        Raises:
            NotEnoughDisk, CacheNotWritable: as said; nothing half stays.
        """
        if not place.exists() or os.access(place.parent, os.W_OK):  # a read-only cache is enough where all is made
            with _told(name, place):
                self._ensure(name, place, write)
        return Image(name, tags, archive.read_id(place), place)

    def _ensure(self, name: str, place: Path, write: Callable[[Path, Path], None]) -> None:
        """Have an archive; whoever else makes it is waited for."""
        place.parent.mkdir(parents=True, exist_ok=True)
        with locked(place.with_suffix(".lock"), lambda pid: self.progress.say(f"waiting for process {pid}: {name}")):
            if not place.exists():
                began = time.monotonic()
                with _scratch(place) as scratch:
                    write(scratch / "image.tar", scratch)
                    (scratch / "image.tar").rename(place)
                self.progress.done(f"image {name}", time.monotonic() - began)
                _forget_older(place, name)
        os.utime(place)

    def _make_node(self, scratch: Path, tree: Tree) -> None:
        node = self.artifacts["kubernetes-node"]
        wanted = self._wanted_images(node)
        pause = next(image for image in wanted if "/pause:" in image)
        kind = self.artifacts["kind"].file("images/base/files")
        system.add(tree, self._system, kind, version=node.version, pause=pause)
        for program in ("kubeadm", "kubelet", "kubectl"):
            tree.file(f"usr/bin/{program}", node.binary(program), 0o755)
        archives = [self._control_plane_image(scratch, image) for image in wanted]
        self.progress.step("image node", "importing the control plane's images")
        content = scratch / "containerd"
        import_images(self.artifacts["node-base"], archives, into=content, scratch=scratch)
        tree.copy(content, "var/lib/containerd")

    @staticmethod
    def _wanted_images(node: Artifact) -> list[str]:
        """Return the images that kubeadm wants, with the tags that it wants."""
        words = [str(node.binary("kubeadm")), "config", "images", "list", "--kubernetes-version", f"v{node.version}"]
        return command.run(words, env={"HOME": "/nonexistent"}).stdout.split()

    def _control_plane_image(self, scratch: Path, image: str) -> Path:
        name = image.rpartition("/")[2].partition(":")[0]
        out = scratch / f"{name}.tar"
        pin = {"kube-scheduler": "kubernetes-node", "etcd": "etcd", "coredns": "coredns", "pause": "pause"}
        program = self.artifacts[pin.get(name, "kubernetes")].binary(name)
        tree = Tree()
        path = f"/{name}" if name in ("coredns", "pause") else f"/usr/local/bin/{name}"
        _program(tree, path, program, self._system)
        if name == "kube-proxy":
            _program(tree, "/usr/sbin/nft", self._system / "usr/sbin/nft", self._system)
        archive.write(out, [image], tree, Command(entry=(path,) if name in ("coredns", "pause") else ()))
        return out


def _program(tree: Tree, path: str, program: Path, packages: Path) -> None:
    """Add a program with the shared libraries that it needs, taken from Debian packages."""
    tree.folder("tmp", 0o1777)
    tree.folder("etc")
    tree.file(path, program, 0o755)
    folders = [packages / "lib/x86_64-linux-gnu", packages / "usr/lib/x86_64-linux-gnu"]
    environment = {"LD_LIBRARY_PATH": ":".join(map(str, folders)), "PATH": "/usr/bin:/bin"}
    # A static program has no libraries, which ldd tells by its status.
    said = command.run(["ldd", str(program)], env=environment, check=False).stdout
    names = [line.split()[0] for line in said.splitlines() if "=>" in line]
    for name in names:
        found = next((folder / name for folder in folders if (folder / name).exists()), None)
        if found is None:
            raise CommandFailed(["ldd", str(program)], status=1, output=f"{name} is in no pinned package\n{said}")
        tree.file(f"usr/lib/x86_64-linux-gnu/{name}", found)
    if names:
        tree.file("usr/lib64/ld-linux-x86-64.so.2", packages / "lib/x86_64-linux-gnu/ld-linux-x86-64.so.2")
    tree.merge_usr()


def _code() -> str:
    folder = Path(__file__).parent
    return hashlib.sha256(b"\0".join((folder / name).read_bytes() for name in _CODE)).hexdigest()


@contextmanager
def _told(name: str, place: Path) -> Iterator[None]:
    """Translate what a disk says. Raises NotEnoughDisk and CacheNotWritable."""
    try:
        yield
    except OSError as refused:
        where = place.parent
        if refused.errno == errno.ENOSPC:
            has = free_disk_mib(where)
            raise NotEnoughDisk(f"image {name}", needs_mib=_NEEDS_MIB, has_mib=has, where=where) from refused
        if refused.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise CacheNotWritable(f"image {name}", where=where, reason=str(refused.strerror)) from refused
        raise


@contextmanager
def _scratch(place: Path) -> Iterator[Path]:
    for left in place.parent.glob(f".{place.stem}.*"):  # a killed one; we hold the lock
        shutil.rmtree(left, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix=f".{place.stem}.", dir=place.parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _forget_older(place: Path, name: str) -> None:
    """Keep the three archives of an image that were used last; a node image is 0.8 GB."""
    length = len(place.stem) - len(name)
    same = [file for file in place.parent.glob(f"{name}-*.tar") if len(file.stem) == len(name) + length]
    for old in sorted(same, key=lambda file: file.stat().st_mtime, reverse=True)[3:]:
        old.unlink(missing_ok=True)
