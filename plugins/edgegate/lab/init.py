"""The supervisor of a lab: process 1 of its namespaces. When it ends, the kernel ends everything in them.

It is executed by the launcher with two inherited sockets: the creator's first lease, over which the set-up is
agreed, and the listening control socket.
"""

import argparse
import os
import select
import signal
import socket
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from edgegate.errors import EdgegateError
from edgegate.lab import network, record, syscalls
from edgegate.lab.children import Children
from edgegate.lab.leases import Leases
from edgegate.lab.network import LabNet
from edgegate.lab.server import Server
from edgegate.lab.spec import Tools
from edgegate.lab.table import ProcessTable
from edgegate.lab.wire import Line, failure

PRIVATE = Path("/run/edgegate")
"""The lab's own folder, on a tmpfs that goes with the lab."""


def main() -> None:
    """Set the lab up with its creator, then serve until nobody needs it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--lab", required=True, help="name, for whoever reads a process list")
    parser.add_argument("--lease", type=int, required=True)
    parser.add_argument("--listen", type=int, required=True)
    args = parser.parse_args()
    lease = Line(socket.socket(fileno=args.lease))
    setup = lease.receive()
    if setup is None:
        return
    try:
        _mounts([Path(setup["folder"]), Path(setup["logs"])])
        lease.send({"result": None})  # it carries our process id as the creator sees it
        agreed = lease.receive()
        if agreed is None:
            return
        network.configure_inside(setup["tools"]["ip"], LabNet(agreed["n"]))
    except (OSError, EdgegateError) as trouble:
        lease.send(failure(trouble, "set up"))
        return
    _Supervisor(setup).run(lease, socket.socket(fileno=args.listen))


class _Supervisor:
    def __init__(self, setup: Mapping[str, Any]) -> None:
        self._setup = setup
        self._ending = threading.Event()
        # A byte in this pair wakes the main thread: a child ended, a lease came or went, somebody asked for the end.
        self._woken, self._waker = socket.socketpair()
        self._woken.setblocking(False)
        self._waker.setblocking(False)
        self._children = Children()
        self._leases = Leases(self._wake, kept=setup["keep"])
        self._table = ProcessTable(self._children, Path(setup["logs"]), Tools(**setup["tools"]))

    def run(self, lease: Line, listener: socket.socket) -> None:
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._waker.fileno(), warn_on_full_buffer=False)
        server = Server(
            self._table, self._children, self._leases, env=self._setup["env"], keep=self._keep, down=self._down
        )
        lease.send({"result": None})
        server.attend(lease, leased=True)
        threading.Thread(target=server.serve, args=(listener,), daemon=True).start()
        while not self._ending.is_set() and self._leases.remaining() != 0:
            self._children.reap()
            select.select([self._woken], [], [], self._leases.remaining())
            self._drain()
        network.cut(self._setup["tools"]["ip"])
        os._exit(0)  # the kernel ends the rest; waiting for our threads would only delay it

    def _keep(self, flag: bool) -> None:
        self._leases.keep(flag)
        record.note_kept(Path(self._setup["folder"]), flag)

    def _down(self) -> None:
        self._ending.set()
        self._wake()

    def _wake(self) -> None:
        with suppress(BlockingIOError):  # it is full of wake-ups already
            self._waker.send(b"\0")

    def _drain(self) -> None:
        with suppress(BlockingIOError):
            while self._woken.recv(4096):
                pass


def _mounts(outside: list[Path]) -> None:
    """Give the lab a /run and a /sys of its own; what is needed of the old ones stays visible."""
    kept = [folder for folder in outside if folder.is_relative_to("/run")]
    held = [(folder, os.open(folder, os.O_PATH)) for folder in kept]
    syscalls.mount("tmpfs", "/run", "tmpfs", syscalls.MS_NOSUID | syscalls.MS_NODEV, "mode=755")
    for name in ("data", "tmp"):
        (PRIVATE / name).mkdir(parents=True, mode=0o700)
    for name in ("netns", "lock"):
        Path("/run", name).mkdir()
    for folder, descriptor in held:
        folder.mkdir(parents=True, exist_ok=True)
        syscalls.mount(f"/proc/self/fd/{descriptor}", str(folder), flags=syscalls.MS_BIND)
        os.close(descriptor)
    # The old one shows the interfaces of the caller. Containers with a masked /sys refuse a new one; then only
    # /sys/class/net is wrong in the lab, and `ip` is right.
    cgroups = os.open("/sys/fs/cgroup", os.O_PATH)
    with suppress(PermissionError):
        syscalls.mount("sysfs", "/sys", "sysfs", syscalls.MS_NOSUID | syscalls.MS_NODEV)
        syscalls.mount(f"/proc/self/fd/{cgroups}", "/sys/fs/cgroup", flags=syscalls.MS_BIND | syscalls.MS_REC)
    os.close(cgroups)


if __name__ == "__main__":
    main()
