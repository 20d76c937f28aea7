"""Run a step of a build: its output goes to the build's log, and it ends when we end, `kill -9` included."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Protocol

from edgegate.command import Completed
from edgegate.errors import CommandFailed

_PR_SET_PDEATHSIG, _SIGKILL = 1, 9
_NOT_FOUND, _NO_PROGRAM = 127, "no such program"
# Run by a second interpreter and not by preexec_fn, which is unsafe beside the thread that draws progress.
_DIE_WITH_PARENT = (
    "import ctypes, os, sys\n"
    f"ctypes.CDLL(None).prctl({_PR_SET_PDEATHSIG}, {_SIGKILL}, 0, 0, 0)\n"
    "os.getppid() == int(sys.argv[1]) or os._exit(1)\n"
    "try: os.execvp(sys.argv[2], sys.argv[2:])\n"
    f"except FileNotFoundError: os.write(2, b'{_NO_PROGRAM}'); os._exit({_NOT_FOUND})\n"
)
_Child = subprocess.Popen[str]
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
            FileNotFoundError: there is no such program.
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
    with log.open("a+", encoding="utf-8", errors="replace") as sink:
        sink.write(f"$ {' '.join(argv)}\n")
        sink.flush()
        begin = sink.tell()
        status, stdout = _follow(argv, env, cwd, sink, on_line) if on_line else _capture(argv, env, cwd, sink)
        sink.flush()
        sink.seek(begin)
        written = sink.read()
        if status == _NOT_FOUND and written.startswith(_NO_PROGRAM):
            raise FileNotFoundError(argv[0])
        if status != 0:
            # Standard output of a command that is asked for data is worth a place in the log only when it failed.
            sink.write("" if on_line else stdout)
            raise CommandFailed(list(argv), status=status, output=written if on_line else stdout + written)
    return Completed(argv=tuple(argv), status=status, stdout=stdout, stderr="" if on_line else written)


def tied(argv: Sequence[str]) -> list[str]:
    """Return the words that run a command and kill it when the thread that has started it dies."""
    return [sys.executable, "-I", "-S", "-c", _DIE_WITH_PARENT, str(os.getpid()), *argv]


def _start(
    argv: Sequence[str], env: Mapping[str, str], cwd: Path, stdout: IO[str] | int, stderr: IO[str] | int
) -> _Child:
    return subprocess.Popen(
        tied(argv),
        env=env,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=stderr,
        text=True,
        errors="replace",
    )


def _follow(
    argv: Sequence[str], env: Mapping[str, str], cwd: Path, sink: IO[str], on_line: Callable[[str], None]
) -> tuple[int, str]:
    """Return status and output; both outputs go to the log together, line by line."""
    child = _start(argv, env, cwd, subprocess.PIPE, subprocess.STDOUT)
    assert child.stdout is not None
    lines = []
    try:
        for line in child.stdout:
            lines.append(line)
            sink.write(line)
            on_line(line.rstrip("\n"))
        child.wait()
    finally:
        _end(child)
    return child.returncode, "".join(lines)


def _capture(argv: Sequence[str], env: Mapping[str, str], cwd: Path, sink: IO[str]) -> tuple[int, str]:
    """Return status and standard output; the other output goes to the log."""
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output:
        child = _start(argv, env, cwd, output, sink)
        try:
            child.wait()
        finally:
            _end(child)
        output.seek(0)
        return child.returncode, output.read()


def _end(child: _Child) -> None:
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
