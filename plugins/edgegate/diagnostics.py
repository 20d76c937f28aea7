"""What is kept of a test that failed or was inconclusive: one folder, from sources that register themselves."""

import re
import threading
from pathlib import Path

import pytest

from edgegate.clock import show_duration
from edgegate.records import DiagnosticSource
from edgegate.redaction import redact

LARGEST = 4 * 1024 * 1024
"""Bytes that are kept of one source; a longer one loses its beginning, because the end is what happened last."""


class Diagnostics:
    """The sources of a run, and the bundles that they fill."""

    def __init__(self) -> None:
        self._sources: dict[str, DiagnosticSource] = {}

    def add(self, source: DiagnosticSource) -> None:
        """Ask this source at every failure from now on; a later one of the same name takes its place."""
        self._sources[source.name] = source

    def remove(self, name: str) -> None:
        """Ask the source of that name no more, because what it looks at is gone."""
        self._sources.pop(name, None)

    def bundle(self, folder: Path, failure: str, *, limit: float) -> Path:
        """Write the failure and what every source says into a folder, and return it.

        A source that fails, or is not done after `limit` seconds, is named in `sources-failed.txt`; it never hides
        the failure of the test. All text is redacted.
        """
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _write(folder / "failure.txt", failure)
        troubles = [_collect(source, folder, limit) for source in list(self._sources.values())]
        told = [f"{trouble}\n" for trouble in troubles if trouble]
        if told:
            _write(folder / "sources-failed.txt", "".join(told))
        return folder


def _collect(source: DiagnosticSource, folder: Path, limit: float) -> str:
    """Ask one source and write its answer; return its trouble, empty when there was none."""
    answers: list[bytes | str] = []
    errors: list[Exception] = []

    def ask() -> None:
        try:
            answers.append(source.collect())
        except Exception as error:
            errors.append(error)

    # A thread of its own: the part that is asked may be the one that hangs.
    asked = threading.Thread(target=ask, name=f"diagnostics {source.name}", daemon=True)
    asked.start()
    asked.join(limit)
    if answers:
        _write(folder / _file_name(source.name), answers[0])
        return ""
    if errors:
        return f"{source.name}: {type(errors[0]).__name__}: {errors[0]}"
    return f"{source.name}: not done after {show_duration(limit)}"


def _file_name(name: str) -> str:
    return re.sub(r"[^\w.-]+", "-", name).strip(".-") or "unnamed"


def _write(path: Path, content: bytes | str) -> None:
    # surrogateescape lets bytes that are no text pass through unchanged, and the text around them be redacted.
    text = content if isinstance(content, str) else content.decode("utf-8", errors="surrogateescape")
    kept = redact(text).encode("utf-8", errors="surrogateescape")
    cut = f"[{len(kept) - LARGEST} bytes before this are left out]\n".encode() if len(kept) > LARGEST else b""
    path.write_bytes(cut + kept[-LARGEST:])


DIAGNOSTICS = pytest.StashKey[Diagnostics]()
"""The sources of the run, in `config.stash`."""
