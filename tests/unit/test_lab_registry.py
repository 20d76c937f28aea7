"""The folders of labs: alive while locked, swept when not, never confused with somebody else's."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from edgegate.errors import LabExists, LabFolderForeign, LabForeign, LabGone, NoSuchLab
from edgegate.lab import record, registry
from edgegate.lab.record import Record

RECORD = Record(1, "0.1.0", "a", "f", 3, 100, 5, 99, 4, "control", "/logs", "2026-01-01T00:00:00+00:00", False, "1 x")


def _dead(folder: Path) -> Path:
    os.close(registry.claim(folder, folder.name))
    (folder / "logs").mkdir()
    (folder / "logs/etcd.log").write_text("x")
    record.write(folder, RECORD)
    return folder


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    record.write(tmp_path, RECORD)
    assert record.read(tmp_path) == RECORD
    assert [entry.name for entry in tmp_path.iterdir()] == ["lab.json"]


def test_keeping_is_noted(tmp_path: Path) -> None:
    record.write(tmp_path, RECORD)
    record.note_kept(tmp_path, True)
    assert record.read(tmp_path) == replace(RECORD, kept=True)


def test_a_claimed_folder_is_private_and_alive_until_it_is_let_go(tmp_path: Path) -> None:
    folder = tmp_path / "labs/a"
    descriptor = registry.claim(folder, "a")
    assert folder.stat().st_mode & 0o777 == 0o700
    assert registry.alive(folder)
    os.close(descriptor)
    assert not registry.alive(folder)


def test_a_living_lab_keeps_its_folder(tmp_path: Path) -> None:
    descriptor = registry.claim(tmp_path / "labs/a", "a")
    with pytest.raises(LabExists) as raised:
        registry.claim(tmp_path / "labs/a", "a")
    os.close(descriptor)
    assert str(raised.value) == f"lab a runs already in {tmp_path}/labs/a. Use it, or end it with `edgegate down`."


def test_what_a_dead_lab_left_is_cleared(tmp_path: Path) -> None:
    folder = _dead(tmp_path / "labs/a")
    os.close(registry.claim(folder, "a"))
    assert [entry.name for entry in folder.iterdir()] == ["alive"]


def test_a_folder_of_somebody_else_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home/thesis").write_text("x")
    with pytest.raises(LabFolderForeign) as raised:
        registry.claim(tmp_path / "home", "a")
    assert str(raised.value) == (
        f"{tmp_path}/home holds files that no lab made, so nothing in it was touched. Name another folder."
    )
    assert (tmp_path / "home/thesis").exists()


def test_sweep_removes_the_dead_only(tmp_path: Path) -> None:
    descriptor = registry.claim(tmp_path / "labs/living", "living")
    _dead(tmp_path / "labs/dead")
    (tmp_path / "labs/interrupted").mkdir()
    (tmp_path / "labs/foreign").mkdir()
    (tmp_path / "labs/foreign/thesis").write_text("x")
    assert registry.sweep(tmp_path) == ["dead", "interrupted"]
    os.close(descriptor)
    assert sorted(entry.name for entry in (tmp_path / "labs").iterdir()) == [".lock", "foreign", "living"]


def test_an_interrupted_removal_is_taken_up_again(tmp_path: Path) -> None:
    folder = _dead(tmp_path / "labs/a")
    (folder / "lab.json").unlink()
    assert registry.sweep(tmp_path) == ["a"]


def test_sweep_without_labs(tmp_path: Path) -> None:
    assert registry.sweep(tmp_path) == []


def test_only_living_labs_are_listed(tmp_path: Path) -> None:
    living, creating = tmp_path / "labs/living", tmp_path / "labs/creating"
    descriptors = [registry.claim(living, "living"), registry.claim(creating, "creating")]
    record.write(living, RECORD)
    _dead(tmp_path / "labs/dead")
    assert registry.labs(tmp_path) == [(living, RECORD)]
    assert registry.labs(tmp_path / "nothing") == []
    for descriptor in descriptors:
        os.close(descriptor)


def test_attach_where_no_lab_ever_was(tmp_path: Path) -> None:
    with pytest.raises(NoSuchLab) as raised:
        registry.attach(tmp_path / "x")
    assert str(raised.value) == (
        f"no lab at {tmp_path}/x. `edgegate status` lists the labs that run, `edgegate up` starts one."
    )


def test_attach_to_a_lab_that_has_ended(tmp_path: Path) -> None:
    folder = _dead(tmp_path / "labs/a")
    with pytest.raises(LabGone) as raised:
        registry.attach(folder)
    assert str(raised.value) == (
        f"lab a is gone ({folder}): its supervisor has ended. Whatever ran in it has ended with it; "
        f"run again, or `edgegate up` for a new one."
    )


def test_a_record_of_another_form_is_not_guessed_at(tmp_path: Path) -> None:
    content = {"schema": 2, "version": "9.0", "name": "a", "init_pid": 4711, "later": True}
    (tmp_path / "lab.json").write_text(json.dumps(content))
    with pytest.raises(LabForeign) as raised:
        record.read(tmp_path)
    assert str(raised.value) == (
        f"lab a ({tmp_path}) was made by edgegate 9.0, whose records this version does not read. "
        f"End it with that version, or with `kill -9 4711`; nothing of it stays behind."
    )
