"""The store: each pinned version once, built under a lock, published whole, found again by what it was made from."""

import errno
import hashlib
import json
import os
import platform
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType

from edgegate.artifacts import deb, gomod, wheel
from edgegate.artifacts.artifact import LOG, Artifact, Manifest
from edgegate.artifacts.job import Job, Made
from edgegate.artifacts.lock import locked, unless_locked
from edgegate.artifacts.process import Run, run_step
from edgegate.artifacts.progress import QUIET, Progress
from edgegate.errors import CacheNotWritable, NotEnoughDisk
from edgegate.pins import GoRecipe, Pin, Pins, Selection
from edgegate.resources import resource

MIB = 1024 * 1024
_PART = ".part"
_PER_VERSION = ("packages", "sums")
_YOUNG = ("requires",)
"""Keys that came later: a pin without one has the digest that it had before, and is not compiled anew."""


@dataclass(frozen=True)
class Builder:
    """How the artifacts of one source come about."""

    recipe: int
    """Version of the builder, part of every key."""
    make: Callable[[Job], Made]
    """Fills the job's folder, or raises an ArtifactFault."""


BUILDERS: Mapping[str, Builder] = MappingProxyType(
    {
        "go": Builder(gomod.RECIPE, gomod.make),
        "pypi": Builder(wheel.RECIPE, wheel.make),
        "deb": Builder(deb.RECIPE, deb.make),
    }
)


class Store:
    """The artifacts of one user, outside every project."""

    def __init__(
        self,
        root: Path | None = None,
        *,
        runner: Run = run_step,
        builders: Mapping[str, Builder] = BUILDERS,
        free_mib: Callable[[Path], int] | None = None,
    ) -> None:
        """Open a store; nothing is written before something is built.

        Args:
            root: its folder; None is $EDGEGATE_CACHE, else ~/.cache/edgegate.
            runner: runs the commands of builders.
            builders: source to builder.
            free_mib: tells the free disk at a folder, in MiB.
        """
        chosen = root or Path(os.environ.get("EDGEGATE_CACHE") or Path.home() / ".cache" / "edgegate")
        self.root = chosen.expanduser().absolute()
        self._runner, self._builders, self._free_mib = runner, builders, free_mib or free_disk_mib

    def find(self, pins: Pins, name: str, version: str) -> Artifact | None:
        """Return an artifact that is there, or None.

        Raises:
            UnknownComponent: no pin has that name.
            UnknownVersion: the pin does not have that version.
        """
        return Artifact.open(self._place(pins.pin(name), version))

    def ensure(self, pins: Pins, name: str, version: str, progress: Progress = QUIET) -> Artifact:
        """Return an artifact, and make it first when it is not there.

        Raises:
            UnknownComponent: no pin has that name.
            UnknownVersion: the pin does not have that version.
            ArtifactFault: it could not be had or built; nothing half-made stays.
        """
        pin = pins.pin(name)
        place = self._place(pin, version)
        return Artifact.open(place) or self._make_locked(pins, pin, version, place, progress)

    def ensure_all(
        self, pins: Pins, selection: Selection, names: Iterable[str], progress: Progress = QUIET
    ) -> dict[str, Artifact]:
        """Return the artifacts of several components in their selected versions; see `ensure`."""
        wanted = [(name, selection.version(name)) for name in names]
        return {artifact.name: artifact for artifact in self.ensure_each(pins, wanted, progress)}

    def ensure_each(self, pins: Pins, wanted: Sequence[tuple[str, str]], progress: Progress = QUIET) -> list[Artifact]:
        """Return the artifact of each name and version, in their order; see `ensure`."""
        missing = [(name, version) for name, version in wanted if self.find(pins, name, version) is None]
        for number, (name, version) in enumerate(missing, start=1):
            progress.say(f"{number} of {len(missing)}: {name} {version}")
            self.ensure(pins, name, version, progress)
        return [self.ensure(pins, name, version, progress) for name, version in wanted]

    def _place(self, pin: Pin, version: str) -> Path:
        return self.root / "store" / f"{pin.name}-{pin.check(version)}-{self.key(pin, version)[:16]}"

    def key(self, pin: Pin, version: str) -> str:
        """Return the digest of everything that decides what an artifact is."""
        return _digest(self._ingredients(pin, version))

    def _ingredients(self, pin: Pin, version: str) -> dict[str, object]:
        """Return what goes into the key.

        The Go toolchain does not: its choice changes no behaviour that a gate looks at, a newer one on PATH must not
        cost twenty minutes of compiling, and a machine without Go has to find what was copied to it. It is recorded.
        """
        recipe = pin.recipe
        parts: dict[str, object] = {
            "source": pin.source,
            "builder": self._builders[pin.source].recipe,
            "version": version,
            "digest": pin.digests.get(version),
            "recipe": {
                # A version's own part only, so that a further version of the pin changes no old key.
                key: value.get(version) if key in _PER_VERSION else value
                for key, value in asdict(recipe).items()
                if value or key not in _YOUNG
            },
            "machine": platform.machine(),
        }
        if isinstance(recipe, GoRecipe) and recipe.native:
            folder = resource(f"native/{recipe.native}")
            parts["native"] = {file.name: wheel.file_digest(file) for file in gomod.sources(folder)}
        return parts

    def _make_locked(self, pins: Pins, pin: Pin, version: str, place: Path, progress: Progress) -> Artifact:
        what = f"{pin.name} {version}"

        def waiting(holder: str) -> None:
            progress.say(f"waiting for another edgegate (pid {holder}) that builds {what}")

        with self._translated(pin, version):
            place.parent.mkdir(parents=True, exist_ok=True)
            with locked(self._lock(place.name), waiting):
                found = Artifact.open(place)
                return found or self._make(pins, pin, version, place, progress)

    @contextmanager
    def _translated(self, pin: Pin, version: str) -> Iterator[None]:
        """Turn what the file system refuses into errors that say what to do."""
        try:
            yield
        except OSError as error:
            what = f"{pin.name} {version}"
            if error.errno == errno.ENOSPC:
                raise self._no_space(pin, version) from error
            if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST):
                raise CacheNotWritable(what, where=self.root, reason=str(error.strerror)) from error
            raise

    def _no_space(self, pin: Pin, version: str) -> NotEnoughDisk:
        has = self._free_mib(self.root)
        return NotEnoughDisk(f"{pin.name} {version}", needs_mib=pin.disk_mib, has_mib=has, where=self.root)

    def _make(self, pins: Pins, pin: Pin, version: str, place: Path, progress: Progress) -> Artifact:
        if self._free_mib(self.root) < pin.disk_mib:
            raise self._no_space(pin, version)
        self._sweep()
        part = place.with_name(place.name + _PART)
        log = self.root / "logs" / f"{place.name}.log"
        log.parent.mkdir(exist_ok=True)
        log.unlink(missing_ok=True)
        begin = time.monotonic()
        try:
            job = self._job(pins, pin, version, part, log, progress)
            made = self._builders[pin.source].make(job)
            seconds = time.monotonic() - begin
            self._write(job, made, seconds)
            # Only what a newer or older edgegate cannot read is there still; it holds the same files.
            shutil.rmtree(place, ignore_errors=True)
            artifact = _publish(job.into, place)
        finally:
            shutil.rmtree(part, ignore_errors=True)
        progress.done(job.what, seconds)
        return artifact

    def _job(self, pins: Pins, pin: Pin, version: str, part: Path, log: Path, progress: Progress) -> Job:
        # What a killed build left is ours alone, because we hold its lock.
        shutil.rmtree(part, ignore_errors=True)
        into, scratch = part / "artifact", part / "scratch"
        into.mkdir(parents=True)
        scratch.mkdir()
        return Job(
            pin=pin,
            version=version,
            into=into,
            scratch=scratch,
            root=self.root,
            log=log,
            progress=progress,
            runner=self._runner,
            no_space=lambda: self._no_space(pin, version),
            helper=lambda name: self.ensure(pins, name, pins.pin(name).default, progress),
        )

    def _write(self, job: Job, made: Made, seconds: float) -> None:
        for name, path in made.binaries.items():
            if not (job.into / path).is_file():
                raise job.failed(f"the binary '{name}' is not at '{path}', as [pin.{job.pin.name}.binaries] says")
            (job.into / path).chmod(0o755)
        manifest = Manifest(
            name=job.pin.name,
            version=job.version,
            binaries=dict(made.binaries),
            libraries=made.libraries,
            built_with=made.built_with,
            seconds=round(seconds, 1),
            recipe=self._ingredients(job.pin, job.version),
        )
        if job.log.exists():
            shutil.copyfile(job.log, job.into / LOG)
        Artifact(job.into, manifest).write()

    def _sweep(self) -> None:
        """Remove what killed builds of other versions left."""
        for part in (self.root / "store").glob(f"*{_PART}"):
            with unless_locked(self._lock(part.name.removesuffix(_PART))) as ours:
                if ours:
                    shutil.rmtree(part, ignore_errors=True)

    def _lock(self, name: str) -> Path:
        """Return the lock of an artifact. It belongs to the real store, because caches may share one."""
        return (self.root / "store").resolve().parent / "locks" / f"{name}.lock"


def free_disk_mib(folder: Path) -> int:
    """Return the free disk at a folder, or at the nearest one above it that exists, in MiB."""
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free // MIB


def _digest(parts: Mapping[str, object]) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


def _publish(folder: Path, place: Path) -> Artifact:
    """Give a complete folder its final name; a crash before or after leaves no half artifact, of the disk neither."""
    for path in [*folder.rglob("*"), folder]:
        if not path.is_symlink():
            _sync(path)
    folder.rename(place)
    _sync(place.parent)
    found = Artifact.open(place)
    assert found is not None
    return found


def _sync(path: Path) -> None:
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
