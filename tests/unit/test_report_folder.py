"""The run folder: one run at a time, one version, and one attempt to bring the edge up."""

import json
from pathlib import Path

import pytest

from edgegate.errors import EdgeNotUp, LabFault, RunFolderBusy, RunFolderForeign
from edgegate.report.folder import RunFolder, edgegate_version, new_run_dir, write_whole

OURS = f"edgegate {edgegate_version()} (schema 1)"


def test_claim_makes_it_for_the_owner_alone(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "a" / "b")
    folder.claim()
    folder.claim()
    folder.release()

    assert folder.path.stat().st_mode & 0o777 == 0o700
    assert json.loads((folder.path / "run.json").read_text())["edgegate"] == edgegate_version()


def test_busy(tmp_path: Path) -> None:
    first, second = RunFolder(tmp_path / "run"), RunFolder(tmp_path / "run")
    first.claim()

    with pytest.raises(RunFolderBusy) as busy:
        second.claim()
    assert f"{tmp_path / 'run'} is in use by another run (process " in str(busy.value)
    assert "give another folder with --edge-run-dir" in str(busy.value)
    first.release()
    second.claim()
    second.release()


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ('{"schema": 2, "edgegate": "0.1.0"}', "edgegate 0.1.0 (schema 2)"),
        ("{", "an unreadable run.json"),
        ("[]", "an unreadable run.json"),
        (None, "files that no run has written"),
    ],
)
def test_foreign(tmp_path: Path, content: str | None, found: str) -> None:
    (tmp_path / ("run.json" if content else "photo.jpg")).write_text(content or "")

    with pytest.raises(RunFolderForeign) as foreign:
        RunFolder(tmp_path).claim()
    assert str(foreign.value) == (
        f"{tmp_path} holds a run of {found}, this is {OURS}. Nothing in it was changed. "
        "Give another folder with --edge-run-dir, or move that one away."
    )
    assert len(list(tmp_path.iterdir())) == 1


def test_file_in_its_place(tmp_path: Path) -> None:
    (tmp_path / "run").touch()

    with pytest.raises(RunFolderForeign, match="something that is no folder"):
        RunFolder(tmp_path / "run").claim()


def test_new_run_dirs_differ(tmp_path: Path) -> None:
    assert len({new_run_dir(tmp_path) for _ in range(5)}) > 1
    assert not list(tmp_path.iterdir())


def test_failed_bring_up_is_not_tried_again_in_the_same_run(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    with pytest.raises(LabFault), folder.bringing_up("key", "test_a"):
        raise LabFault("no namespaces\nmore")

    with pytest.raises(EdgeNotUp) as later, folder.bringing_up("key", "test_b"):
        pass
    assert str(later.value) == "the edge did not come up: no namespaces (the full error is with test_a)"
    with folder.bringing_up("another run", "test_b"):
        pass


def test_turns_are_shared(tmp_path: Path) -> None:
    """Two that do not want to be alone run at the same time; this would hang otherwise."""
    folder = RunFolder(tmp_path / "run")

    with folder.turn(alone=False), folder.turn(alone=False):
        pass
    with folder.turn(alone=True):
        pass


def test_bundles_of_similar_tests_differ(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)

    one, other = folder.bundle("e2e/test_x.py::test_y[a/b]"), folder.bundle("e2e/test_x.py::test_y[a-b]")
    assert one.name.startswith("b]-")
    assert one != other
    assert len(folder.bundle("x" * 500).name) < 120


def test_whole_or_nothing(tmp_path: Path) -> None:
    """A stray byte in a log line does not keep a report from being written; no part of a file is left behind."""
    write_whole(tmp_path / "a", "one \udcff two")

    assert (tmp_path / "a").read_text() == "one ? two"
    assert [one.name for one in tmp_path.iterdir()] == ["a"]
