"""An engine of our own: what it is told, and what it puts back."""

import json
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pytest

from edgegate import command
from edgegate.artifacts.artifact import Artifact, Manifest
from edgegate.cli import main
from edgegate.clock import wait_until
from edgegate.errors import EngineFolderForeign, EngineInTheWay, EngineNotPossible
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
    with pytest.raises(EngineInTheWay, match=r"one was killed.*ip link del lo"):
        Daemon(tmp_path / "data").start(engine)


def test_a_second_engine_is_told_where_the_first_one_is(
    tmp_path: Path, engine: Artifact, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(daemons, "BRIDGE", "lo")
    text, first = "import signal; signal.pause()", tmp_path / "first"
    with subprocess.Popen([sys.executable, "-S", "-c", text, f"--pidfile={first}/pid", "--bridge=lo"]) as other:
        try:
            # Its words are there a moment after its start.
            wait_until("its words", Path(f"/proc/{other.pid}/cmdline").read_bytes, deadline=5)
            with pytest.raises(EngineInTheWay, match=f"edgegate engine stop --data {first}"):
                Daemon(tmp_path / "data").start(engine)
        finally:
            other.kill()


def test_of_two_starts_in_one_folder_the_second_waits_and_finds_it_running(
    tmp_path: Path, engine: Artifact, monkeypatch: pytest.MonkeyPatch
) -> None:
    began, go_on, started = threading.Event(), threading.Event(), [0]

    def start(daemon: Daemon, engine: Artifact) -> None:
        began.set()
        go_on.wait(5)
        started[0] += 1

    monkeypatch.setattr(Daemon, "_start", start)
    monkeypatch.setattr(Daemon, "_pid", property(lambda daemon: started[0] or None))
    monkeypatch.setattr(daemons, "BRIDGE", "edged-test")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    daemon = Daemon(tmp_path / "data")
    with ThreadPoolExecutor(2) as both:
        first = both.submit(daemon.start, engine)
        assert began.wait(5)
        second = both.submit(daemon.start, engine)
        assert wait([second], timeout=0.2).not_done
        go_on.set()
        first.result(5)
        second.result(5)
    assert started == [1]
    assert list((tmp_path / "data").iterdir()) == []


def test_stop_puts_back_what_was_there_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    value, folder = tmp_path / "value", tmp_path / "data"
    value.write_text("1024")
    folder.mkdir()
    (folder / "before.json").write_text(json.dumps({"fs.x": "128"}))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(daemons, "_sysctl", lambda name: value)
    monkeypatch.setattr(daemons, "BRIDGE", "edged-test")
    monkeypatch.setattr(daemons, "_left_bridges", lambda addresses: [])
    Daemon(folder).stop()
    assert value.read_text() == "128"
    assert not folder.exists()


def test_stop_where_none_runs_is_fine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["engine", "stop", "--data", str(tmp_path / "none"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["stopped"] == f"unix://{tmp_path}/none/docker.sock"


def test_a_folder_with_something_else_is_never_removed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "thesis").write_text("precious")
    assert main(["engine", "stop", "--data", str(tmp_path)]) == 2
    assert "so it is left as it is. Accepted: a folder that does not exist" in capsys.readouterr().err
    assert (tmp_path / "thesis").read_text() == "precious"


def test_nor_is_it_started_in(tmp_path: Path, engine: Artifact) -> None:
    (tmp_path / "thesis").touch()
    for place in (tmp_path, tmp_path / "thesis"):
        with pytest.raises(EngineFolderForeign):
            Daemon(place).start(engine)
    assert [one.name for one in tmp_path.iterdir()] == ["thesis"]


def test_without_root_it_says_so(tmp_path: Path, engine: Artifact, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(daemons, "BRIDGE", "edged-test")
    monkeypatch.setattr(daemons, "_left_bridges", lambda addresses: [])
    with pytest.raises(EngineNotPossible, match="needs root"):
        Daemon(tmp_path / "data").start(engine)
    assert not (tmp_path / "data").exists()


def test_nor_is_it_stopped_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    (tmp_path / "before.json").write_text("{}")
    with pytest.raises(EngineNotPossible, match="cannot be stopped: it needs root"):
        Daemon(tmp_path).stop()


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let a start change one file instead of the machine; return the file, which says 128."""
    value = tmp_path / "value"
    value.write_text("128")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(daemons, "_SYSCTLS", {"fs.x": "1024"})
    monkeypatch.setattr(daemons, "_CHANGED_BY_NODES", ())
    monkeypatch.setattr(daemons, "_sysctl", lambda name: value)
    monkeypatch.setattr(daemons, "BRIDGE", "edged-test")
    monkeypatch.setattr(daemons, "_left_bridges", lambda addresses: [])
    monkeypatch.setattr(Daemon, "_bridge", lambda self: None)
    return value


def test_a_start_that_fails_leaves_nothing(tmp_path: Path, engine: Artifact, machine: Path) -> None:
    with pytest.raises(EngineNotPossible, match="dockerd"):
        Daemon(tmp_path / "data").start(engine)
    assert machine.read_text() == "128"
    assert not (tmp_path / "data").exists()


def test_a_start_that_is_interrupted_ends_the_engine(
    tmp_path: Path, engine: Artifact, machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Daemon, "_words", lambda self, engine: ["/bin/sleep", "60"])
    started: list[int] = []

    def interrupt(daemon: Daemon, engine: Artifact) -> bool:
        started.append(int(command.run(["pgrep", "-nP", str(os.getpid()), "sleep"]).stdout))
        raise KeyboardInterrupt

    monkeypatch.setattr(Daemon, "_answers", interrupt)
    with pytest.raises(KeyboardInterrupt):
        Daemon(tmp_path / "data").start(engine)
    assert not Path(f"/proc/{started[0]}").exists()
    assert machine.read_text() == "128"


def test_another_process_of_its_number_is_not_ours(tmp_path: Path) -> None:
    (tmp_path / "pid").write_text(str(os.getpid()))
    assert Daemon(tmp_path)._pid is None


def test_bridges_that_an_engine_leaves_are_those_of_its_pool() -> None:
    said = [
        {"ifname": "br-d5828d27efa2", "addr_info": [{"local": "10.214.0.1"}]},
        {"ifname": "br-0123456789ab", "addr_info": [{"local": "172.18.0.1"}]},
        {"ifname": "eth0", "addr_info": [{"local": "10.214.0.2"}]},
        {"ifname": "br-none", "addr_info": []},
    ]
    assert daemons._left_bridges(json.dumps(said)) == ["br-d5828d27efa2"]
    assert daemons._left_bridges("") == []
