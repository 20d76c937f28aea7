"""Run a step of a build: its output goes to the build's log, and it ends when we end, `kill -9` included."""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from edgegate.command import Completed
from edgegate.errors import CommandFailed

_PR_SET_PDEATHSIG, _SIGKILL = 1, 9
# Run by a second interpreter and not by preexec_fn, which is unsafe beside the thread that draws progress.
_DIE_WITH_PARENT = (
    "import ctypes, os, sys\n"
    f"ctypes.CDLL(None).prctl({_PR_SET_PDEATHSIG}, {_SIGKILL}, 0, 0, 0)\n"
    "os.getppid() == int(sys.argv[1]) or os._exit(1)\n"
    "os.execvp(sys.argv[2], sys.argv[2:])\n"
)
_GRACE = 10.0
"""Seconds that an interrupted step has for its own clean-up."""


class Run(Protocol):
    """Runs one step to its end; tests pass one that only remembers."""

    def __call__(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: Path,
        log: Path,
        on_line: Callable[[str], None] | None = None,
    ) -> Completed:
        """Return how it ended.

        Args:
            argv: program and arguments.
            env: the whole environment.
            cwd: working directory.
            log: file that its output is added to.
            on_line: gets each line while it comes, from both outputs together; None keeps standard output apart.

        Raises:
            CommandFailed: its status is not 0.
        """
        ...


def run_step(
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path,
    log: Path,
    on_line: Callable[[str], None] | None = None,
) -> Completed:
    """Run a step of a build; see `Run`."""
    with log.open("a+", encoding="utf-8") as sink:
        sink.write(f"$ {' '.join(argv)}\n")
        sink.flush()
        begin = sink.tell()
        child = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _DIE_WITH_PARENT, str(os.getpid()), *argv],
            env=env,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=sink if on_line is None else subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        try:
            stdout = _follow(child, sink.write, on_line)
            status = child.wait()
        finally:
            _end(child)
        sink.flush()
        sink.seek(begin)
        written = sink.read()
    if status != 0:
        raise CommandFailed(list(argv), status=status, output=written)
    return Completed(argv=tuple(argv), status=status, stdout=stdout, stderr="" if on_line else written)


def _follow(
    child: "subprocess.Popen[str]", note: Callable[[str], object], on_line: Callable[[str], None] | None
) -> str:
    lines = []
    assert child.stdout is not None
    for line in child.stdout:
        lines.append(line)
        note(line)
        if on_line is not None:
            on_line(line.rstrip("\n"))
    return "".join(lines)


def _end(child: "subprocess.Popen[str]") -> None:
    if child.stdout is not None:
        child.stdout.close()
    if child.poll() is not None:
        return
    child.terminate()
    try:
        child.wait(_GRACE)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
