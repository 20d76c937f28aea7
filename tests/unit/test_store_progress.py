"""What a long build tells, on a terminal and elsewhere."""

import io
import threading
from dataclasses import dataclass

import pytest
from rich.console import Console

from edgegate.artifacts import QUIET, Drawn, Lines


@dataclass
class Hand:
    """A clock that is set by hand."""

    at: float = 0.0
    """Seconds now."""

    def now(self) -> float:
        """Return the seconds."""
        return self.at

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.at += seconds


def _console(*, terminal: bool) -> tuple[Console, io.StringIO]:
    file = io.StringIO()
    return Console(file=file, force_terminal=terminal, width=100, color_system=None), file


def test_lines_tell_a_step_once_and_then_every_15_seconds() -> None:
    """A log must not get a line for each of 2000 packages."""
    (console, file), clock = _console(terminal=False), Hand()
    lines = Lines(console, clock)
    lines.step("server 1", "downloading")
    for at in range(100):
        clock.at = at / 4
        lines.step("server 1", "compiling", at, 100)
    lines.step("other 1", "compiling")
    lines.done("server 1", 83.0)
    lines.say("[bold] is no markup")
    assert file.getvalue().splitlines() == [
        "server 1: downloading",
        "server 1: compiling (0 of 100)",
        "server 1: compiling (60 of 100)",
        "other 1: compiling",
        "server 1: done in 83.00 s",
        "[bold] is no markup",
    ]


def test_bars_show_what_how_far_and_how_long() -> None:
    """Drawn at most ten times a second; a line stays when it is done."""
    (console, file), clock = _console(terminal=True), Hand()
    with Drawn(console, clock) as bars:
        bars.step("server 1", "compiling", 1, 100)
        bars.step("server 1", "compiling", 2, 100)
        clock.at = 0.1
        bars.step("server 1", "compiling [x]", 30, 100)
        bars.done("server 1", 83.0)
        bars.say("next")
    text = file.getvalue()
    assert "server 1: compiling (1 of 100)" in text
    assert "server 1: compiling (2 of 100)" not in text
    assert "server 1: compiling [x] (30 of 100)" in text
    assert "0:00:0" in text
    assert "server 1: done in 83.00 s" in text
    assert "next" in text


def test_bars_need_no_thread() -> None:
    """A process with two threads may not enter a user namespace, which a lab without root needs."""
    console, _ = _console(terminal=True)
    before = set(threading.enumerate())  # those of other tests
    with Drawn(console) as bars:
        bars.step("server 1", "compiling")
        assert set(threading.enumerate()) <= before


def test_quiet_is_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    """It can stand where a listener is asked for."""
    QUIET.say("a")
    QUIET.step("a", "b", 1, 2)
    QUIET.done("a", 1.0)
    assert capsys.readouterr() == ("", "")
