"""The commands about running edges, on labs that really run."""

import json
import os
import signal
from pathlib import Path

import pytest

from edgegate.cli import main
from edgegate.lab import proc
from lab_parts import SLEEP, MakeLab, child, interfaces

Captured = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _own_labs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the commands see the labs of the test only."""
    monkeypatch.setenv("EDGEGATE_CACHE", str(tmp_path))


def test_status_and_down(make_lab: MakeLab, capsys: Captured) -> None:
    lab = make_lab("a", keep=True)
    lab.start(child("sleeper", SLEEP))
    assert main(["status", "--json"]) == 0
    (edge,) = json.loads(capsys.readouterr().out)["edges"]
    assert (edge["name"], edge["kept"], [part["name"] for part in edge["parts"]]) == ("a", True, ["sleeper"])
    assert main(["down"]) == 0
    assert lab.net.interface not in interfaces()
    assert not lab.folder.exists()
    assert main(["down", "--json"]) == 0
    assert capsys.readouterr().out.splitlines() == ["stopped a", '{"stopped": []}']


def test_exec_is_inside(make_lab: MakeLab, capfd: pytest.CaptureFixture[str]) -> None:
    lab = make_lab("a")
    assert main(["exec", "--json", "--", "ip", "-o", "-4", "addr", "show", "uplink"]) == 0
    assert lab.net.lab_ip in json.loads(capfd.readouterr().out)["stdout"]
    assert main(["exec", "--", "false"]) == 1
    assert main(["exec", "--", "no-such-program"]) == 127


@pytest.mark.timeout(20)
def test_an_edge_whose_supervisor_hangs_can_be_stopped(make_lab: MakeLab, capsys: Captured) -> None:
    lab = make_lab("a", keep=True)
    os.kill(lab.init_pid, signal.SIGSTOP)
    assert main(["down"]) == 0
    assert capsys.readouterr().out == "stopped a\n"
    assert not proc.runs(lab.init_pid, lab.record.init_started)
