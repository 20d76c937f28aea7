"""The machine as `edgegate doctor` looks at it; nothing here changes anything on it."""

import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from platform import machine

from edgegate import command
from edgegate.artifacts.store import free_disk_mib
from edgegate.command import Completed
from edgegate.errors import CommandFailed
from edgegate.pins import Pin

# Debian leaves the sbin folders out of an ordinary user's PATH.
_SBIN = "/usr/local/sbin:/usr/sbin:/sbin"


def search_path() -> str:
    """Return the folders where programs are looked for."""
    return f"{os.environ.get('PATH', os.defpath)}:{_SBIN}"


def which(program: str) -> str | None:
    """Return the path of a program, or None; a lab looks on PATH only, so what is in an sbin folder may be none."""
    return shutil.which(program)


def attempt(argv: Sequence[str]) -> Completed:
    """Run a short command and return how it ended, whatever that is."""
    try:
        return command.run(argv, env={"PATH": search_path(), "LC_ALL": "C.UTF-8"}, timeout=20, check=False)
    except CommandFailed as failed:
        return Completed(tuple(argv), failed.status, "", failed.output)


@dataclass(frozen=True)
class Machine:
    """What the checks ask; tests pass one that only claims to be a machine."""

    cache: Path
    """The store's root."""
    missing: Sequence[Pin] = ()
    """Pins of an edge whose artifacts are not in the store yet."""
    nft: Path | None = None
    """The pinned nft, where it is in the store already."""
    nft_env: dict[str, str] = field(default_factory=dict)
    """The environment that it needs."""
    root: Path = Path("/")
    """Where /proc, /sys and /etc are."""
    architecture: str = field(default_factory=machine)
    """As `uname -m` says."""
    is_root: bool = field(default_factory=lambda: os.geteuid() == 0)
    """Whether we are root."""
    attempt: Callable[[Sequence[str]], Completed] = attempt
    """Runs a short command to its end."""
    which: Callable[[str], str | None] = which
    """Finds a program."""
    go: Callable[[], str | None] = lambda: None
    """Tells the version of the go command on PATH."""
    free_mib: Callable[[Path], int] = free_disk_mib
    """Tells the free disk at a folder."""

    def read(self, path: str) -> str:
        """Return a file's text, or nothing when it cannot be read."""
        try:
            return (self.root / path).read_text(encoding="utf-8")
        except OSError:
            return ""

    def sandboxed(self, *argv: str) -> Completed:
        """Run a command in throw-away namespaces of the kinds that a lab has; they end with it."""
        user = [] if self.is_root else ["--user", "--map-root-user"]
        return self.attempt(["unshare", *user, "--net", "--mount", "--pid", "--fork", "--kill-child", *argv])
