"""One builder at a time: a lock that the kernel gives back when its holder dies."""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def locked(path: Path, waiting: Callable[[str], None]) -> Iterator[None]:
    """Hold the lock of a file; `waiting` is told the holder's process id when it is taken.

    The file stays: removing it would let a waiter and a newcomer lock two different files of one name.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting(_holder(path))
            fcntl.flock(file, fcntl.LOCK_EX)
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


@contextmanager
def unless_locked(path: Path) -> Iterator[bool]:
    """Hold the lock of a file if nobody else does, and tell whether that is so."""
    with path.open("a+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True


def _holder(path: Path) -> str:
    return path.read_text(encoding="utf-8") or "unknown"
