"""Starts the two processes that a lab stands on: the launcher, and in its namespaces the supervisor."""

import os
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import edgegate
from edgegate.lab.spec import Tools

SOCKET = "control"
"""File name of the control socket in the lab's folder."""


@dataclass(frozen=True)
class Order:
    """What a new lab shall be."""

    folder: Path
    """Its own folder, which exists."""
    name: str
    """Its name."""
    tools: Tools
    """The programs to make it with."""
    logs: Path
    """Folder of its logs, which exists."""
    keep: bool
    """Whether it lives without a lease."""
    fingerprint: str
    """What it is made from."""


def launch(order: Order, alive: int) -> socket.socket:
    """Start launcher and supervisor and return our end of the first lease.

    The launcher is nobody's child and has a session of its own: neither a Ctrl-C in our terminal nor our end reaches
    it. The kernel kills the supervisor with it, and it ends with the supervisor.

    Args:
        order: the lab to be made.
        alive: a descriptor that both keep open as long as they live.
    """
    ours, theirs = socket.socketpair()
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    tools = order.tools
    try:
        with theirs, _listener(order.folder) as listener, (order.logs / "supervisor.log").open("ab") as log:
            # -S: the supervisor needs the standard library only, and is up 20 ms sooner without site packages.
            argv = [tools.setsid, "--fork", tools.unshare, *_NAMESPACES, sys.executable, "-P", "-S", "-m"]
            argv += ["edgegate.lab.init", "--lab", order.name, "--lease", str(theirs.fileno())]
            subprocess.run(
                [*argv, "--listen", str(listener.fileno())],
                env=environment(),
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
        listener.bind(f"/proc/self/fd/{below}/{SOCKET}")  # short, however long the path of the folder is
    finally:
        os.close(below)
    (folder / SOCKET).chmod(0o600)
    listener.listen(64)
    return listener


def environment() -> dict[str, str]:
    """Return what the supervisor and commands in the lab get: nothing of ours but where programs and libraries are."""
    found = {"PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8"}
    if "LD_LIBRARY_PATH" in os.environ:  # our own interpreter may need it
        found["LD_LIBRARY_PATH"] = os.environ["LD_LIBRARY_PATH"]
    return {**found, "PYTHONPATH": str(Path(edgegate.__file__).parents[1])}
