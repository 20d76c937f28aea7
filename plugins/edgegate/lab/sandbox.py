"""Makes a lab: its namespaces, its supervisor, and the veth to its caller."""

import json
import os
import re
import shutil
import socket
import struct
import sys
from contextlib import ExitStack
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from edgegate.clock import wait_until
from edgegate.errors import CommandFailed, EdgegateError, LabGone, NeverReady, ToolMissing
from edgegate.lab import disk, memory, network, privileges, proc, record, registry
from edgegate.lab.control import Lab
from edgegate.lab.launcher import SOCKET, Order, environment, launch
from edgegate.lab.network import LabNet
from edgegate.lab.privileges import ensure_privileges
from edgegate.lab.record import SCHEMA, Record
from edgegate.lab.spec import Tools
from edgegate.lab.wire import Line, unwrap

__all__ = ["create", "ensure_privileges"]

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
    needs_mib: int = memory.NEEDS_MIB,
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
        ToolMissing: one of the programs is not there.
        LabExists, LabFolderForeign: the folder is not free.
        SandboxNotPermitted: namespaces are refused.
        SubnetTaken: no block of addresses is free.
        NoRoomForLab: the folder cannot be written to, or its disk is full.
    """
    order = Order(
        folder=folder.resolve(),
        name=name,
        tools=tools or Tools(),
        logs=(folder / "logs" if logs is None else logs).resolve(),
        keep=keep,
        fingerprint=fingerprint,
    )
    memory.require(needs_mib)
    _require_programs(order.tools)
    with disk.kept_in(order.folder), ExitStack() as undo:
        alive = registry.claim(order.folder, name)
        undo.callback(_clear, order.folder)
        try:
            order.logs.mkdir(parents=True, exist_ok=True, mode=0o700)
            lease = launch(order, alive)
        finally:
            os.close(alive)  # from now on it is locked as long as launcher or supervisor live
        undo.callback(lease.close)
        lab = _agree(order, lease)
        undo.pop_all()
    return lab


def _clear(folder: Path) -> None:
    """Undo a creation: whoever was started has seen its lease end; the folder goes after them."""
    wait_until(f"{folder} let go", lambda: not registry.alive(folder), deadline=_HELLO_WITHIN, every=0.005)
    registry.remove(folder)


def _agree(order: Order, lease: socket.socket) -> Lab:
    """Set the lab up together with its supervisor: each does what is to be done in its own namespaces."""
    lease.settimeout(_HELLO_WITHIN)
    line = Line(lease)
    try:
        hello, init_pid = _hello(lease, _setup(order))
        if hello is None:
            raise _stillborn(order)
        unwrap(hello)
        net = _lease_block(order, init_pid)
        made = _record(order, net, init_pid)
        record.write(order.folder, made)
        line.send({"n": net.n})
        answer = line.receive()
        if answer is None:
            raise ConnectionResetError("its supervisor ended")
        unwrap(answer)
    except OSError as trouble:
        if disk.refused(trouble, order.folder):
            raise
        raise LabGone(order.name, folder=order.folder, last=f"while it was set up: {trouble}") from trouble
    lease.settimeout(None)
    return Lab(order.folder, made, lease)


def _lease_block(order: Order, init_pid: int) -> LabNet:
    try:
        return network.lease(order.tools.ip, order.name, init_pid)
    except CommandFailed as trouble:
        try:  # was it `ip`, or was there no lab any more to connect?
            wait_until("end", lambda: proc.started(init_pid) is None, deadline=_DYING_WITHIN)
        except NeverReady:
            raise trouble from None
        raise ProcessLookupError("its supervisor ended") from trouble


_DYING_WITHIN = 0.5
"""Seconds in which a killed supervisor has its namespaces no more but still shows as a process."""


def _setup(order: Order) -> dict[str, Any]:
    private = "/run/edgegate/tmp"
    return {
        "folder": str(order.folder),
        "logs": str(order.logs),
        "keep": order.keep,
        "tools": asdict(order.tools),
        "env": {**environment(), "HOME": private, "TMPDIR": private},
    }


def _record(order: Order, net: LabNet, init_pid: int) -> Record:
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
        socket=SOCKET,
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


_REFUSAL = re.compile(r"^unshare: (unshare failed|.*mount.* failed)")
"""Not just any word of unshare: 2.38 says `sigprocmask unblock failed` when its child was killed."""


def _stillborn(order: Order) -> EdgegateError:
    """Return the error for a supervisor that never came up."""
    said = (order.logs / "supervisor.log").read_text().strip().splitlines()[-1:]
    if said and _REFUSAL.search(said[0]):
        return privileges.refused(said[0])
    return LabGone(order.name, folder=order.folder, last=": ".join(["its supervisor did not come up", *said]))


_CREDENTIALS = struct.Struct("iii")
"""struct ucred: process, user, group."""


def _version() -> str:
    try:
        return version("pytest-edgegate")
    except PackageNotFoundError:  # imported from a folder on PYTHONPATH
        return "unknown"


def _require_programs(tools: Tools) -> None:
    needed = {tools.ip: "iproute2", tools.unshare: "util-linux", tools.setsid: "util-linux"}
    for program, package in needed.items():
        if shutil.which(program) is None:
            raise ToolMissing(program, what="a lab", problem="not found on PATH", fix=f"Install {package}.")
