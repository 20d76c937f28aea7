"""Builds in processes of their own: killed, interrupted, two at once, and what stays behind."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import slow_build
from edgegate import pins
from edgegate.artifacts import Store
from edgegate.artifacts.job import Job, Made
from edgegate.artifacts.process import run_step
from edgegate.artifacts.store import Builder
from edgegate.clock import wait_until
from edgegate.errors import CommandFailed
from pin_file import write
from slow_build import store

Start = Callable[[], "subprocess.Popen[str]"]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Return a function that starts a build in a process; all are gone after the test."""
    write(tmp_path)
    started: list[subprocess.Popen[str]] = []

    def begin() -> "subprocess.Popen[str]":
        child = subprocess.Popen(
            [sys.executable, slow_build.__file__, str(tmp_path)],
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(child)
        return child

    yield begin
    (tmp_path / "go").touch()
    for child in started:
        child.kill()
        child.communicate()


def _step(folder: Path) -> int:
    """Wait until a build is in its step; return the step's process id."""
    file = folder / "pid"
    return int(wait_until("a build", lambda: file.read_text() if file.is_file() else None, deadline=5.0))


def _alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def _gone(pid: int) -> bool:
    return bool(wait_until(f"the end of {pid}", lambda: not _alive(pid), deadline=2.0))


def _entries(folder: Path) -> list[str]:
    return [path.name for path in (folder / "cache" / "store").iterdir()]


def test_kill_9_leaves_nothing_that_counts(tmp_path: Path, start: Start) -> None:
    """The step ends with its builder, the half artifact is never found, and the next build succeeds."""
    first = start()
    step = _step(tmp_path)
    first.kill()
    first.wait()
    assert _gone(step)
    few = pins.load(tmp_path / "pins.toml")
    assert store(tmp_path).find(few, "tool", "0.8") is None
    assert [name.endswith(".part") for name in _entries(tmp_path)] == [True]

    (tmp_path / "go").touch()
    made = store(tmp_path).ensure(few, "tool", "0.8")
    assert made.binary("tool").read_text() == "whole\n"
    assert _entries(tmp_path) == [made.path.name]


def test_ctrl_c_takes_everything_back(tmp_path: Path, start: Start) -> None:
    """The step is ended and the half artifact removed before we leave."""
    child = start()
    step = _step(tmp_path)
    child.send_signal(signal.SIGINT)
    assert child.wait(5) != 0
    assert _gone(step)
    assert _entries(tmp_path) == []


def test_two_at_once_build_once(tmp_path: Path, start: Start) -> None:
    """The second says whom it waits for, and takes what the first has made."""
    first = start()
    _step(tmp_path)
    second = start()
    assert second.stdout is not None
    assert second.stdout.readline() == f"waiting for another edgegate (pid {first.pid}) that builds tool 0.8\n"
    (tmp_path / "go").touch()
    assert "made whole" in first.communicate(timeout=5)[0]
    assert "made whole" in second.communicate(timeout=5)[0]
    assert (tmp_path / "builds").read_text() == "x"


def test_a_waiter_builds_when_the_first_is_killed(tmp_path: Path, start: Start) -> None:
    """A dead builder's lock is free at once."""
    first = start()
    _step(tmp_path)
    second = start()
    assert second.stdout is not None
    assert second.stdout.readline().startswith("waiting for another edgegate")
    first.kill()
    (tmp_path / "go").touch()
    assert "made whole" in second.communicate(timeout=5)[0]
    assert (tmp_path / "builds").read_text() == "xx"


def test_leftovers_of_a_running_build_are_left_alone(tmp_path: Path, start: Start) -> None:
    """Another artifact is built meanwhile, and clears away what nobody works on only."""
    start()
    _step(tmp_path)
    before = _entries(tmp_path)

    def make(job: Job) -> Made:
        (job.into / "proxy").write_text("")
        return Made(binaries={"proxy": "proxy"})

    other = Store(tmp_path / "cache", builders={"pypi": Builder(1, make)}, free_mib=lambda where: 1000)
    made = other.ensure(pins.load(tmp_path / "pins.toml"), "proxy", "1.0")
    assert sorted(_entries(tmp_path)) == sorted([*before, made.path.name])


def test_a_step_keeps_its_outputs_apart(tmp_path: Path) -> None:
    """Data comes from standard output; what it says besides is in the log."""
    log = tmp_path / "log"
    done = run_step(["sh", "-c", "echo data; echo noise >&2"], env=dict(os.environ), cwd=tmp_path, log=log)
    assert (done.stdout, done.stderr) == ("data\n", "noise\n")
    assert log.read_text() == "$ sh -c echo data; echo noise >&2\nnoise\n"


def test_a_step_is_followed_line_by_line(tmp_path: Path) -> None:
    """Both outputs together, in the order in which they come."""
    lines: list[str] = []
    script = ["sh", "-c", "echo one; echo two >&2; echo three"]
    run_step(script, env=dict(os.environ), cwd=tmp_path, log=tmp_path / "log", on_line=lines.append)
    assert lines == ["one", "two", "three"]
    assert (tmp_path / "log").read_text().splitlines()[1:] == lines


def test_a_failed_step_shows_its_complaint_last(tmp_path: Path) -> None:
    """The end of a long list of data says nothing."""
    script = ["sh", "-c", "echo broken >&2; echo data; exit 3"]
    with pytest.raises(CommandFailed) as caught:
        run_step(script, env=dict(os.environ), cwd=tmp_path, log=tmp_path / "log")
    assert (caught.value.status, caught.value.output) == (3, "data\nbroken\n")
    assert (tmp_path / "log").read_text().endswith("broken\ndata\n")


def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    """It is told apart from one that fails."""
    with pytest.raises(FileNotFoundError, match="no-such-program"):
        run_step(["no-such-program"], env=dict(os.environ), cwd=tmp_path, log=tmp_path / "log")
