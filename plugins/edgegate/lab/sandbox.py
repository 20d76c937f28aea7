"""Makes a lab: its namespaces, its supervisor, and the veth to its caller."""

import json
import os
import socket
import struct
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import edgegate
from edgegate.clock import wait_until
from edgegate.errors import EdgegateError, LabGone, NotEnoughMemory
from edgegate.lab import network, privileges, proc, record, registry
from edgegate.lab.control import Lab
from edgegate.lab.network import LabNet
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
    order = _Order(
        folder=folder.resolve(),
        name=name,
        tools=tools or Tools(),
        logs=(folder / "logs" if logs is None else logs).resolve(),
        keep=keep,
        fingerprint=fingerprint,
    )
    _require_memory(needs_mib)
    with ExitStack() as undo:
        alive = registry.claim(order.folder, name)
        undo.callback(_clear, order.folder)
        try:
            order.logs.mkdir(parents=True, exist_ok=True, mode=0o700)
            lease = _launch(order, alive)
        finally:
            os.close(alive)  # from now on it is locked as long as launcher or supervisor live
        undo.callback(lease.close)
        lab = _agree(order, lease)
        undo.pop_all()
    return lab


@dataclass(frozen=True)
class _Order:
    """What `create` was asked for."""

    folder: Path
    name: str
    tools: Tools
    logs: Path
    keep: bool
    fingerprint: str


def _clear(folder: Path) -> None:
    """Undo a creation: whoever was started has seen its lease end; the folder goes after them."""
    wait_until(f"{folder} let go", lambda: not registry.alive(folder), deadline=_HELLO_WITHIN, every=0.005)
    registry.remove(folder)


def _launch(order: _Order, alive: int) -> socket.socket:
    """Start launcher and supervisor and return our end of the first lease.

    The launcher is nobody's child and has a session of its own: neither a Ctrl-C in our terminal nor our end reaches
    it. The kernel kills the supervisor with it, and it ends with the supervisor.
    """
    ours, theirs = socket.socketpair()
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    tools = order.tools
    try:
        with theirs, _listener(order.folder) as listener, (order.logs / "supervisor.log").open("ab") as log:
            argv = [tools.setsid, "--fork", tools.unshare, *_NAMESPACES, sys.executable, "-P", "-S", "-m"]
            argv += ["edgegate.lab.init", "--lab", order.name, "--lease", str(theirs.fileno())]
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


def _agree(order: _Order, lease: socket.socket) -> Lab:
    """Set the lab up together with its supervisor: each does what is to be done in its own namespaces."""
    lease.settimeout(_HELLO_WITHIN)
    line = Line(lease)
    try:
        hello, init_pid = _hello(lease, _setup(order))
        if hello is None:
            raise _stillborn(order)
        unwrap(hello)
        net = network.lease(order.tools.ip, order.name, init_pid)
        made = _record(order, net, init_pid)
        record.write(order.folder, made)
        line.send({"n": net.n})
        answer = line.receive()
        if answer is None:
            raise ConnectionResetError("its supervisor ended")
        unwrap(answer)
    except OSError as trouble:
        raise LabGone(order.name, folder=order.folder, last=f"while it was set up: {trouble}") from trouble
    lease.settimeout(None)
    return Lab(order.folder, made, lease)


def _setup(order: _Order) -> dict[str, Any]:
    private = "/run/edgegate/tmp"
    return {
        "folder": str(order.folder),
        "logs": str(order.logs),
        "keep": order.keep,
        "ip": order.tools.ip,
        "bwrap": order.tools.bwrap,
        "env": {**_environment(), "HOME": private, "TMPDIR": private},
    }


def _record(order: _Order, net: LabNet, init_pid: int) -> Record:
    launcher_pid = proc.parent(init_pid)
    return Record(
        schema=SCHEMA,
        version=_version(),
        name=order.name,
        fingerprint=order.fingerprint,
        n=net.n,
        init_pid=init_pid,
        init_started=proc.started(init_pid),
        launcher_pid=launcher_pid,
        launcher_started=proc.started(launcher_pid),
        socket=_SOCKET,
        logs=str(order.logs),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        kept=order.keep,
        creator=f"{os.getpid()} {' '.join(sys.argv)}",
    )


def _hello(lease: socket.socket, setup: dict[str, Any]) -> tuple[dict[str, Any] | None, int]:
    """Return the supervisor's first answer, None when it never came up, and its process id.

    The kernel puts the id in with the answer, translated from the lab's pid namespace to ours.
    """
    try:
        Line(lease).send(setup)
        content, ancillary, _, _ = lease.recvmsg(1 << 16, socket.CMSG_SPACE(_CREDENTIALS.size))
    except ConnectionError:  # it ended before it had read what we sent
        return None, 0
    if not content:
        return None, 0
    pid, _, _ = _CREDENTIALS.unpack(ancillary[0][2])
    return json.loads(content), pid


def _stillborn(order: _Order) -> EdgegateError:
    """Return the error for a supervisor that never came up."""
    said = (order.logs / "supervisor.log").read_text().strip().splitlines()[-1:]
    if said and said[0].startswith(f"{Path(order.tools.unshare).name}:"):
        return privileges.refused(said[0])
    return LabGone(order.name, folder=order.folder, last=": ".join(["its supervisor did not come up", *said]))


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
