"""One row of the table of settings: its name, and what follows from it."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

COMMAND_PREFIX = "--"
PYTEST_PREFIX = "--edge-"


class Kind(StrEnum):
    """How a setting is written."""

    WORD = "word"
    SWITCH = "switch"
    PAIRS = "pairs"
    WORDS = "words"


@dataclass(frozen=True)
class Setting:
    """One row of the table."""

    name: str
    """Name of the field of `Settings`; flag, ini key and environment name are made of it."""
    help: str
    """Text for `--help`: capital first, no full stop after a phrase."""
    parse: Callable[[str, str], Any]
    """Origin and text to value. Raises BadSetting."""
    metavar: str = ""
    """What stands for the value in `--help`."""
    kind: Kind = Kind.WORD
    """How it is written."""
    environment_only: bool = False
    """There is neither a flag nor an ini key."""

    def flag(self, prefix: str = PYTEST_PREFIX) -> str:
        """Return the flag, `--edge-run-dir` for pytest and `--run-dir` for the command."""
        return prefix + self.name.replace("_", "-")

    @property
    def ini(self) -> str:
        """Return the ini key, as `edge_run_dir`."""
        return f"edge_{self.name}"

    @property
    def env(self) -> str:
        """Return the environment name, as `EDGEGATE_RUN_DIR`."""
        return f"EDGEGATE_{self.name.upper()}"
