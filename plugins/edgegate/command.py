"""Run a command to its end. Arguments are a list and the environment is passed whole; there is no shell."""

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from edgegate.errors import CommandFailed


@dataclass(frozen=True)
class Completed:
    """A command that has ended."""

    argv: tuple[str, ...]
    """What was run."""
    status: int
    """Its exit status; negative when a signal ended it."""
    stdout: str
    """What it wrote to standard output; bytes that are no text are shown as replacement characters."""
    stderr: str
    """What it wrote to standard error."""


def run(
    argv: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    timeout: float = 60.0,
    stdin: str | None = None,
    check: bool = True,
) -> Completed:
    """Run a command and return how it ended.

    Args:
        argv: program and arguments.
        env: the whole environment; None inherits ours.
        cwd: working directory.
        timeout: seconds after which it is killed.
        stdin: text for its standard input; None means an empty one.
        check: raise when the status is not 0.

    Raises:
        CommandFailed: it could not be started, took too long, or `check` is on and its status is not 0.
    """
    words = [str(word) for word in argv]
    try:
        done = subprocess.run(
            words,
            env=env,
            cwd=cwd,
            timeout=timeout,
            input=stdin or "",
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
    except OSError as refused:  # 127 and 126 are what a shell says
        status = 127 if isinstance(refused, FileNotFoundError) else 126
        raise CommandFailed(words, status=status, output=str(refused)) from refused
    except subprocess.TimeoutExpired as late:
        raise CommandFailed(words, status=-9, output=f"killed after {timeout:g} s") from late
    if check and done.returncode != 0:
        raise CommandFailed(words, status=done.returncode, output=done.stdout + done.stderr)
    return Completed(argv=tuple(words), status=done.returncode, stdout=done.stdout, stderr=done.stderr)
