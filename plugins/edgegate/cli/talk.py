"""What the command says: results on standard output, progress and errors on standard error."""

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console, RenderableType

if TYPE_CHECKING:
    from edgegate.artifacts import Progress

EXIT_DONE = 0
EXIT_FAIL = 1
EXIT_USAGE = 2
EXIT_UNAVAILABLE = 75  # EX_TEMPFAIL of sysexits.h: the surroundings broke, a later try may work
EXIT_INTERRUPTED = 130


class Talk:
    """The terminal of one command run; knows whether a program or a person is listening."""

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json
        # Where no terminal tells its width, a table must not be cut to 80 columns.
        width = None if sys.stdout.isatty() else 200
        self.out = Console(soft_wrap=True, highlight=False, width=width)
        # Without markup: a test's name has brackets, and `[missing-HTTPRoute]` would be taken for a style.
        self.err = Console(stderr=True, soft_wrap=True, highlight=False, markup=False)

    def result(self, data: Mapping[str, object], shown: RenderableType) -> None:
        """Print the result once: `data` for a program, `shown` for a person."""
        if self.as_json:
            sys.stdout.write(json.dumps(data, default=str) + "\n")
        else:
            self.out.print(shown)

    @contextmanager
    def progress(self) -> Iterator["Progress"]:
        """Show what a long build does: bars on a terminal, lines elsewhere."""
        from edgegate.artifacts import Drawn, Lines

        if not self.err.is_terminal:
            yield Lines(self.err)
            return
        with Drawn(self.err) as drawn:
            yield drawn

    def say(self, text: RenderableType) -> None:
        """Print a line of progress."""
        self.err.print(text)

    def interrupted(self) -> None:
        """Say that the user has ended the command."""
        if self.as_json:
            sys.stdout.write(json.dumps({"error": "Interrupted", "text": "interrupted"}) + "\n")
        self.say("interrupted")

    def error(self, error: Exception) -> None:
        """Print an error where its reader looks: the text for a person, an object for a program."""
        if self.as_json:
            sys.stdout.write(json.dumps({"error": type(error).__name__, "text": str(error)}) + "\n")
        self.err.print(f"edgegate: {error}")
