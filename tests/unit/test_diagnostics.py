"""A bundle keeps what its sources say, and none of them can do harm."""

import threading
from dataclasses import dataclass
from pathlib import Path

import pytest

from edgegate import diagnostics
from edgegate.diagnostics import Diagnostics


@dataclass
class Source:
    name: str
    said: bytes | str | Exception = ""

    def collect(self) -> bytes | str:
        if isinstance(self.said, Exception):
            raise self.said
        return self.said


class Hung:
    name = "hung.txt"

    def __init__(self) -> None:
        self.let_go = threading.Event()

    def collect(self) -> str:
        self.let_go.wait()
        return "too late"


def _bundle(folder: Path, *sources: Source | Hung) -> Path:
    made = Diagnostics()
    for source in sources:
        made.add(source)
    return made.bundle(folder / "b", "password: x\nboom", limit=0.2)


def test_everything_is_redacted(tmp_path: Path) -> None:
    folder = _bundle(tmp_path, Source("a.txt", "token: abc"), Source("b.bin", b"\xff token: abc"))

    assert (folder / "failure.txt").read_text() == "password: [redacted]\nboom"
    assert (folder / "a.txt").read_text() == "token: [redacted]"
    assert (folder / "b.bin").read_bytes() == b"\xff token: [redacted]"
    assert folder.stat().st_mode & 0o777 == 0o700


def test_trouble_is_named(tmp_path: Path) -> None:
    hung = Hung()

    folder = _bundle(tmp_path, Source("a.txt", ValueError("no")), hung, Source("c.txt", "fine"))

    hung.let_go.set()
    assert (folder / "sources-failed.txt").read_text() == "a.txt: ValueError: no\nhung.txt: not done after 200 ms\n"
    assert (folder / "c.txt").read_text() == "fine"


def test_no_trouble_no_file(tmp_path: Path) -> None:
    assert sorted(one.name for one in _bundle(tmp_path).iterdir()) == ["failure.txt"]


def test_name_cannot_leave_the_folder(tmp_path: Path) -> None:
    folder = _bundle(tmp_path, Source("../../etc/x", "1"), Source("..", "2"))

    assert sorted(one.name for one in folder.iterdir()) == ["etc-x", "failure.txt", "unnamed"]


def test_long_source_keeps_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagnostics, "LARGEST", 10)

    folder = _bundle(tmp_path, Source("a.log", "0123456789abcde"))

    assert (folder / "a.log").read_text() == "[5 bytes before this are left out]\n56789abcde"


def test_replaced_and_removed(tmp_path: Path) -> None:
    made = Diagnostics()
    made.add(Source("a.txt", "old"))
    made.add(Source("a.txt", "new"))
    made.add(Source("b.txt", "gone"))
    made.remove("b.txt")

    folder = made.bundle(tmp_path / "b", "boom", limit=1)

    assert sorted(one.name for one in folder.iterdir()) == ["a.txt", "failure.txt"]
    assert (folder / "a.txt").read_text() == "new"
