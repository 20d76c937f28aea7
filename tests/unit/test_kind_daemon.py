"""An engine of our own: what it is told, and what it puts back."""

import json
from pathlib import Path

import pytest

from edgegate.artifacts.artifact import Artifact, Manifest
from edgegate.cli import main
from edgegate.errors import EngineInTheWay
from edgegate.kind import daemon as daemons
from edgegate.kind.daemon import Daemon


@pytest.fixture
def engine(tmp_path: Path) -> Artifact:
    binaries = {name: f"files/usr/sbin/{name}" for name in ("dockerd", "docker", "containerd", "runc")}
    return Artifact(tmp_path / "artifact", Manifest("docker-engine", "20.10.24", binaries))


def _bounding(monkeypatch: pytest.MonkeyPatch, missing: list[str]) -> None:
    monkeypatch.setattr(daemons, "missing_capabilities", lambda status: missing)


def test_it_leaves_other_engines_and_firewalls_alone(
    tmp_path: Path, engine: Artifact, monkeypatch: pytest.MonkeyPatch
) -> None:
    _bounding(monkeypatch, [])
    words = Daemon(tmp_path)._words(engine)
    assert {"--iptables=false", "--ip6tables=false", f"--bridge={daemons.BRIDGE}"} <= set(words)
    assert "none" not in " ".join(words), "an engine without a bridge removes that of another one"
    assert not any(word.startswith("--add-runtime") for word in words)


def test_a_machine_that_lacks_a_capability_gets_the_wrapper(
    tmp_path: Path, engine: Artifact, monkeypatch: pytest.MonkeyPatch
) -> None:
    _bounding(monkeypatch, ["CAP_SYS_RESOURCE"])
    words = Daemon(tmp_path)._words(engine)
    assert f"--add-runtime=edgegate={tmp_path}/runc" in words
    assert "CAP_SYS_RESOURCE" in (tmp_path / "runc").read_text()


def test_its_programs_find_what_maintainer_scripts_would_link(tmp_path: Path, engine: Artifact) -> None:
    path = Daemon(tmp_path)._environment(engine)["PATH"]
    assert path.startswith(f"{tmp_path}/links:")
    assert (tmp_path / "links/iptables-save").readlink() == engine.path / "files/usr/sbin/iptables-nft-save"


def test_a_second_engine_of_ours_is_refused(tmp_path: Path, engine: Artifact, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(daemons, "BRIDGE", "lo")
    with pytest.raises(EngineInTheWay, match="edgegate engine stop"):
        Daemon(tmp_path / "data").start(engine)


def test_stop_puts_back_what_was_there_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    value, folder = tmp_path / "value", tmp_path / "data"
    value.write_text("1024")
    folder.mkdir()
    (folder / "before.json").write_text(json.dumps({"fs.x": "128"}))
    monkeypatch.setattr(daemons, "_sysctl", lambda name: value)
    monkeypatch.setattr(daemons, "BRIDGE", "edged-test")
    Daemon(folder).stop()
    assert value.read_text() == "128"
    assert not folder.exists()


def test_stop_where_none_runs_is_fine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["engine", "stop", "--data", str(tmp_path / "none"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["stopped"] == f"unix://{tmp_path}/none/docker.sock"
