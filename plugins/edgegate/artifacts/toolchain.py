"""Find a Go toolchain: the one on PATH if it is new enough, else the pinned wheel."""

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from edgegate.artifacts.job import Job
from edgegate.command import run
from edgegate.errors import CommandFailed, ToolMissing

OLDEST = "1.21"
"""Older ones cannot read a go line with three parts."""


@dataclass(frozen=True)
class Toolchain:
    """A go command."""

    path: Path
    """Where it is."""
    version: str
    """As in 1.26.8."""


def as_numbers(version: str) -> tuple[int, ...]:
    """Return a version as numbers to compare, `1.26rc1` as `1.26`."""
    return tuple(int(part) for part in re.findall(r"\d+", re.split(r"rc|beta|-", version)[0]))


def on_path(path: str | None) -> Toolchain | None:
    """Return the go command on a search path, or None when there is none that works."""
    found = shutil.which("go", path=path)
    if not found:
        return None
    try:
        said = run([found, "env", "GOVERSION"], env={"PATH": path or "", "GOTOOLCHAIN": "local", "HOME": "/"}).stdout
    except CommandFailed:
        return None
    return Toolchain(Path(found), said.strip().removeprefix("go"))


def find_go(job: Job, minimum: str | None) -> Toolchain:
    """Return a toolchain that is new enough.

    Raises:
        ToolMissing: the pinned one is too old as well.
    """
    least = minimum or OLDEST
    found = on_path(job.environ.get("PATH"))
    if found and as_numbers(found.version) >= as_numbers(least):
        return found
    pinned = job.helper("go")
    if as_numbers(pinned.version) < as_numbers(least):
        here = f"; on PATH is {found.version}" if found else ""
        raise ToolMissing(
            "go",
            what=job.what,
            problem=f"go {least} or newer is asked for, pins.toml has {pinned.version}{here}",
            fix="Raise the pin 'go' in pins.toml.",
        )
    return Toolchain(pinned.binary("go"), pinned.version)
