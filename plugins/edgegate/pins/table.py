"""One table of a TOML file, read key by key: every wrong value is an error with file, key and accepted form."""

import re
from collections.abc import Callable
from datetime import date, datetime
from pathlib import Path
from typing import TypeVar

from edgegate.errors import PinsFault

T = TypeVar("T")


class Table:
    """A table whose keys are taken one by one; what is left over at the end is unknown."""

    def __init__(self, path: Path, key: str, raw: object) -> None:
        self.path, self.key = path, key
        if not isinstance(raw, dict):
            raise PinsFault(path, key, f"is {_kind(raw)}", "a table")
        self._raw: dict[str, object] = dict(raw)
        self._known: list[str] = []

    def fault(self, key: str, problem: str, accepted: str) -> PinsFault:
        """Return the error about one key of this table."""
        return PinsFault(self.path, f"{self.key}.{key}" if key else self.key, problem, accepted)

    def take(self, key: str, kind: type[T], accepted: str) -> T | None:
        """Return a value that may be missing.

        Raises:
            PinsFault: it is there and of another type.
        """
        self._known.append(key)
        value = self._raw.pop(key, None)
        # bool is an int in Python, but nobody means 1 by `true`.
        if value is None or (isinstance(value, kind) and not (kind is int and isinstance(value, bool))):
            return value
        raise self.fault(key, f"is {_kind(value)}", accepted)

    def text(self, key: str, accepted: str = "a text") -> str:
        """Return a text that has to be there and not empty."""
        value = self.take(key, str, accepted)
        if not value or not value.strip():
            raise self.fault(key, "is missing" if value is None else "is empty", accepted)
        return value

    def day(self, key: str) -> date:
        """Return a date that has to be there."""
        accepted = "a date, as in 2027-03-31"
        value = self.take(key, date, accepted)
        if value is None or isinstance(value, datetime):
            raise self.fault(key, "is missing" if value is None else f"is {_kind(value)}", accepted)
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a list of texts, each one once; empty when the key is missing."""
        accepted = 'a list of texts, as in ["a", "b"]'
        values = self.take(key, list, accepted) or []
        for value in values:
            if not isinstance(value, str) or not value:
                raise self.fault(key, f"holds {value!r}", accepted)
            if values.count(value) > 1:
                raise self.fault(key, f"has '{value}' twice", "each value once")
        return tuple(values)

    def items(self) -> list[tuple[str, object]]:
        """Return every key that nobody has taken yet, with its raw value."""
        return list(self._raw.items())

    def mapping(self, key: str, check: Callable[["Table", str], T]) -> dict[str, T]:
        """Return a table of one kind of value; empty when the key is missing."""
        inner = Table(self.path, f"{self.key}.{key}", self.take(key, dict, "a table") or {})
        return {name: check(inner, name) for name, _ in inner.items()}

    def finish(self) -> None:
        """Refuse every key that nobody has taken."""
        for key in self._raw:
            raise self.fault(key, "is unknown", f"one of {', '.join(sorted(self._known))}")


def matching(pattern: str, accepted: str) -> Callable[[Table, str], str]:
    """Return a check for texts of one form."""

    def check(table: Table, key: str) -> str:
        value = table.text(key, accepted)
        if not re.fullmatch(pattern, value):
            raise table.fault(key, f"is '{value}'", accepted)
        return value

    return check


def _kind(value: object) -> str:
    names: dict[type, str] = {
        str: "a text",
        int: "a number",
        float: "a number",
        bool: "true or false",
        list: "a list",
        dict: "a table",
        date: "a date",
        datetime: "a date and time",
    }
    return names.get(type(value), type(value).__name__)
