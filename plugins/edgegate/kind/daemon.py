"""A Docker engine of our own, for a machine where none runs: own data, own socket, own bridge, nothing left behind.

It never gets `--bridge none`: that removes the bridge of an engine that runs beside it (seen once). It writes no
firewall rules; nodes reach each other and the machine without any.
"""

import contextlib
import fcntl
import ipaddress
import json
import os
import shutil
import signal
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from edgegate import command
from edgegate.artifacts import Artifact
from edgegate.clock import wait_until
from edgegate.errors import CommandFailed, EngineFolderForeign, EngineInTheWay, EngineNotPossible
from edgegate.kind.runtime import missing_capabilities, write_wrapper

BRIDGE = "edged0"
_BRIDGE_ADDRESS = "10.213.0.1/24"
_POOL = ipaddress.IPv4Network("10.214.0.0/16")
_SYSCTLS = {
    "net.ipv4.ip_forward": "1",
    # Each node has a systemd, a containerd and a kubelet that watch files; 128 is what many systems offer.
    "fs.inotify.max_user_instances": "1024",
}
_CHANGED_BY_NODES = ("vm.overcommit_memory", "kernel.panic", "kernel.panic_on_oops")
"""What a kubelet sets on the machine, as no namespace holds it."""
_ANSWERS_WITHIN = 30.0
_ENDS_WITHIN = 60.0
_OWNED = "edgegate-engine"
"""File in a folder that an engine of ours has made: no other folder is ever removed."""


@dataclass(frozen=True)
class Daemon:
    """One engine in a folder."""

    folder: Path
    """Its own: data, socket, log, and what has to be put back."""

    @property
    def host(self) -> str:
        """What DOCKER_HOST has to be."""
        return f"unix://{self.folder}/docker.sock"

    @property
    def _pid(self) -> int | None:
        try:
            pid = int((self.folder / "pid").read_text())
            # After a restart of the machine another engine may have the number: ours names this very file.
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            return pid if f"--pidfile={self.folder}/pid".encode() in words else None
        except (OSError, ValueError):
            return None

    def start(self, engine: Artifact) -> None:
        """Start it and return when it answers; one that runs already is left alone. Needs root.

        Raises:
            EngineFolderForeign: the folder holds something else.
            EngineInTheWay: the bridge belongs to another one of ours.
            EngineNotPossible: what it needs of the machine cannot be had.
            NeverReady, CommandFailed: it does not come up; nothing of it is left then.
        """
        if self._pid is not None:
            return
        if self._foreign():
            raise EngineFolderForeign(self.folder)
        if Path(f"/sys/class/net/{BRIDGE}").exists() and not (self.folder / "before.json").exists():
            raise EngineInTheWay(BRIDGE, _folder_of_another())
        if os.geteuid() != 0:
            raise EngineNotPossible(self.folder, "it needs root. Run it as root, or start Docker as your system has it")
        kept = (self.folder / _OWNED).exists()
        try:
            with self._alone():
                if self._pid is None:  # nobody else has started it meanwhile
                    self._start(engine)
        except OSError as refused:
            self.stop(keep_data=kept)
            why = f"{refused.strerror}: {refused.filename}. Make it writable, or name another folder: --data DIR"
            raise EngineNotPossible(self.folder, why) from refused
        except BaseException:  # Ctrl-C too
            self.stop(keep_data=kept)
            raise

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Hold the lock of the folder itself, which leaves no file behind."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(self.folder, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def _foreign(self) -> bool:
        """Tell whether there is something at its place that no engine of ours has made."""
        if not self.folder.is_dir():
            return self.folder.exists()
        ours = any((self.folder / name).exists() for name in (_OWNED, "before.json"))
        return not ours and any(self.folder.iterdir())

    def _start(self, engine: Artifact) -> None:
        self.folder.mkdir(exist_ok=True, mode=0o700)  # another one's failed start removes it
        (self.folder / _OWNED).touch()
        self._note_before()
        for name, value in _SYSCTLS.items():
            _write_sysctl(name, value)
        self._bridge()
        words, environment = self._words(engine), self._environment(engine)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        files = [
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(self.folder / "log"), flags, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ]
        # It outlives us, which an object of `subprocess` would complain about.
        pid = os.posix_spawn(words[0], words, environment, file_actions=files, setsid=True)
        try:
            wait_until(
                "our Docker engine answers",
                lambda: self._answers(engine),
                deadline=_ANSWERS_WITHIN,
                failed=lambda: self._ended(words, pid),
                every=0.1,
            )
        except BaseException:  # Ctrl-C too
            _end(pid)
            raise

    @staticmethod
    def _bridge() -> None:
        command.run(["ip", "link", "add", BRIDGE, "type", "bridge"], check=False)
        command.run(["ip", "addr", "replace", _BRIDGE_ADDRESS, "dev", BRIDGE])
        command.run(["ip", "link", "set", BRIDGE, "up"])

    def _note_before(self) -> None:
        note = self.folder / "before.json"
        if not note.exists():
            names = [*_SYSCTLS, *_CHANGED_BY_NODES]
            note.write_text(json.dumps({name: _sysctl(name).read_text().strip() for name in names}))

    def _words(self, engine: Artifact) -> list[str]:
        words = [
            str(engine.binary("dockerd")),
            f"--data-root={self.folder}/data",
            f"--exec-root={self.folder}/exec",
            f"--host={self.host}",
            f"--pidfile={self.folder}/pid",
            f"--bridge={BRIDGE}",
            "--iptables=false",
            "--ip6tables=false",
            f"--default-address-pool=base={_POOL},size=24",
        ]
        missing = missing_capabilities(Path("/proc/self/status").read_text())
        if missing:
            wrapper = write_wrapper(self.folder / "runc", engine.binary("runc"), missing)
            words += [f"--add-runtime=edgegate={wrapper}", "--default-runtime=edgegate"]
        return words

    def _environment(self, engine: Artifact) -> dict[str, str]:
        links = self.folder / "links"
        links.mkdir(exist_ok=True)
        programs = engine.path / "files/usr/sbin"
        for family in ("iptables", "ip6tables"):  # the package leaves these names to its maintainer scripts
            for verb in ("", "-save", "-restore"):
                link = links / f"{family}{verb}"
                link.unlink(missing_ok=True)
                link.symlink_to(programs / f"{family}-nft{verb}")
        folders = [links, engine.path / "files/usr/bin", programs, "/usr/sbin", "/usr/bin", "/sbin", "/bin"]
        return {
            **engine.env,
            "PATH": ":".join(map(str, folders)),
            "XTABLES_LIBDIR": str(engine.path / "files/usr/lib/x86_64-linux-gnu/xtables"),
            "HOME": str(self.folder),
        }

    def _answers(self, engine: Artifact) -> bool:
        environment = {"PATH": os.defpath, "HOME": str(self.folder), "DOCKER_HOST": self.host, **engine.env}
        return command.run([str(engine.binary("docker")), "version"], env=environment, check=False).status == 0

    def _ended(self, words: list[str], pid: int) -> CommandFailed | None:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if not ended:
            return None
        tail = (self.folder / "log").read_text(errors="replace")[-3000:]
        return CommandFailed(words, status=os.waitstatus_to_exitcode(status), output=tail)

    def stop(self, *, keep_data: bool = False) -> None:
        """Stop it, with every container that it runs, and put back what was changed; nothing runs: nothing happens.

        Raises:
            EngineFolderForeign: the folder holds something that no engine of ours has made.
            EngineNotPossible: we are not root.
            NeverReady: it does not end.
        """
        if self._foreign():
            raise EngineFolderForeign(self.folder)
        pid, note = self._pid, self.folder / "before.json"
        if os.geteuid() != 0 and (pid is not None or note.exists()):
            raise EngineNotPossible(self.folder, "it needs root, as its start did", verb="stopped")
        if pid is not None:
            os.kill(pid, signal.SIGTERM)
            wait_until("our Docker engine ends", lambda: self._pid is None, deadline=_ENDS_WITHIN, every=0.1)
        if note.exists():
            _put_back(note)
        if not keep_data:
            _remove(self.folder)


def _folder_of_another() -> Path | None:
    """Return the folder of a running engine that has our bridge; None when none runs."""
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            words = entry.read_bytes().decode(errors="replace").split("\0")
            if f"--bridge={BRIDGE}" in words:
                return next(
                    (Path(word.partition("=")[2]).parent for word in words if word.startswith("--pidfile=")), None
                )
    return None


def _put_back(note: Path) -> None:
    """Put back what an engine that has ended had changed on the machine, by its note, and remove the note."""
    for bridge in (BRIDGE, *_left_bridges(command.run(["ip", "-json", "-4", "address"], check=False).stdout)):
        command.run(["ip", "link", "del", bridge], check=False)
    before: Mapping[str, str] = json.loads(note.read_text())
    for name, value in before.items():
        _write_sysctl(name, value)
    for group in Path("/sys/fs/cgroup").glob("*/docker"):
        with contextlib.suppress(OSError):  # another engine's containers are in it
            group.rmdir()
    note.unlink()


def _left_bridges(addresses: str) -> list[str]:
    """Return the bridges of Docker networks with addresses of our pool: an engine that ends leaves them behind.

    Args:
        addresses: what `ip -json -4 address` has said.
    """
    return [
        link["ifname"]
        for link in json.loads(addresses or "[]")
        if link["ifname"].startswith("br-")
        and any(ipaddress.ip_address(one["local"]) in _POOL for one in link["addr_info"])
    ]


def _end(pid: int) -> None:
    """End an engine that we have started and that has not come up; one that has ended is fine."""
    with contextlib.suppress(ProcessLookupError, ChildProcessError):
        os.kill(pid, signal.SIGTERM)
        wait_until("our Docker engine ends", lambda: os.waitpid(pid, os.WNOHANG)[0], deadline=_ENDS_WITHIN, every=0.1)


def _remove(folder: Path) -> None:
    """Remove an engine's folder; the kernel may hold a mount of it for a moment after its end."""
    ends = time.monotonic() + 10

    def gone() -> bool:
        shutil.rmtree(folder, ignore_errors=True)
        return not folder.exists() or time.monotonic() > ends

    wait_until(f"{folder} removed", gone, deadline=15.0, every=0.5)


def _sysctl(name: str) -> Path:
    return Path("/proc/sys") / name.replace(".", "/")


def _write_sysctl(name: str, value: str) -> None:
    if _sysctl(name).read_text().strip() != value:
        _sysctl(name).write_text(value)
