"""The few system calls that Python 3.11 has no function for."""

import ctypes
import os

CLONE_NEWUSER = 0x10000000
CLONE_NEWNET = 0x40000000
MS_BIND = 4096
MS_REC = 16384
MS_NOSUID, MS_NODEV = 2, 4


def unshare(flags: int) -> None:
    """Move this process into new namespaces.

    Raises:
        OSError: the kernel refused; for a user namespace EINVAL means that the process has several threads.
    """
    _checked(_LIBC.unshare(flags))


def setns(descriptor: int, flags: int) -> None:
    """Move this process into the namespaces of a process that a pidfd stands for.

    Raises:
        OSError: the kernel refused.
    """
    _checked(_LIBC.setns(descriptor, flags))


def mount(source: str, target: str, kind: str = "", flags: int = 0, options: str = "") -> None:
    """Mount a file system, or bind a path to another.

    Raises:
        OSError: the kernel refused.
    """
    _checked(_LIBC.mount(source.encode(), target.encode(), kind.encode(), flags, options.encode()), target)


def _checked(result: int, *names: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), *names)


_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.mount.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_ulong, ctypes.c_char_p]
