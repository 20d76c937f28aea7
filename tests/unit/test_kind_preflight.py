"""What keeps kind clusters from running, and what is only said."""

import json
import stat
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from edgegate.errors import EngineMissing, EngineSilent
from edgegate.kind import engine as engines
from edgegate.kind import preflight
from edgegate.kind.engine import Engine, Facts
from edgegate.kind.preflight import Machine
from edgegate.kind.runtime import missing_capabilities, write_wrapper

FACTS = Facts("28.2.2", 2, Path("/var/lib/docker"))
MACHINE = Machine(root=True, memory_mib=16000, disk_mib=50000, watches=524288, instances=1024, forwards=True)


def test_a_sound_machine_has_no_reason_and_no_note() -> None:
    assert preflight.reasons(FACTS, MACHINE) == []
    assert preflight.notes(FACTS) == []


@pytest.mark.parametrize(
    ("machine", "says"),
    [
        (replace(MACHINE, root=False), "need root"),
        (replace(MACHINE, memory_mib=900), "900 MiB of memory are available, 4000 MiB are needed"),
        (replace(MACHINE, disk_mib=800), "800 MiB of disk are free at /var/lib/docker"),
        (replace(MACHINE, watches=8192), "sysctl -w fs.inotify.max_user_watches=65536"),
        (replace(MACHINE, instances=128), "sysctl -w fs.inotify.max_user_instances=256"),
        (replace(MACHINE, forwards=False), "sysctl -w net.ipv4.ip_forward=1"),
        (replace(MACHINE, firewall="-P FORWARD DROP"), "iptables -I DOCKER-USER -s 10.88.0.0/16 -j ACCEPT"),
    ],
)
def test_each_reason_says_what_to_do(machine: Machine, says: str) -> None:
    (reason,) = preflight.reasons(FACTS, machine)
    assert says in reason


@pytest.mark.parametrize(("version", "old"), [("19.03.15", True), ("20.10.24", False), ("20.10.24+dfsg1", False)])
def test_an_engine_can_be_too_old(version: str, old: bool) -> None:
    assert bool(preflight.reasons(replace(FACTS, version=version), MACHINE)) == old


def test_a_firewall_that_lets_labs_through_is_no_reason() -> None:
    rules = "-P FORWARD DROP\n-A DOCKER-USER -d 10.88.0.0/16 -j ACCEPT\n-A DOCKER-USER -s 10.88.0.0/16 -j ACCEPT"
    assert preflight.reasons(FACTS, replace(MACHINE, firewall=rules)) == []


def test_control_groups_of_version_1_are_said() -> None:
    (note,) = preflight.notes(replace(FACTS, cgroups=1))
    assert "failCgroupV1" in note


def _docker(folder: Path, output: str, status: int = 0) -> Engine:
    program = folder / "docker"
    program.write_text(f"#!/bin/sh\ncat <<'END'\n{output}\nEND\nexit {status}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return Engine(str(program), {"PATH": "/usr/bin:/bin", "DOCKER_HOST": "unix:///nowhere"})


def test_an_engine_tells_what_it_is(tmp_path: Path) -> None:
    said = {"ServerVersion": "20.10.24", "CgroupVersion": "1", "DockerRootDir": "/data"}
    assert _docker(tmp_path, json.dumps(said)).facts() == Facts("20.10.24", 1, Path("/data"))


@pytest.mark.parametrize("output", ['{"ServerErrors": ["Cannot connect"], "ServerVersion": ""}', "not JSON"])
def test_an_engine_that_does_not_answer_is_named(tmp_path: Path, output: str) -> None:
    with pytest.raises(EngineSilent, match=r"unix:///nowhere does not answer.*edgegate engine start"):
        _docker(tmp_path, output, 1).facts()


@pytest.mark.parametrize(
    "output", ["[]", '{"ServerVersion": "28.0.1"}', '{"ServerVersion": "28.0.1", "CgroupVersion": "two"}', "3"]
)
def test_a_program_that_is_no_docker_is_nobodys_failure(tmp_path: Path, output: str) -> None:
    with pytest.raises(EngineSilent, match="edgegate engine start"):
        _docker(tmp_path, output).facts()


def test_an_engine_that_hangs_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "_ANSWERS_WITHIN", 0.2)
    engine = _docker(tmp_path, "")
    Path(engine.docker).write_text("#!/bin/sh\nexec sleep 20\n")
    with pytest.raises(EngineSilent, match=r"docker info: killed after 0.2 s. Start it, or let edgegate run"):
        engine.facts()


def test_no_docker_on_path_says_how_to_get_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EngineMissing, match="edgegate engine start"):
        Engine.find()


def test_capabilities_that_a_bounding_set_lacks() -> None:
    assert missing_capabilities("CapBnd:\t000001fffeffffff\n") == ["CAP_SYS_RESOURCE"]
    assert missing_capabilities("CapBnd:\t000001ffffffffff\n") == []


def test_the_wrapper_drops_them_and_runs_the_real_one(tmp_path: Path) -> None:
    runc, bundle = tmp_path / "runc", tmp_path / "bundle"
    runc.write_text('#!/bin/sh\necho "$@"\n')
    runc.chmod(0o755)
    bundle.mkdir()
    held = {"bounding": ["CAP_CHOWN", "CAP_SYS_RESOURCE"]}
    (bundle / "config.json").write_text(json.dumps({"process": {"capabilities": held}}))
    (tmp_path / "process.json").write_text(json.dumps({"capabilities": held}))
    wrapper = write_wrapper(tmp_path / "wrapper", runc, ["CAP_SYS_RESOURCE"])
    said = subprocess.run([wrapper, "create", "--bundle", bundle, "x"], capture_output=True, text=True, check=True)
    subprocess.run([wrapper, "exec", "--process", tmp_path / "process.json", "x"], check=True, capture_output=True)
    kept = {"bounding": ["CAP_CHOWN"]}
    assert said.stdout.split()[0] == "create"
    assert json.loads((bundle / "config.json").read_text())["process"]["capabilities"] == kept
    assert json.loads((tmp_path / "process.json").read_text())["capabilities"] == kept
