"""One table of a TOML file, read key by key: every wrong value is an error with file, key and accepted form."""

import re
import tomllib
from collections.abc import Callable
from datetime import date, datetime
from pathlib import Path
from typing import Any, TypeVar

from edgegate.errors import FileFault

T = TypeVar("T")


def read(path: Path, refusal: type[FileFault]) -> dict[str, Any]:
    """Return what a TOML file says.

    Raises:
        FileFault: it cannot be read, or is no TOML; of the class `refusal`.
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise refusal(path, "", f"cannot be read: {error.strerror}", "a readable file") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise refusal(path, "", f"is no TOML: {error}", "TOML 1.0") from error


class Table:
    """A table whose keys are taken one by one; what is left over at the end is unknown."""

    def __init__(self, path: Path, key: str, raw: object, refusal: type[FileFault]) -> None:
        """Begin with every key untaken.

        Args:
            path: the file.
            key: where the table stands in it.
            raw: its content.
            refusal: the class of the errors.
        """
        self.path, self.key, self.refusal = path, key, refusal
        if not isinstance(raw, dict):
            raise refusal(path, key, f"is {kind_of(raw)}", "a table")
        self._raw: dict[str, object] = dict(raw)
        self._known: list[str] = []

    def fault(self, key: str, problem: str, accepted: str) -> FileFault:
        """Return the error about one key of this table."""
        return self.refusal(self.path, ".".join(part for part in (self.key, key) if part), problem, accepted)

    def take(self, key: str, kind: type[T], accepted: str) -> T | None:
        """Return a value that may be missing.

        Raises:
            FileFault: it is there and of another type.
        """
        self._known.append(key)
        value = self._raw.pop(key, None)
        # bool is an int in Python, but nobody means 1 by `true`.
        if value is None or (isinstance(value, kind) and not (kind is int and isinstance(value, bool))):
            return value
        raise self.fault(key, f"is {kind_of(value)}", accepted)

    def text(self, key: str, accepted: str = "a text") -> str:
        """Return a text that has to be there and not empty."""
        value = self.take(key, str, accepted)
        if not value or not value.strip():
            raise self.fault(key, "is missing" if value is None else "is empty", accepted)
        return value

    def number(self, key: str, accepted: str) -> float:
        """Return a number that has to be there, whole or not."""
        self._known.append(key)
        value = self._raw.pop(key, None)
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise self.fault(key, "is missing" if value is None else f"is {kind_of(value)}", accepted)
        return float(value)

    def has(self, key: str) -> bool:
        """Say whether a key is there and nobody has taken it; from now on it is a known one."""
        self._known.append(key)
        return key in self._raw

    def day(self, key: str) -> date:
        """Return a date that has to be there."""
        accepted = "a date, as in 2027-03-31"
        value = self.take(key, date, accepted)
        if value is None or isinstance(value, datetime):
            raise self.fault(key, "is missing" if value is None else f"is {kind_of(value)}", accepted)
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
        inner = self.inner(key)
        return {name: check(inner, name) for name, _ in inner.items()}

    def inner(self, key: str) -> "Table":
        """Return a table inside this one; an empty one when the key is missing."""
        inside = f"{self.key}.{key}" if self.key else key
        return Table(self.path, inside, self.take(key, dict, "a table") or {}, self.refusal)

    def finish(self) -> None:
        """Refuse every key that nobody has taken."""
        for key in self._raw:
            raise self.fault(key, "is unknown", f"one of {', '.join(sorted(set(self._known)))}")


def matching(pattern: str, accepted: str) -> Callable[[Table, str], str]:
    """Return a check for texts of one form."""

    def check(table: Table, key: str) -> str:
        value = table.text(key, accepted)
        if not re.fullmatch(pattern, value):
            raise table.fault(key, f"is '{value}'", accepted)
        return value

    return check


def kind_of(value: object) -> str:
    """Return what a value is, in the words of an error text."""
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
