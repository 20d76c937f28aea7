"""`edgegate pins`: versions, age, reasons; drift and overdue reviews are an exit status."""

import json
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

from edgegate.cli import main
from pin_file import VALID, spoiled, write

Captured = pytest.CaptureFixture[str]
Show = Callable[..., int]


@pytest.fixture
def show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Show:
    """Return a function that runs the command on a file's text, on a day, with an edge that runs some versions."""
    monkeypatch.delenv("EDGEGATE_SET", raising=False)

    def run(*words: str, text: str = VALID, running: dict[str, str] | None = None, day: str = "2026-06-01") -> int:
        class Today(date):
            @classmethod
            def today(cls) -> "Today":
                return cls.fromisoformat(day)

        monkeypatch.setattr("edgegate.cli.pins.date", Today)
        monkeypatch.setattr("edgegate.cli.pins.running_versions", lambda: running or {})
        return main(["pins", "--pins", str(write(tmp_path, text)), *words])

    return run


def test_everything_about_a_pin(show: Show, capsys: Captured) -> None:
    """Age since publication, where known; why, until when, and what production runs."""
    assert show() == 0
    assert capsys.readouterr().out.splitlines()[:8] == [
        "server 2.0.0 · published 159 days ago · review by 2027-01-01",
        "    why: because",
        "    unpin when: never",
        "    production runs 0.9.0: older",
        "proxy 2.0 · pinned 151 days ago · review by 2027-01-01",
        "    why: because",
        "    unpin when: never",
        "tool 0.8 · pinned 151 days ago · review by 2027-01-01",
    ]


def test_the_origin_of_another_version(show: Show, capsys: Captured) -> None:
    """Who asked for it, for companions too."""
    assert show("--set", "server=1.0.0") == 0
    said = capsys.readouterr().out
    assert "server 1.0.0 (--set) · pinned 151 days ago" in said
    assert "proxy 1.0 (companion of server 1.0.0) · pinned" in said


def test_what_runs_is_what_was_asked_for(show: Show, capsys: Captured) -> None:
    """The running version is shown."""
    assert show(running={"server": "2.0.0"}) == 0
    said = capsys.readouterr()
    assert "server 2.0.0 · 2.0.0 runs · published" in said.out
    assert said.err == ""


def test_drift(show: Show, capsys: Captured) -> None:
    """Something else runs: status 1, and what to do."""
    assert show(running={"server": "1.0.0"}) == 1
    assert capsys.readouterr().err == (
        "drift: server 1.0.0 runs, but 2.0.0 is asked for (pins.toml). Stop the edge with `edgegate down`, or ask for "
        "the running version with --set.\n"
    )


def test_drift_is_undone_by_asking_for_it(show: Show) -> None:
    """Then it is what was asked for."""
    assert show("--set", "server=1.0.0", running={"server": "1.0.0", "proxy": "1.0"}) == 0


@pytest.mark.parametrize(("day", "status"), [("2027-01-01", 0), ("2027-01-02", 1)])
def test_an_overdue_review(show: Show, capsys: Captured, day: str, status: int) -> None:
    """On the day itself there is still time."""
    text = VALID.replace("2027-01-01", "2028-01-01").replace("review-by = 2028-01-01", "review-by = 2027-01-01", 1)
    assert show(text=text, day=day) == status
    overdue = (
        "overdue: the review of server 2.0.0 was due on 2027-01-01. It may be unpinned when: never Look at it, then "
        "move review-by in pins.toml.\n"
    )
    assert capsys.readouterr().err == (overdue if status else "")


def test_the_object(show: Show, capsys: Captured, tmp_path: Path) -> None:
    """The same for programs."""
    assert show("--json", running={"server": "1.0.0"}) == 1
    data = json.loads(capsys.readouterr().out)
    assert data["file"] == str(tmp_path / "pins.toml")
    assert data["pins"][0] == {
        "name": "server",
        "asked": "2.0.0",
        "origin": "pins.toml",
        "running": "1.0.0",
        "drift": True,
        "age_days": 159,
        "age_since": "published",
        "review_by": "2027-01-01",
        "overdue": False,
        "why": "because",
        "unpin_when": "never",
        "production": "0.9.0",
        "production_why": "older",
    }


def test_a_broken_file(show: Show, capsys: Captured) -> None:
    """Usage: status 2."""
    assert show(text=spoiled('why = "because"\n', "")) == 2
    assert "pin.server.why is missing" in capsys.readouterr().err
