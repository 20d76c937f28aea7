"""Private mounts of one process: how bubblewrap is called for them."""

import os
from pathlib import Path

from edgegate.lab.spec import ProcessSpec, Tools

OWN = "/run"
"""Where the lab has a file system of its own, in which a mount point may be made."""


def wrapped(spec: ProcessSpec, tools: Tools, *, own: str = OWN) -> tuple[list[str], dict[str, str]]:
    """Return command and environment that run a process with its binds; the lab's files are otherwise as they are.

    Bubblewrap makes a mount point that is missing, and on a bound file system it would make it for good: a `/certs` on
    the user's machine. So the folder where it is missing is rebuilt as a tmpfs of its own, with the same entries in it.
    """
    targets = [
        os.path.realpath(bind.target) for bind in spec.binds
    ]  # bubblewrap does not follow links out of its new root
    words = [tools.bwrap, "--dev-bind", "/", "/"]
    for name in tools.bwrap_env:  # bubblewrap's own; the process has what its spec says
        words += ["--setenv", name, spec.env[name]] if name in spec.env else ["--unsetenv", name]
    for folder in sorted({parent for target in targets if (parent := _missing_in(target, own))}, key=len):
        words += _rebuilt(folder)
    for bind, target in zip(spec.binds, targets, strict=True):
        words += ["--ro-bind" if bind.read_only else "--bind", bind.source, target]
    return [*words, "--", *spec.argv], {**spec.env, **tools.bwrap_env}


def _missing_in(target: str, own: str) -> str | None:
    """Return the deepest folder that exists, when the target is missing and must not be made there."""
    path = Path(target)
    if path.exists() or path.is_relative_to(own):
        return None
    return str(next(parent for parent in path.parents if parent.exists()))


def _rebuilt(folder: str) -> list[str]:
    words = ["--tmpfs", folder]
    for entry in sorted(Path(folder).iterdir()):
        if entry.is_symlink():
            words += ["--symlink", str(entry.readlink()), str(entry)]
        else:
            words += ["--dev-bind-try", str(entry), str(entry)]  # it may be gone by then
    return words
