"""Makes a lab: its namespaces, its supervisor, and the veth to its caller."""

import json
import os
import socket
import struct
import subprocess
import sys
from contextlib import ExitStack
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import edgegate
from edgegate.clock import wait_until
from edgegate.errors import NotEnoughMemory
from edgegate.lab import network, privileges, record, registry
from edgegate.lab.control import Lab
from edgegate.lab.looks import stat
from edgegate.lab.privileges import ensure_privileges
from edgegate.lab.record import SCHEMA, Record
from edgegate.lab.spec import Tools
from edgegate.lab.wire import Line, unwrap

__all__ = ["NEEDS_MIB", "create", "ensure_privileges"]

NEEDS_MIB = 3072
"""MiB that an entire edge takes when it idles."""
_SOCKET = "control"
_HELLO_WITHIN = 20.0
"""Seconds for the namespaces and the supervisor to be there; measured: 0.15 s."""


def create(
    folder: Path,
    name: str,
    *,
    tools: Tools | None = None,
    keep: bool = False,
    logs: Path | None = None,
    fingerprint: str = "",
    needs_mib: int = NEEDS_MIB,
) -> Lab:
    """Make a lab and return it with its first lease held.

    Args:
        folder: the lab's own; made, or cleared when a dead lab left it.
        name: for people and for choosing a block of addresses.
        tools: the programs to make it with.
        keep: whether it lives without a lease.
        logs: where logs go; given, they outlive the lab. None means `logs` in its folder.
        fingerprint: what it is made from, for whoever wants to use it again.
        needs_mib: memory that must be available.

    Raises:
        NotEnoughMemory: less is available.
        LabExists, LabFolderForeign: the folder is not free.
        SandboxNotPermitted: namespaces are refused.
        SubnetTaken: no block of addresses is free.
    """
    tools = tools or Tools()
    folder = folder.resolve()
    logs = folder / "logs" if logs is None else logs.resolve()
    _require_memory(needs_mib)
    with ExitStack() as undo:
        alive = registry.claim(folder, name)
        undo.callback(_clear, folder)
        try:
            logs.mkdir(parents=True, exist_ok=True, mode=0o700)
            lease = _launch(folder, name, tools, logs, alive)
        finally:
            os.close(alive)  # from now on it is locked as long as launcher or supervisor live
        undo.callback(lease.close)
        lab = _agree(lease, folder, name, tools, logs, keep, fingerprint)
        undo.pop_all()
    return lab


def _clear(folder: Path) -> None:
    """Undo a creation: whoever was started has seen its lease end; the folder goes after them."""
    wait_until(f"{folder} let go", lambda: not registry.alive(folder), deadline=_HELLO_WITHIN, every=0.005)
    registry.remove(folder)


def _launch(folder: Path, name: str, tools: Tools, logs: Path, alive: int) -> socket.socket:
    """Start launcher and supervisor and return our end of the first lease.

    The launcher is nobody's child and has a session of its own: neither a Ctrl-C in our terminal nor our end reaches
    it. The kernel kills the supervisor with it, and it ends with the supervisor.
    """
    ours, theirs = socket.socketpair()
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    try:
        with theirs, _listener(folder) as listener, (logs / "supervisor.log").open("ab") as log:
            argv = [tools.setsid, "--fork", tools.unshare, *_NAMESPACES, sys.executable, "-P", "-S", "-m"]
            argv += ["edgegate.lab.init", "--lab", name, "--lease", str(theirs.fileno())]
            subprocess.run(
                [*argv, "--listen", str(listener.fileno())],
                env=_environment(),
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(theirs.fileno(), listener.fileno(), alive),
                check=True,
            )
    except BaseException:
        ours.close()
        raise
    return ours


_NAMESPACES = ("--pid", "--net", "--mount", "--fork", "--kill-child", "--mount-proc", "--propagation", "private")


def _listener(folder: Path) -> socket.socket:
    """Return the control socket, listening.

    It is made here and inherited, because a socket made in the lab would be one of the lab's network namespace.
    """
    listener = socket.socket(socket.AF_UNIX)
    below = os.open(folder, os.O_PATH | os.O_CLOEXEC)
    try:
        listener.bind(f"/proc/self/fd/{below}/{_SOCKET}")  # short, however long the path of the folder is
    finally:
        os.close(below)
    (folder / _SOCKET).chmod(0o600)
    listener.listen(64)
    return listener


def _agree(
    lease: socket.socket, folder: Path, name: str, tools: Tools, logs: Path, keep: bool, fingerprint: str
) -> Lab:
    lease.settimeout(_HELLO_WITHIN)
    line = Line(lease)
    env = {**_environment(), "HOME": "/run/edgegate/tmp", "TMPDIR": "/run/edgegate/tmp"}
    line.send(
        {"folder": str(folder), "logs": str(logs), "keep": keep, "ip": tools.ip, "bwrap": tools.bwrap, "env": env}
    )
    hello, init_pid = _hello(lease)
    if hello is None:
        raise privileges.refused((logs / "supervisor.log").read_text())
    unwrap(hello)
    net = network.lease(tools.ip, name, init_pid)
    made = Record(
        schema=SCHEMA,
        version=_version(),
        name=name,
        fingerprint=fingerprint,
        n=net.n,
        init_pid=init_pid,
        init_started=int(stat(init_pid)[19]),
        launcher_pid=int(stat(init_pid)[1]),
        socket=_SOCKET,
        logs=str(logs),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        kept=keep,
        creator=f"{os.getpid()} {' '.join(sys.argv)}",
    )
    record.write(folder, made)
    line.send({"n": net.n})
    unwrap(line.receive() or {})
    lease.settimeout(None)
    return Lab(folder, made, lease)


def _hello(lease: socket.socket) -> tuple[dict[str, Any] | None, int]:
    """Return the supervisor's first message, and its process id as the kernel translates it for us."""
    content, ancillary, _, _ = lease.recvmsg(1 << 16, socket.CMSG_SPACE(_CREDENTIALS.size))
    if not content:
        return None, 0
    pid, _, _ = _CREDENTIALS.unpack(ancillary[0][2])
    return json.loads(content), pid


_CREDENTIALS = struct.Struct("iii")
"""struct ucred: process, user, group."""


def _environment() -> dict[str, str]:
    """Return what the supervisor and commands in the lab get: nothing of ours but where programs are."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "PYTHONPATH": str(Path(edgegate.__file__).parents[1]),
        "LANG": "C.UTF-8",
    }


def _version() -> str:
    try:
        return version("pytest-edgegate")
    except PackageNotFoundError:  # imported from a folder on PYTHONPATH
        return "unknown"


def _require_memory(needs_mib: int) -> None:
    words = next(line for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("MemAvailable"))
    has_mib = int(words.split()[1]) // 1024
    if has_mib < needs_mib:
        raise NotEnoughMemory(needs_mib=needs_mib, has_mib=has_mib)
