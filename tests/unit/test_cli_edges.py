"""The commands about running edges: which one is meant, what is shown, and how each ends."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from edgegate.cli import labs, main
from edgegate.errors import LabGone, NoEdgeRuns, UsageFault, WhichEdge
from edgegate.lab import record, registry
from edgegate.lab.record import Record
from fakes import FakeLab, running

Captured = pytest.CaptureFixture[str]
Edges = Callable[..., list[FakeLab]]


@pytest.fixture
def edges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Edges:
    """Return a function that makes edges of these names run; those in `kept` are kept."""

    def make(*names: str, kept: str = "") -> list[FakeLab]:
        made = [FakeLab(tmp_path / name, name=name, kept=name in kept.split()) for name in names]
        for lab in made:
            (lab.folder / "logs" / "pods" / "default_envoy-1").mkdir(parents=True)
        monkeypatch.setattr(labs, "every", lambda: made)
        return made

    return make


def _answer(capsys: Captured, *words: str, status: int = 0) -> Any:
    """Run a command with `--json` and return its one object."""
    assert main([words[0], "--json", *words[1:]]) == status
    return json.loads(capsys.readouterr().out)


def test_the_only_edge_is_meant(edges: Edges) -> None:
    (only,) = edges("a")
    assert labs.chosen(None) is only


def test_an_edge_may_be_named(edges: Edges) -> None:
    _, wanted = edges("a", "b")
    assert labs.chosen("b") is wanted


def test_the_only_kept_edge_is_meant_beside_those_of_tests(edges: Edges) -> None:
    _, wanted, _ = edges("a", "b", "c", kept="b")
    assert labs.chosen(None) is wanted


def test_no_edge_at_all(edges: Edges) -> None:
    edges()
    with pytest.raises(NoEdgeRuns) as raised:
        labs.chosen(None)
    assert str(raised.value) == "No edge runs. `edgegate status` lists those that do; `edgegate up` starts one."
    assert isinstance(raised.value, UsageFault)


def test_no_edge_of_that_name(edges: Edges) -> None:
    edges("a", "b")
    with pytest.raises(NoEdgeRuns) as raised:
        labs.chosen("c")
    assert str(raised.value) == (
        "No edge named 'c' runs. `edgegate status` lists those that do; `edgegate up` starts one."
    )


@pytest.mark.parametrize("kept", ["", "a b"])
def test_several_edges(edges: Edges, kept: str) -> None:
    edges("a", "b", kept=kept)
    with pytest.raises(WhichEdge) as raised:
        labs.chosen(None)
    assert str(raised.value) == "Several edges run: a, b. Say which with --name."
    assert isinstance(raised.value, UsageFault)


def test_running_edges_are_listed_by_age_without_being_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = FakeLab(tmp_path).record
    found = [
        (tmp_path / "a", replace(made, created="2026-01-02")),
        (tmp_path / "b", replace(made, created="2026-01-01")),
    ]
    swept: list[Path] = []
    monkeypatch.setattr(registry, "labs", lambda cache: found)
    monkeypatch.setattr(registry, "sweep", swept.append)
    monkeypatch.setenv("EDGEGATE_CACHE", str(tmp_path))
    assert [lab.folder.name for lab in labs.every()] == ["b", "a"]
    assert swept == [tmp_path]


@pytest.mark.parametrize("words", [["logs"], ["exec", "--", "true"], ["status", "--name", "x"], ["logs", "etcd"]])
def test_commands_about_an_edge_that_is_not_there_are_2(edges: Edges, words: list[str], capsys: Captured) -> None:
    edges()
    assert main(words) == 2
    assert capsys.readouterr().err.startswith("edgegate: No edge")


def test_down_stops_the_edge(edges: Edges, capsys: Captured) -> None:
    (lab,) = edges("a")
    assert main(["down"]) == 0
    assert lab.asked == [("down",)]
    assert capsys.readouterr() == ("stopped a\n", "")


def test_down_twice_is_fine(edges: Edges, capsys: Captured) -> None:
    edges()
    assert main(["down"]) == 0
    assert capsys.readouterr().out == "no edge runs\n"
    assert _answer(capsys, "down") == {"stopped": []}


def test_down_stops_the_one_that_is_named(edges: Edges, capsys: Captured) -> None:
    one, other = edges("a", "b")
    assert _answer(capsys, "down", "--name", "b") == {"stopped": ["b"]}
    assert (one.asked, other.asked) == ([], [("down",)])


def test_down_all(edges: Edges, capsys: Captured) -> None:
    made = edges("a", "b", kept="a")
    assert _answer(capsys, "down", "--all") == {"stopped": ["a", "b"]}
    assert [lab.asked for lab in made] == [[("down",)], [("down",)]]


def test_down_does_not_guess(edges: Edges, capsys: Captured) -> None:
    made = edges("a", "b")
    assert _answer(capsys, "down", status=2)["error"] == "WhichEdge"
    assert [lab.asked for lab in made] == [[], []]


def test_down_of_one_and_of_all_is_refused(edges: Edges) -> None:
    edges("a")
    with pytest.raises(SystemExit) as raised:
        main(["down", "--all", "--name", "a"])
    assert raised.value.code == 2


def test_status_of_nothing(edges: Edges, capsys: Captured) -> None:
    edges()
    assert main(["status"]) == 0
    assert capsys.readouterr().out == "no edge runs; start one with `edgegate up`\n"
    assert _answer(capsys, "status") == {"edges": []}


def test_status_tells_everything_to_a_program(edges: Edges, capsys: Captured) -> None:
    (lab,) = edges("a", kept="a")
    lab.states = {"etcd": running("etcd"), "envoy-gateway": running("envoy-gateway", pid=None, state="exited")}
    assert _answer(capsys, "status") == {
        "edges": [
            {
                "name": "a",
                "kept": True,
                "leases": 0,
                "folder": str(lab.folder),
                "network": "10.88.7.0/24",
                "rss_bytes": 2 * 2**20,
                "parts": [vars(lab.states["etcd"]), vars(lab.states["envoy-gateway"])],
            }
        ]
    }


def test_status_is_a_table_for_a_person(edges: Edges, capsys: Captured) -> None:
    kept, other = edges("kept", "other", kept="kept")
    kept.states = {"etcd": running("etcd", restarts=3)}
    other.leased = True
    main(["status"])
    said = capsys.readouterr().out
    assert "kept · 10.88.7.0/24 · kept · 1 MiB" in said
    assert "other · 10.88.7.0/24 · 1 users · 0 MiB" in said
    assert "│ etcd │ running │ 5.00 s │ 1   │ 3        │" in said


def test_status_of_one(edges: Edges, capsys: Captured) -> None:
    edges("a", "b")
    (shown,) = _answer(capsys, "status", "--name", "b")["edges"]
    assert shown["name"] == "b"


def _gone(lab: FakeLab) -> None:
    def answer(_: object) -> None:
        raise LabGone(lab.name, folder=lab.folder, last="its supervisor ended")

    lab.answers["status"] = answer


def test_an_edge_that_ends_meanwhile_is_left_out(edges: Edges, capsys: Captured) -> None:
    ending, _ = edges("a", "b")
    _gone(ending)
    assert [edge["name"] for edge in _answer(capsys, "status")["edges"]] == ["b"]


def test_an_edge_that_hangs_is_not_left_out(edges: Edges, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    _gone(edges("a", "b")[0])
    monkeypatch.setattr(registry, "alive", lambda folder: True)
    assert _answer(capsys, "status", status=75)["error"] == "LabGone"


@pytest.fixture
def logs(edges: Edges) -> Path:
    """Return the log folder of the only edge."""
    folder = edges("a")[0].folder / "logs"
    (folder / "etcd.log").write_text("one\ntwo\nthree\n")
    (folder / "pods" / "default_envoy-1" / "envoy.log").write_bytes(b"started\nbroken \xff byte")
    return folder


def test_logs_lists_what_there_is(logs: Path, capsys: Captured) -> None:
    assert main(["logs"]) == 0
    assert capsys.readouterr().out == "default_envoy-1/envoy\netcd\n"
    assert _answer(capsys, "logs") == {"parts": ["default_envoy-1/envoy", "etcd"]}


def test_logs_of_a_component_and_of_a_container(logs: Path, capsys: Captured) -> None:
    main(["logs", "etcd"])
    assert capsys.readouterr().out == "one\ntwo\nthree\n"
    main(["logs", "default_envoy-1/envoy"])
    assert capsys.readouterr().out == "started\nbroken \N{REPLACEMENT CHARACTER} byte\n"


@pytest.mark.parametrize(("tail", "lines"), [("0", []), ("2", ["two", "three"]), ("9", ["one", "two", "three"])])
def test_logs_from_the_end(logs: Path, capsys: Captured, tail: str, lines: list[str]) -> None:
    assert _answer(capsys, "logs", "etcd", "--tail", tail) == {"part": "etcd", "lines": lines}


@pytest.mark.parametrize("tail", ["-1", "x", "1.5", ""])
def test_a_number_of_lines_that_is_none(logs: Path, capsys: Captured, tail: str) -> None:
    with pytest.raises(SystemExit) as raised:
        main(["logs", "etcd", f"--tail={tail}"])
    assert raised.value.code == 2
    assert f"argument --tail: '{tail}' is no number of lines. Accepted: 0, 1, 2 …" in capsys.readouterr().err


def test_logs_of_nothing(logs: Path, capsys: Captured) -> None:
    assert main(["logs", "nothing"]) == 2
    assert capsys.readouterr() == (
        "",
        "edgegate: The edge has no part 'nothing'. It has: default_envoy-1/envoy, etcd.\n",
    )


def test_an_edge_without_logs(edges: Edges, capsys: Captured) -> None:
    edges("a")
    main(["logs", "etcd"])
    assert capsys.readouterr().err == "edgegate: The edge has no part 'etcd'. It has: none.\n"


@pytest.fixture
def outside(edges: Edges, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let commands for inside the edge run outside."""
    edges("a")
    monkeypatch.setattr("edgegate.cli.exec.enter_argv", lambda lab, tools: ["env", "NAME=" + lab.name, "--"][:2])
    monkeypatch.setattr("edgegate.cli.exec.sandbox.ensure_privileges", lambda pid: None)


@pytest.mark.usefixtures("outside")
@pytest.mark.parametrize(
    ("script", "status"), [("exit 0", 0), ("exit 1", 1), ("exit 75", 75), ("kill -9 $$", 137), ("kill -15 $$", 143)]
)
def test_exec_ends_as_its_command(script: str, status: int, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["exec", "--", "sh", "-c", script]) == status
    assert main(["exec", "--json", "--", "sh", "-c", script]) == status
    assert json.loads(capfd.readouterr().out) == {"status": status, "stdout": "", "stderr": ""}


@pytest.mark.usefixtures("outside")
def test_exec_shows_what_its_command_says(capfd: pytest.CaptureFixture[str]) -> None:
    script = "echo out of $NAME; echo err >&2"
    main(["exec", "--", "sh", "-c", script])
    assert capfd.readouterr() == ("out of a\n", "err\n")
    main(["exec", "--json", "--", "sh", "-c", script])
    assert json.loads(capfd.readouterr().out) == {"status": 0, "stdout": "out of a\n", "stderr": "err\n"}


@pytest.mark.usefixtures("outside")
def test_options_after_the_dashes_are_the_commands(capfd: pytest.CaptureFixture[str]) -> None:
    main(["exec", "--", "echo", "--json", "--name", "up"])
    assert capfd.readouterr().out == "--json --name up\n"


def test_records_of_labs_tell_whether_they_are_kept(tmp_path: Path) -> None:
    """`chosen` believes them."""
    made = Record(1, "0.1.0", "a", "f", 3, 100, 5, 99, 4, "control", "/logs", "2026-01-01T00:00:00+00:00", False, "1 x")
    record.write(tmp_path, made)
    record.note_kept(tmp_path, True)
    assert record.read(tmp_path).kept
