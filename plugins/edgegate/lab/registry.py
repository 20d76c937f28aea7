"""The labs of this user: one folder each, alive as long as its lock is held."""

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from edgegate.errors import LabExists, LabFolderForeign, LabForeign, LabGone, NoSuchLab
from edgegate.lab.control import Lab
from edgegate.lab.record import Record, read

_ALIVE = "alive"
"""A file that supervisor and launcher hold locked as long as they live, which no process id can promise."""


def labs(cache: Path) -> list[tuple[Path, Record]]:
    """Return the labs of a cache that are alive and that this version can use, each with its folder."""
    found = []
    for folder in _folders(cache):
        with suppress(NoSuchLab, LabForeign):  # NoSuchLab: one that is being made, or cleared away
            found += [(folder, read(folder))] if alive(folder) else []
    return found


def attach(folder: Path) -> Lab:
    """Return the lab of a folder; it holds no lease yet.

    Raises:
        NoSuchLab: there never was one, or it has been cleared away.
        LabGone: it has ended.
        LabForeign: another version of edgegate made it.
    """
    record = read(folder)
    if not alive(folder):
        raise LabGone(record.name, folder=folder, last="its supervisor has ended")
    lab = Lab(folder, record)
    lab.ping()
    return lab


def sweep(cache: Path) -> list[str]:
    """Remove the folders of labs that are gone; return their names."""
    if not (cache / "labs").is_dir():
        return []
    with _locked(cache / "labs"):
        stale = [folder for folder in _folders(cache) if _ours(folder) and not alive(folder)]
        for folder in stale:
            remove(folder)
    return [folder.name for folder in stale]


def _folders(cache: Path) -> list[Path]:
    root = cache / "labs"
    return sorted(folder for folder in root.iterdir() if folder.is_dir()) if root.is_dir() else []


def alive(folder: Path) -> bool:
    """Return whether the lab of a folder, or its creation, is going on."""
    try:
        descriptor = os.open(folder / _ALIVE, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def claim(folder: Path, name: str) -> int:
    """Make the folder of a new lab and return a descriptor that marks it alive while anybody has it open.

    A folder that a dead lab left is cleared first.

    Raises:
        LabExists: a lab is alive there.
        LabFolderForeign: the folder holds something that no lab made.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _locked(folder.parent):
        if alive(folder):
            raise LabExists(name, folder=folder)
        remove(folder)
        folder.mkdir(mode=0o700)
        descriptor = os.open(folder / _ALIVE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    return descriptor


def remove(folder: Path) -> None:
    """Remove the folder of a lab that is gone.

    Raises:
        LabFolderForeign: the folder holds something that no lab made.
    """
    if not folder.exists():
        return
    if not _ours(folder):
        raise LabFolderForeign(folder)
    for entry in [entry for entry in folder.iterdir() if entry.name != _ALIVE]:
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()
    (folder / _ALIVE).unlink(missing_ok=True)  # last, so that an interrupted removal can be taken up again
    folder.rmdir()


def _ours(folder: Path) -> bool:
    return (folder / _ALIVE).exists() or not any(folder.iterdir())


@contextmanager
def _locked(root: Path) -> Iterator[None]:
    descriptor = os.open(root / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
