"""What the file system refuses, as an error that says what to do."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from edgegate.errors import NoRoomForLab

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_CLOSED = frozenset({errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOTDIR, errno.EEXIST})


def refused(error: OSError, folder: Path) -> bool:
    """Tell whether an error means that a folder cannot be written to."""
    if error.errno in _FULL:
        return True
    return error.errno in _CLOSED and str(error.filename or "").startswith(str(folder))


@contextmanager
def kept_in(folder: Path) -> Iterator[None]:
    """Translate what the file system refuses below a folder; every other error passes.

    Raises:
        NoRoomForLab: the folder cannot be written to, or its disk is full.
    """
    try:
        yield
    except OSError as error:
        if refused(error, folder):
            raise NoRoomForLab(folder, reason=str(error.strerror)) from error
        raise
