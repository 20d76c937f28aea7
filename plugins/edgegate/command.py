"""Run a command to its end. Arguments are a list and the environment is passed whole; there is no shell."""

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
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
        timeout: seconds after which it is killed, with all that it has started.
        stdin: text for its standard input; None means an empty one.
        check: raise when the status is not 0.

    Raises:
        CommandFailed: it could not be started, took too long, or `check` is on and its status is not 0.
    """
    words = [str(word) for word in argv]
    try:
        done = _follow(words, env, cwd, timeout, stdin or "")
    except OSError as refused:  # 127 and 126 are what a shell says
        status = 127 if isinstance(refused, FileNotFoundError) else 126
        raise CommandFailed(words, status=status, output=str(refused)) from refused
    except subprocess.TimeoutExpired as late:
        raise CommandFailed(words, status=-9, output=f"killed after {timeout:g} s") from late
    if check and done.status != 0:
        raise CommandFailed(words, status=done.status, output=done.stdout + done.stderr)
    return done


def _follow(words: list[str], env: Mapping[str, str] | None, cwd: Path | None, timeout: float, stdin: str) -> Completed:
    # A group of its own: a client that hangs has started helpers, as docker its plugins, and they outlive it.
    with subprocess.Popen(
        words,
        env=env,
        cwd=cwd,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
        process_group=0,
    ) as child:
        try:
            stdout, stderr = child.communicate(stdin, timeout)
        except BaseException:
            with suppress(ProcessLookupError):  # interrupted after its end
                os.killpg(child.pid, signal.SIGKILL)
            raise
    return Completed(argv=tuple(words), status=child.returncode, stdout=stdout, stderr=stderr)
