"""What a long build tells while it works: what, how far, how long."""

from types import TracebackType
from typing import Protocol, Self

from rich.console import Console
from rich.progress import BarColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars

from edgegate.clock import MONOTONIC, Clock, show_duration

EVERY = 15.0
"""Seconds between two lines about one step where lines cannot be drawn over."""


REDRAW = 0.1
"""Seconds between two drawings of the bars."""


class Progress(Protocol):
    """Listens to the store."""

    def say(self, text: str) -> None:
        """Tell something that stays on the screen."""
        ...

    def step(self, what: str, doing: str, at: int | None = None, of: int | None = None) -> None:
        """Tell that `what` is now at a step, and how far in it."""
        ...

    def done(self, what: str, seconds: float) -> None:
        """Tell that `what` is complete."""
        ...


class Quiet:
    """Tells nothing."""

    def say(self, text: str) -> None:
        """Tell nothing."""

    def step(self, what: str, doing: str, at: int | None = None, of: int | None = None) -> None:
        """Tell nothing."""

    def done(self, what: str, seconds: float) -> None:
        """Tell nothing."""


QUIET: Progress = Quiet()


class Lines:
    """Plain lines, for a file or a pipe: one for each step, and one every 15 s within it."""

    def __init__(self, console: Console, clock: Clock = MONOTONIC) -> None:
        self._console, self._clock = console, clock
        self._doing: dict[str, str] = {}
        self._said: dict[str, float] = {}

    def say(self, text: str) -> None:
        """Write a line."""
        self._console.print(text, markup=False)

    def step(self, what: str, doing: str, at: int | None = None, of: int | None = None) -> None:
        """Write a line when the step is a new one, or the last line is old."""
        now = self._clock.now()
        if self._doing.get(what) == doing and now - self._said[what] < EVERY:
            return
        self._doing[what], self._said[what] = doing, now
        self.say(f"{what}: {doing}{_far(at, of)}")

    def done(self, what: str, seconds: float) -> None:
        """Write a line with the duration."""
        self.say(f"{what}: done in {show_duration(seconds)}")


class Drawn:
    """Bars on a terminal; used with `with`. They are drawn by whoever calls.

    A thread that draws would forbid this process to enter a user namespace, which a lab without root needs.
    """

    def __init__(self, console: Console, clock: Clock = MONOTONIC) -> None:
        columns = TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn()
        self._bars = Bars(*columns, console=console, transient=True, auto_refresh=False)
        self._clock, self._drawn = clock, -REDRAW
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> Self:
        """Start to draw."""
        self._bars.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Take the bars away."""
        self._bars.stop()

    def say(self, text: str) -> None:
        """Write a line above the bars."""
        self._bars.console.print(text, markup=False)

    def step(self, what: str, doing: str, at: int | None = None, of: int | None = None) -> None:
        """Move the bar of `what`."""
        if what not in self._tasks:
            self._tasks[what] = self._bars.add_task(what, total=None)
        self._bars.update(self._tasks[what], description=f"{what}: {doing}{_far(at, of)}", total=of, completed=at or 0)
        if self._clock.now() - self._drawn >= REDRAW:
            self._drawn = self._clock.now()
            self._bars.refresh()

    def done(self, what: str, seconds: float) -> None:
        """Replace the bar by a line with the duration."""
        task = self._tasks.pop(what, None)
        if task is not None:
            self._bars.remove_task(task)
        self.say(f"{what}: done in {show_duration(seconds)}")


def _far(at: int | None, of: int | None) -> str:
    if at is None:
        return ""
    return f" ({at} of {of})" if of is not None else f" ({at})"
