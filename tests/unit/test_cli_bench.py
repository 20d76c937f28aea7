"""The benchmark measures what its users do, in this order, and refuses to measure somebody else's edge too."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from edgegate.cli import bench, labs, main
from fakes import FakeClock, FakeLab

Captured = pytest.CaptureFixture[str]
NAMES = ["first_start", "warm_start", "up_again", "reuse", "memory_mib", "probe_gap_p95", "probe_gap_max", "probe_cpu"]


class FakeCommands:
    """Stands for the commands that the benchmark runs; each takes a second."""

    def __init__(self, clock: FakeClock, cache: Path) -> None:
        self.clock, self.cache, self.ran = clock, cache, list[str]()
        self.failing = ""

    def __call__(self, argv: list[str], **_: object) -> "subprocess.CompletedProcess[str]":
        """Run."""
        assert argv[0] == sys.executable
        word = argv[3] if argv[2] == "edgegate.cli" else argv[2]
        self.ran.append(word)
        self.clock.seconds += 1
        if word == "up":
            (self.cache / "base").mkdir(exist_ok=True)
        status = 1 if word == self.failing else 0
        return subprocess.CompletedProcess(argv, status, json.dumps(self._answer(word)), "and why")

    def _answer(self, word: str) -> Any:
        up = {"seconds": 7.0 + len(self.ran), "address": "10.88.7.8"}
        measured = {"gap_p95": 0.02, "gap_max": 0.03, "cpu": 0.11}
        return {"up": up, "status": {"edges": [{"rss_bytes": 300 * 2**20}]}, "edgegate.probes.measure": measured}.get(
            word
        )


@pytest.fixture
def ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeCommands:
    clock = FakeClock()
    commands = FakeCommands(clock, tmp_path)
    monkeypatch.setenv("EDGEGATE_CACHE", str(tmp_path))
    monkeypatch.setattr(bench, "MONOTONIC", clock)
    monkeypatch.setattr("edgegate.cli.bench.subprocess.run", commands)
    monkeypatch.setattr(labs, "every", list)
    return commands


def test_a_round_does_what_users_do(ran: FakeCommands, capsys: Captured) -> None:
    (ran.cache / "base").mkdir()
    assert main(["bench", "--rounds", "1", "--json"]) == 0
    assert ran.ran == ["up", "down", "up", "up", "status", "edgegate.probes.measure", "down", "pytest"]
    figures = json.loads(capsys.readouterr().out)["figures"]
    assert list(figures) == [*NAMES, "down", "gate"]
    assert figures["first_start"] == {"min": 8.0, "median": 8.0, "max": 8.0, "values": [8.0], "unit": "s"}
    assert (figures["memory_mib"]["median"], figures["memory_mib"]["unit"]) == (300.0, "MiB")
    assert figures["up_again"]["median"] == figures["down"]["median"] == figures["gate"]["median"] == 1.0


def test_the_edge_is_left_alone_before_its_memory_is_read(ran: FakeCommands) -> None:
    main(["bench", "--rounds", "1", "--without-gate", "--json"])
    assert ran.clock.slept == [5.0]


def test_a_first_start_has_no_base_state(ran: FakeCommands, monkeypatch: pytest.MonkeyPatch) -> None:
    (ran.cache / "base").mkdir()
    seen: list[bool] = []

    def up() -> dict[str, object]:
        seen.append((ran.cache / "base").exists())
        return {"seconds": 1.0, "address": "10.88.7.8"}

    monkeypatch.setattr(bench, "_up", up)
    main(["bench", "--rounds", "1", "--without-gate", "--json"])
    assert seen == [False, False]


def test_rounds_are_summed_up(ran: FakeCommands, capsys: Captured) -> None:
    assert main(["bench", "--rounds", "3", "--without-gate"]) == 0
    said = capsys.readouterr()
    assert "│ up_again      │ s           │ 1.000   │ 1.000   │ 1.000   │" in said.out
    assert "│ probe_cpu     │ of one core │ 0.110   │ 0.110   │ 0.110   │" in said.out
    assert "round 3 of 3\n  first_start " in said.err
    assert "pytest" not in ran.ran


def test_what_the_figures_were_measured_on_is_told(ran: FakeCommands, capsys: Captured) -> None:
    main(["bench", "--rounds", "1", "--without-gate", "--json"])
    assert {"processors", "kernel", "busy"} <= set(json.loads(capsys.readouterr().out)["machine"])


@pytest.mark.parametrize("failing", ["up", "down", "status", "pytest"])
def test_a_figure_of_something_that_failed_is_none(ran: FakeCommands, failing: str, capsys: Captured) -> None:
    ran.failing = failing
    assert main(["bench", "--rounds", "1", "--json"]) == 75
    error = json.loads(capsys.readouterr().out)
    assert error["error"] == "CommandFailed"
    assert failing in error["text"]


def test_another_edge_is_in_the_way(
    ran: FakeCommands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setattr(labs, "every", lambda: [FakeLab(tmp_path, name="a"), FakeLab(tmp_path, name="b")])
    assert main(["bench"]) == 2
    assert capsys.readouterr().err == (
        "edgegate: These edges run and would be measured too: a, b. First: edgegate down --all\n"
    )
    assert ran.ran == []


@pytest.mark.parametrize("rounds", ["0", "-1", "x", "1.5"])
def test_a_number_of_rounds_that_is_none(ran: FakeCommands, rounds: str, capsys: Captured) -> None:
    with pytest.raises(SystemExit) as raised:
        main(["bench", f"--rounds={rounds}"])
    assert raised.value.code == 2
    assert f"argument --rounds: '{rounds}' is no number of rounds. Accepted: 1, 2, 3 …" in capsys.readouterr().err
