"""May we make namespaces? And if not as we are: enter a user namespace in which we may."""

import fcntl
import os
from pathlib import Path

from edgegate import command
from edgegate.errors import SandboxNotPermitted
from edgegate.lab import syscalls

_SYS_ADMIN, _NET_ADMIN = 21, 12
_NS_GET_USERNS = 0xB701
_SETTINGS = (
    ("kernel.unprivileged_userns_clone", "0", "1"),
    ("kernel.apparmor_restrict_unprivileged_userns", "1", "0"),
    ("user.max_user_namespaces", "0", "10000"),
)
"""Settings that forbid user namespaces to ordinary users: name, value that forbids, value that permits."""


def ensure_privileges(launcher: int | None = None) -> None:
    """Make this process one that may make a lab; nothing happens when it is already.

    Otherwise it enters a user namespace where it is root, with a network namespace of its own, out of which nothing
    but its labs can be reached; so whatever must be fetched has to be there before. It must have one thread only.

    Args:
        launcher: the launcher of a kept lab; its namespaces are entered instead of new ones.

    Raises:
        SandboxNotPermitted: this is not possible; tells why and what would make it so.
    """
    if _may():
        return
    try:
        _enter_new() if launcher is None else _enter(launcher)
    except OSError as trouble:
        raise refused(str(trouble)) from trouble


def _may() -> bool:
    """Return whether we have the capabilities, over our network namespace too."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("CapEff"))
    effective = int(line.split()[1], 16)
    if not effective >> _SYS_ADMIN & 1 or not effective >> _NET_ADMIN & 1:
        return False
    descriptor = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:  # root of a user namespace only, in a network that belongs to a namespace further out, gets EPERM here
        os.close(fcntl.ioctl(descriptor, _NS_GET_USERNS))
    except PermissionError:
        return False
    finally:
        os.close(descriptor)
    return True


def _enter_new() -> None:
    uid, gid = os.geteuid(), os.getegid()
    syscalls.unshare(syscalls.CLONE_NEWUSER | syscalls.CLONE_NEWNET)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"0 {uid} 1")
    Path("/proc/self/gid_map").write_text(f"0 {gid} 1")
    command.run(["ip", "link", "set", "lo", "up"])


def _enter(launcher: int) -> None:
    descriptor = os.pidfd_open(launcher)
    try:
        syscalls.setns(descriptor, syscalls.CLONE_NEWUSER | syscalls.CLONE_NEWNET)
    finally:
        os.close(descriptor)


def refused(seen: str, *, root: Path = Path("/")) -> SandboxNotPermitted:
    """Return the error for what the kernel, or `unshare`, said; looks below `root` for what forbids it."""
    last = seen.strip().splitlines()[-1]
    if "nvalid argument" in last and _threads() > 1:
        return SandboxNotPermitted(
            f"{last}: this process has {_threads()} threads",
            fix="Run as root, or without what starts threads before the lab is made.",
        )
    for name, forbids, permits in _SETTINGS:
        file = root / "proc/sys" / name.replace(".", "/")
        if file.exists() and file.read_text().strip() == forbids:
            return SandboxNotPermitted(
                f"{last}: {name} is {forbids}", fix=f"Run as root, or `sysctl -w {name}={permits}` as root."
            )
    if (root / ".dockerenv").exists() or (root / "run/.containerenv").exists():
        return SandboxNotPermitted(
            f"{last}: this is a container without the permission",
            fix="Start the container with --privileged, or with --cap-add SYS_ADMIN --cap-add NET_ADMIN "
            "--security-opt seccomp=unconfined --security-opt apparmor=unconfined.",
        )
    return SandboxNotPermitted(last, fix="Run as root, or where ordinary users may make user namespaces.")


def _threads() -> int:
    return len(list(Path("/proc/self/task").iterdir()))
