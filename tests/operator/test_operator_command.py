"""The command: what it prints and how it ends when it cannot start."""

from pathlib import Path

import pytest

from edgegate_operator import faults
from edgegate_operator.__main__ import main


def test_every_defect_is_listed_with_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list-faults"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(faults.known())
    assert lines[0].startswith("address-late                 the canonical host name")


def test_without_a_configuration_nothing_starts(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert capsys.readouterr().err == "edgegate-operator: --config FILE is needed\n"


def test_a_wrong_configuration_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "operator.yaml"
    path.write_text("projects: []\ndownstream: {kubeconfig: down}\n")
    assert main(["--config", str(path)]) == 2
    assert capsys.readouterr().err == f"edgegate-operator: {path}: projects: at least one is needed\n"


def test_an_unknown_defect_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "operator.yaml"
    path.write_text("projects: [{name: a, kubeconfig: up}]\ndownstream: {kubeconfig: down}\n")
    assert main(["--config", str(path), "--fault", "nonsense"]) == 2
    assert "faults: 'nonsense' is unknown; accepted: address-late, " in capsys.readouterr().err


def test_a_kubeconfig_that_cannot_be_read_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "operator.yaml"
    path.write_text(
        f"projects: [{{name: a, kubeconfig: {tmp_path}/up}}]\ndownstream: {{kubeconfig: {tmp_path}/down}}\n"
    )
    assert main(["--config", str(path)]) == 1
    assert f"edgegate-operator: not started: {tmp_path}/down: " in capsys.readouterr().err
