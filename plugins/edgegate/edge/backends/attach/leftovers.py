"""How a run's namespaces are known, and what runs that have died left behind."""

import fcntl
import logging
import os
import secrets
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO, Any

from edgegate.clusters.kinds import NAMESPACE, Ref
from edgegate.clusters.plane import ControlPlane, Manifest
from edgegate.edge.backends.attach.fence import Fence, below

_log = logging.getLogger("edgegate.edge")
RUN = "edgegate.dev/run"
"""Label: the run that has made a namespace."""
OWNER = "edgegate.dev/made-by"
"""Annotation: which cache that run has, by a random name; only there can be told whether it lives."""
FORGOTTEN = timedelta(days=1)
"""Age from which on anybody removes what a run with another cache has left."""


@dataclass
class Claim:
    """That a run lives, as a lock in the cache; it ends with its last process, however that ends."""

    run: str
    path: Path
    lock: IO[str]

    @classmethod
    def take(cls, cache: Path, run: str) -> "Claim":
        """Say that a run lives; its other processes do too."""
        path = folder_of(cache) / f"{run}.lock"
        while True:
            lock = path.open("w")
            fcntl.flock(lock, fcntl.LOCK_SH)
            if _is_at(path, lock):
                return cls(run, path, lock)
            lock.close()  # whoever held it alone has removed it

    @property
    def is_last(self) -> bool:
        """Tell whether no other process of the run lives. Then none can begin: its lock is held until `drop`."""
        return _locked(self.lock)

    def drop(self) -> None:
        """Say that this process leaves."""
        if self.is_last:
            self.path.unlink(missing_ok=True)
        self.lock.close()


def mark(cache: Path, run: str) -> dict[str, dict[str, str]]:
    """Return labels and annotations of a run's namespaces."""
    return {"labels": {RUN: run}, "annotations": {OWNER: _owner(cache)}}


def folder_of(cache: Path) -> Path:
    """Return where a cache keeps what it knows of attached edges."""
    folder = cache / "attached"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def forget_dead(cache: Path) -> None:
    """Remove the claims and folders of runs that have died."""
    folder = folder_of(cache)
    for path in folder.glob("*.lock"):
        with path.open("r+") as lock:
            if _locked(lock) and _is_at(path, lock):
                for left in folder.glob(f"{path.stem}.*.d"):
                    shutil.rmtree(left, ignore_errors=True)
                path.unlink()


def sweep_dead(planes: Iterable[ControlPlane], fence: Fence, cache: Path, within: float) -> list[str]:
    """Remove the namespaces of runs that have died, and return their names; those of others are told in the log.

    Raises:
        NeverReady: one did not go within that many seconds.
    """
    forget_dead(cache)
    planes, removed = list(planes), []
    for plane in planes:
        for found in plane.list(NAMESPACE, labels=RUN):
            name, run = found["metadata"]["name"], found["metadata"]["labels"][RUN]
            if not _is_dead(found, cache):
                _log.info("namespace %s of %s belongs to run %s, which may live", name, plane.name, run)
                continue
            fence.made.update((name, below(found)))
            removed.append(f"{name} of run {run}")
    if removed:
        _log.warning("removing what runs that have died left: %s", ", ".join(removed))
        _remove_all(planes, fence, within)
    return removed


def remove(planes: Iterable[ControlPlane], fence: Fence, within: float) -> None:
    """Delete every namespace that the run has made, and return when they are gone.

    Raises:
        NeverReady: one did not go within that many seconds; names its finalizers.
    """
    _remove_all(planes, fence, within)


def _remove_all(planes: Iterable[ControlPlane], fence: Fence, within: float) -> None:
    # The customers' side first: an operator takes away by itself what it has made for it.
    for plane in planes:
        here = {one["metadata"]["name"] for one in plane.list(NAMESPACE)} & fence.made
        plane.delete_and_wait(*(Ref(NAMESPACE, name) for name in sorted(here)), within=within)


def _is_dead(namespace: Manifest, cache: Path) -> bool:
    """Tell whether the run that made a namespace has ended: with our cache by its lock, else by its age."""
    metadata: Mapping[str, Any] = namespace["metadata"]
    if (metadata.get("annotations") or {}).get(OWNER) != _owner(cache):
        return datetime.now(UTC) - datetime.fromisoformat(metadata["creationTimestamp"]) > FORGOTTEN
    return not (folder_of(cache) / f"{metadata['labels'][RUN]}.lock").exists()


def _is_at(path: Path, file: IO[str]) -> bool:
    """Tell whether an open file is still the one at a path."""
    try:
        return os.path.samestat(path.stat(), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False


def _locked(lock: IO[str]) -> bool:
    """Take a lock for oneself alone, and tell whether that was possible."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _owner(cache: Path) -> str:
    """Return the name of a cache; it is made at first use, by whoever of several comes first."""
    with (folder_of(cache) / "name").open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        if not (name := file.read()):
            name = secrets.token_hex(8)
            file.write(name)
        return name
