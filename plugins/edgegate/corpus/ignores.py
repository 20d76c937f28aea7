"""Cases that are known not to come out as their authors expect: each with a reason, until a day."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

from edgegate.errors import CorpusFault
from edgegate.tables import Table, read


@dataclass(frozen=True)
class Ignore:
    """Some cases that may fail."""

    tests: tuple[str, ...]
    """Their names."""
    reason: str
    """Why they fail, and why that is borne."""
    expires: date
    """The last day on which it holds, UTC."""


def load(path: Path, known: Collection[str], today: date | None = None) -> dict[str, Ignore]:
    """Return the ignore of each case that has one.

    Raises:
        CorpusFault: the file cannot be read, breaks the format, names a case that is not there or one twice, or holds
            an entry whose last day has passed.
    """
    raw = read(path, CorpusFault)
    table = Table(path, "", raw, CorpusFault)
    found: dict[str, Ignore] = {}
    for number, one in enumerate(table.take("ignore", list, "tables [[ignore]]") or []):
        entry = Table(path, f"ignore[{number}]", one, CorpusFault)
        ignore = Ignore(entry.texts("tests"), entry.text("reason"), entry.day("expires"))
        entry.finish()
        if not ignore.tests:
            raise entry.fault("tests", "is missing or empty", 'a list of names, as in ["920100-4"]')
        if (today or datetime.now(UTC).date()) > ignore.expires:
            raise entry.fault("expires", f"was {ignore.expires}", "a day to come: look whether the reason still holds")
        for name in ignore.tests:
            if name not in known:
                raise entry.fault("tests", f"names '{name}', which is no case", "a case of the corpus")
            if name in found:
                raise entry.fault("tests", f"names '{name}', as another entry does", "each case once")
            found[name] = ignore
    table.finish()
    return found
