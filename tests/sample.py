"""The type of the fixture `suite`, which runs a sample suite of `tests/suites` in a folder of its own."""

from typing import Protocol

import pytest


class Suite(Protocol):
    """Runs tests of a sample suite with the double of the edge."""

    def __call__(self, name: str, *args: str, only: str = "", no_lab: bool = False) -> pytest.RunResult:
        """Return how pytest ended.

        Args:
            name: file in `tests/suites`, without its ending.
            args: arguments of pytest.
            only: names of the tests to run, separated by blanks; all when empty.
            no_lab: keep the edge from coming up.
        """
        ...
