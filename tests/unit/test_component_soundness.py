"""Whether the parts of an edge are still as they were."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, repeat
from pathlib import Path

import pytest

from edgegate.components import soundness
from edgegate.components.soundness import lost
from edgegate.errors import CrashedUnderTest, LabGone, PartLost
from edgegate.lab import ProcessStatus
from fakes import FakeLab, running

ENDED = replace(running("pebble", pid=None, state="exited"), status=-9, tail="its last words")


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeLab:
    """A lab of which every part answers."""
    monkeypatch.setattr(soundness, "_PATIENCE", 0.2)
    made = FakeLab(tmp_path)
    made.answers["look"] = lambda fields: ""
    return _with(made, [running("etcd"), running("pebble"), running("operator")])


def _with(lab: FakeLab, parts: Sequence[ProcessStatus]) -> FakeLab:
    lab.states.update({part.name: part for part in parts})
    return lab


def test_sound(lab: FakeLab) -> None:
    assert lost(lab, (), thorough=True) is None


def test_ended(lab: FakeLab) -> None:
    """Whoever has ended is found without asking anybody."""
    found = lost(_with(lab, [ENDED]), (), thorough=False)

    assert type(found) is PartLost
    assert "pebble of the lab ended with status -9" in str(found)
    assert "its last words" in str(found)


def test_ended_on_purpose(lab: FakeLab) -> None:
    assert lost(_with(lab, [ENDED]), {"pebble"}, thorough=True) is None


@pytest.mark.parametrize("state", ["stopped", "paused", "starting", "restarting"])
def test_states_that_somebody_wanted(lab: FakeLab, state: str) -> None:
    """A part that is not meant to answer is not asked."""
    lab.answers["look"] = lambda fields: "connection refused" if fields["name"] == "pebble" else ""

    assert lost(_with(lab, [running("pebble", state=state)]), (), thorough=True) is None


def test_silent(lab: FakeLab) -> None:
    """A part that runs and does not answer is found where somebody asks, with what it said."""
    lab.answers["look"] = lambda fields: "timed out" if fields["name"] == "pebble" else ""

    assert lost(lab, (), thorough=False) is None
    assert "answered no more within 0.2 s (timed out)" in str(lost(lab, (), thorough=True))


def test_late(lab: FakeLab) -> None:
    """One look in vain is no silence."""
    answers = chain(["timed out"], repeat(""))
    lab.answers["look"] = lambda fields: next(answers)

    assert lost(lab, (), thorough=True) is None


def test_under_test(lab: FakeLab) -> None:
    """The end of the system under test is told apart; its silence is for scenarios to judge."""
    lab.answers["look"] = lambda fields: "timed out" if fields["name"] == "operator" else ""

    assert lost(lab, (), thorough=True) is None
    ended = replace(running("operator", pid=None, state="exited"), status=2, tail="panic")
    assert isinstance(lost(_with(lab, [ended]), (), thorough=False), CrashedUnderTest)


def test_lab_gone(lab: FakeLab, tmp_path: Path) -> None:
    gone = LabGone("fake", folder=tmp_path, last="its supervisor ended")

    def status(fields: object) -> None:
        raise gone

    lab.answers["status"] = status

    assert lost(lab, (), thorough=False) is gone
