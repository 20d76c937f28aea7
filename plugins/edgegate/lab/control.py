"""A lab as its users hold it: every call is a request to the supervisor."""

import base64
import os
import shutil
import signal
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from edgegate.clock import wait_until
from edgegate.command import Completed
from edgegate.errors import CommandFailed, LabGone, ToolMissing
from edgegate.lab import network, proc
from edgegate.lab.network import LabNet
from edgegate.lab.record import Record
from edgegate.lab.spec import ProcessSpec, ProcessStatus, Tools
from edgegate.lab.wire import Line, unwrap
from edgegate.records import Usage

DOWN_WITHIN = 5.0
"""Seconds after which `down` calls a lab stuck; measured: 0.1 s."""
_PATIENCE = 30.0
"""Seconds that an answer may take beyond what was asked for."""
_DOWN_ANSWER = 1.0
"""Seconds for the answer to `down`, which comes before anything is done."""


class Lab:
    """One lab. Safe to use from several threads: each request has a connection of its own."""

    def __init__(self, folder: Path, record: Record, lease: socket.socket | None = None) -> None:
        self.folder = folder
        """The lab's folder: logs, control socket, lab.json."""
        self.record = record
        """What lab.json said when the lab was found."""
        self.name = record.name
        """Name of the lab."""
        self.net = LabNet(record.n)
        """Its addresses."""
        self.init_pid = record.init_pid
        """The supervisor as seen from outside."""
        self.data = "/run/edgegate/data"
        """A folder on a tmpfs that goes with the lab; the path is valid inside only."""
        self._lease = lease

    def start(self, spec: ProcessSpec) -> None:
        """Start a process and return when it is ready.

        Raises:
            AlreadyRunning: one of that name runs.
            PortTaken: somebody else listens at its address.
            ComponentExited: it ended before it was ready; with its last log lines.
            NeverReady: its limit passed; it has been killed.
        """
        self._ask("start", spec=spec.to_json(), patience=spec.ready.limit if spec.ready else 0)

    def stop(self, name: str) -> None:
        """Stop a process and return when its whole group is gone. Raises UnknownProcess."""
        self._ask("stop", name=name, patience=60)

    def restart(self, name: str) -> None:
        """Stop a process and start it again; raises what `start` does, and UnknownProcess."""
        self._ask("restart", name=name, patience=600)

    def kill(self, name: str) -> None:
        """Kill a process as a crash would. Raises UnknownProcess."""
        self._ask("kill", name=name)

    def pause(self, name: str) -> None:
        """Freeze a process. Raises UnknownProcess."""
        self._ask("pause", name=name)

    def resume(self, name: str) -> None:
        """Let a frozen process go on. Raises UnknownProcess."""
        self._ask("resume", name=name)

    def look(self, name: str) -> str:
        """Look once whether a process answers as it did when it was ready; return what is wrong, nothing when it does.

        Raises:
            UnknownProcess: there is none of that name.
        """
        return str(self._ask("look", name=name))

    def remove(self, name: str) -> None:
        """Stop a process and forget it; its log stays. Raises UnknownProcess."""
        self._ask("remove", name=name, patience=60)

    def status(self) -> list[ProcessStatus]:
        """Return the process table, in the order of the first start."""
        return [ProcessStatus(**line) for line in self._ask("status")]

    def usage(self) -> list[Usage]:
        """Return what each of its processes uses, the largest first; those without a name in brackets."""
        return sorted((Usage(**line) for line in self._ask("usage")), key=lambda one: -one.memory_mib)

    def run(
        self, argv: Sequence[str], env: Mapping[str, str] | None = None, timeout: float = 60, check: bool = True
    ) -> Completed:
        """Run a command inside the lab and return how it ended; `env` None means the supervisor's plain one.

        Raises:
            CommandFailed: it could not be executed, took too long, or `check` is on and its status is not 0.
        """
        words = [str(word) for word in argv]
        told = self._ask("run", argv=words, env=None if env is None else dict(env), timeout=timeout, patience=timeout)
        if check and told["status"] != 0:
            raise CommandFailed(words, status=told["status"], output=told["stdout"] + told["stderr"])
        return Completed(argv=tuple(words), **told)

    def put(self, path: str, content: bytes, mode: int = 0o600) -> None:
        """Write a file inside the lab; readers see the old one or the new one."""
        self._ask("put", path=path, content=base64.b64encode(content).decode(), mode=mode)

    def get(self, path: str) -> bytes:
        """Return the content of a file inside the lab. Raises LabRequestFailed when it cannot be read."""
        return base64.b64decode(self._ask("get", path=path))

    def log(self, name: str) -> Path:
        """Return the path of a process's log, valid outside the lab."""
        return Path(self.record.logs) / f"{name}.log"

    def ping(self) -> None:
        """Return if the supervisor answers. Raises LabGone otherwise."""
        self._ask("ping")

    def leases(self) -> tuple[int, bool]:
        """Return how many hold the lab, and whether it lives without any."""
        told = self._ask("leases")
        return told["count"], told["kept"]

    def lease(self) -> None:
        """Hold the lab: it does not end before this process has released it, or has died. Raises LabGone."""
        if self._lease is not None:
            return
        try:
            self._lease = self._connect()
            line = Line(self._lease)
            line.send({"op": "lease"})
            held = line.receive() is not None
        except OSError as trouble:
            self.release()
            raise self._lost(str(trouble)) from trouble
        if not held:
            self.release()
            raise self._lost("its supervisor ended during 'lease'")

    def release(self) -> None:
        """Give the lease back; a lab that is not kept ends 2 s after its last one."""
        if self._lease is not None:
            self._lease.close()
            self._lease = None

    def keep(self, flag: bool) -> None:
        """Say whether the lab shall live without a lease."""
        self._ask("keep", flag=flag)

    def down(self) -> None:
        """End the lab and return when its processes and its interface are gone.

        A supervisor that does not answer is killed, and the kernel does the rest.

        Raises:
            NeverReady: something of it is still there after 5 s.
        """
        try:
            self._ask("down", patience=_DOWN_ANSWER - _PATIENCE)
        except LabGone:
            if proc.runs(self.init_pid, self.record.init_started):
                os.kill(self.init_pid, signal.SIGKILL)
        self.release()
        wait_until(f"lab {self.name} gone", self._gone, deadline=DOWN_WITHIN, last=self._rest, every=0.005)

    def _gone(self) -> bool:
        return not self._rest()

    def _rest(self) -> str:
        made = self.record
        parts = {made.launcher_pid: made.launcher_started, made.init_pid: made.init_started}
        rest = [f"process {pid}" for pid, start in parts.items() if proc.runs(pid, start)]
        if network.exists(self.net):
            rest.append(f"interface {self.net.interface}")
        return ", ".join(rest)

    def _ask(self, request: str, *, patience: float = 0, **fields: Any) -> Any:
        try:
            connection = self._connect()
            connection.settimeout(patience + _PATIENCE)
            with connection:
                line = Line(connection)
                line.send({"op": request, **fields})
                answer = line.receive()
        except TimeoutError:
            raise self._lost(f"its supervisor did not answer '{request}' within {patience + _PATIENCE:g} s") from None
        except OSError as trouble:
            raise self._lost(str(trouble)) from trouble
        if answer is None:
            raise self._lost(f"its supervisor ended during '{request}'")
        return unwrap(answer)

    def _connect(self) -> socket.socket:
        """Connect by way of a descriptor of the folder: a socket's path may have 107 bytes only."""
        folder = os.open(self.folder, os.O_PATH | os.O_CLOEXEC)
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.connect(f"/proc/self/fd/{folder}/{self.record.socket}")
        except BaseException:
            connection.close()
            raise
        finally:
            os.close(folder)
        return connection

    def _lost(self, last: str) -> LabGone:
        try:
            said = self.log("supervisor").read_text().strip().splitlines()
        except OSError:  # its folder has been cleared away
            said = []
        # unshare 2.38 complains about a mask of signals whenever its child was killed; that tells nobody anything.
        telling = [line for line in said if not line.startswith("unshare: sigprocmask")]
        return LabGone(self.name, folder=self.folder, last=": ".join([last, *telling[-1:]]))


def enter_argv(lab: Lab, tools: Tools) -> list[str]:
    """Return the beginning of a command line that runs what follows inside a lab, with our terminal.

    Raises:
        LabGone: the lab has ended.
        ToolMissing: there is no `nsenter`.
    """
    if shutil.which(tools.nsenter) is None:
        problem, fix = "not found on PATH", "Install util-linux."
        raise ToolMissing(tools.nsenter, what="a command inside a lab", problem=problem, fix=fix)
    words = [tools.nsenter, "--target", str(lab.init_pid), "--pid", "--net", "--mount"]
    try:
        same = Path("/proc/self/ns/user").readlink() == Path(f"/proc/{lab.init_pid}/ns/user").readlink()
    except FileNotFoundError:
        raise LabGone(lab.name, folder=lab.folder, last="its supervisor has ended") from None
    return [*words, *(() if same else ("--user", "--preserve-credentials")), "--"]
