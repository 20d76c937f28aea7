"""One container: a process under bubblewrap with its own root, pid, ipc and uts namespaces, in the pod's network."""

import contextlib
import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from edgegate.clock import wait_until
from edgegate.errors import NeverReady, PodTrouble
from edgegate.lab.node.config import Tools

SHARED = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
"""Top-level folders that are links into /usr on current systems, and folders on older ones."""
ETC = ("passwd", "group", "nsswitch.conf", "ssl", "pki", "ca-certificates", "ld.so.cache", "localtime", "alternatives")
"""What programs need of /etc; everything else of the machine stays out of containers."""
EXEC_LIMIT = 5.0
"""Seconds from start to exec. Measured 5 ms; a machine that is out of memory takes longer."""
TAIL = 4096


@dataclass(frozen=True)
class Mount:
    """One file or folder that a container sees."""

    source: str
    """Path in the lab."""
    target: str
    """Path in the container."""
    read_only: bool = True
    """Whether writing is refused."""


@dataclass(frozen=True)
class Launch:
    """Everything a container is started with."""

    argv: tuple[str, ...]
    """Program and arguments."""
    env: Mapping[str, str]
    """Its whole environment."""
    mounts: tuple[Mount, ...]
    """What is put into its root, in this order."""
    log: Path
    """File that standard output and error are appended to."""
    netns: Path | None
    """Network namespace; None is the lab's own."""
    hostname: str
    """What it sees as its host name."""
    cwd: str = "/"
    """Working directory."""
    read_only_root: bool = False
    """Whether its root refuses writing outside of mounts."""
    dirs: tuple[str, ...] = field(default=("/var/tmp", "/run", "/root", "/home"))  # noqa: S108 - in its own root
    """Empty folders of its root."""


def root_options(launch: Launch) -> list[str]:
    """Return bubblewrap's options for a container's file system and namespaces."""
    words = ["--unshare-pid", "--as-pid-1", "--unshare-ipc", "--unshare-uts", "--hostname", launch.hostname]
    words += ["--die-with-parent", "--ro-bind", "/usr", "/usr", *_shared()]
    # What the machine's owner put into /usr/local is no part of any image, and images need a place for theirs.
    words += ["--tmpfs", "/usr/local", "--perms", "1777", "--dir", "/tmp"]  # noqa: S108 - its own
    for path in launch.dirs:
        words += ["--dir", path]
    words += ["--proc", "/proc", "--dev", "/dev", "--ro-bind", "/sys", "/sys"]
    for name in ETC:
        words += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    for mount in launch.mounts:
        words += ["--ro-bind" if mount.read_only else "--bind", mount.source, mount.target]
    if launch.cwd != "/":
        words += ["--dir", launch.cwd]
    if launch.read_only_root:
        words += ["--remount-ro", "/"]
    return [*words, "--chdir", launch.cwd]


def _shared() -> Iterator[str]:
    for name in SHARED:
        path = Path("/", name)
        if path.is_symlink():
            yield from ("--symlink", str(path.readlink()), str(path))
        elif path.is_dir():
            yield from ("--ro-bind", str(path), str(path))


def environment_options(env: Mapping[str, str], tools: Mapping[str, str]) -> list[str]:
    """Return the options that keep what bubblewrap itself needs in its environment out of the container's."""
    words: list[str] = []
    for key in tools:
        words += ["--setenv", key, env[key]] if key in env else ["--unsetenv", key]
    return words


class Process:
    """A container's process, from exec to exit."""

    def __init__(self, outer: "subprocess.Popen[bytes]", pid: int, launch: Launch, tools: Tools) -> None:
        self._outer, self._launch, self._tools = outer, launch, tools
        self.pid = pid
        """Its pid as the lab sees it; inside its own namespace it is 1."""
        try:
            self._handle = os.pidfd_open(pid)
        except ProcessLookupError:  # a command like `true` can be over by now
            self._handle = -1

    def wait(self) -> int:
        """Wait for the end and return the exit status, 128 + N when signal N ended it."""
        status = self._outer.wait()
        handle, self._handle = self._handle, -1
        if handle >= 0:
            os.close(handle)
        return status if status >= 0 else 128 - status

    def terminate(self) -> None:
        """Send SIGTERM; a process that has ended is fine."""
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL; with process 1 the kernel ends everything in the container."""
        self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(OSError):  # ESRCH: it has ended; EBADF: and was waited for
            signal.pidfd_send_signal(self._handle, number)

    def execute(self, argv: Sequence[str], timeout: float | None) -> tuple[int, str]:
        """Run a command in the container; return its status and output, status 124 when it took too long."""
        enter = [self._tools.nsenter, "--target", str(self.pid), "--mount", "--pid", "--net", "--uts", "--ipc"]
        with subprocess.Popen(
            [*enter, "--", *argv],
            env=dict(self._launch.env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as child:
            try:
                output, _ = child.communicate(timeout=timeout)
            except subprocess.TimeoutExpired:
                os.killpg(child.pid, signal.SIGKILL)
                output, _ = child.communicate()
                return 124, f"command timed out after {timeout:g} s; {output[-TAIL:].decode(errors='replace')}"
        return child.returncode, output[-TAIL:].decode(errors="replace")


class Runtime:
    """Starts containers.

    All are started by one thread that lives as long as the agent: `--die-with-parent` means the parent *thread*.
    """

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._parent = ThreadPoolExecutor(max_workers=1, thread_name_prefix="containers")

    def start(self, launch: Launch) -> Process:
        """Start a container; return once its own program runs.

        Raises:
            PodTrouble: RunContainerError; the program cannot be executed, or its root cannot be made.
        """
        return self._parent.submit(self._start, launch).result()

    def _start(self, launch: Launch) -> Process:
        said, says = os.pipe()
        with tempfile.TemporaryFile() as options, launch.log.open("ab") as log:
            words = root_options(launch) + environment_options(launch.env, self._tools.env)
            options.write("\0".join([*words, "--info-fd", str(says)]).encode() + b"\0")
            options.seek(0)
            enter = [self._tools.nsenter, f"--net={launch.netns}"] if launch.netns else []
            outer = subprocess.Popen(
                [*enter, self._tools.bwrap, "--args", str(options.fileno()), "--", *launch.argv],
                env={**launch.env, **self._tools.env},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(options.fileno(), says),
                start_new_session=True,
            )
        os.close(says)
        with os.fdopen(said, "rb") as answer:
            text = answer.read()
        if not text:
            outer.wait()
            raise PodTrouble("RunContainerError", _last_line(launch.log))
        return self._running(outer, json.loads(text)["child-pid"], launch)

    def _running(self, outer: "subprocess.Popen[bytes]", pid: int, launch: Launch) -> Process:
        """Wait for the exec, so that a command that is run in the container finds its final root."""
        setup, program = Path(self._tools.bwrap), Path(f"/proc/{pid}/exe")

        def executed() -> bool:
            try:
                return not program.samefile(setup)
            except OSError:  # it has ended already
                return outer.poll() is not None

        process = Process(outer, pid, launch, self._tools)
        try:
            wait_until(f"exec of {launch.argv[0]}", executed, deadline=EXEC_LIMIT, every=0.001)
        except NeverReady as trouble:
            outer.kill()
            outer.wait()
            raise PodTrouble("RunContainerError", _last_line(launch.log) or str(trouble)) from trouble
        if outer.poll() == 1 and (said := _last_line(launch.log)).startswith("bwrap: "):
            raise PodTrouble("RunContainerError", said)
        return process


def _last_line(log: Path) -> str:
    lines = tail(log).splitlines()
    return lines[-1] if lines else ""


def tail(log: Path, size: int = TAIL) -> str:
    """Return the end of a log file; empty when there is none."""
    try:
        with log.open("rb") as stream:
            stream.seek(max(0, stream.seek(0, os.SEEK_END) - size))
            return stream.read().decode(errors="replace")
    except FileNotFoundError:
        return ""
