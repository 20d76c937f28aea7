"""The node agent's processes: containers, what is left of them, and the agent's own start and end.

A script stands in for bubblewrap here: it reads the same options and starts the program without any namespace. What
namespaces do is seen in `tests/lab/test_node_fidelity.py`.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError, URLError

import pytest

from edgegate.errors import NeverReady, PodTrouble
from edgegate.lab.node.config import Tools
from edgegate.lab.node.container import Launch, Process, Runtime, tail
from edgegate.lab.node.health import serve
from edgegate.lab.node.leftovers import Table, started

BUBBLEWRAP = """#!{python}
import json, os, subprocess, sys
words = os.read(int(sys.argv[2]), 65536).decode().split("\\0")[:-1]
told = int(words[words.index("--info-fd") + 1])
if {refuses!r}:
    sys.exit("bwrap: " + {refuses!r})
child = subprocess.Popen(sys.argv[4:])
os.write(told, json.dumps({{"child-pid": child.pid}}).encode())
os.close(told)
status = child.wait()
sys.exit(status if status >= 0 else 128 - status)
"""
ENTER = """#!/bin/sh
while [ "$1" != -- ]; do shift; done
shift
exec "$@"
"""


def _tools(folder: Path, refuses: str = "") -> Tools:
    """Return stand-ins for bubblewrap and nsenter."""
    made = {}
    scripts = {"bwrap": BUBBLEWRAP.format(python=sys.executable, refuses=refuses), "nsenter": ENTER}
    for name, text in scripts.items():
        made[name] = folder / name
        made[name].write_text(text)
        made[name].chmod(0o755)
    return Tools(bwrap=str(made["bwrap"]), nsenter=str(made["nsenter"]))


@pytest.fixture
def runtime(tmp_path: Path) -> Runtime:
    return Runtime(_tools(tmp_path))


def _launch(tmp_path: Path, script: str) -> Launch:
    env = {"PATH": os.environ["PATH"], "WORD": "w"}
    return Launch(("sh", "-c", script), env, (), tmp_path / "c.log", None, "h")


def _running(runtime: Runtime, tmp_path: Path, script: str = "echo $WORD; exec sleep 60") -> Process:
    return runtime.start(_launch(tmp_path, script))


def test_a_container_writes_its_log_and_ends_with_its_status(runtime: Runtime, tmp_path: Path) -> None:
    process = _running(runtime, tmp_path, "echo $WORD; echo err >&2; exit 3")
    assert process.wait() == 3
    assert tail(tmp_path / "c.log") == "w\nerr\n"
    process.terminate()  # has ended: nothing happens


def test_signals_reach_the_program_itself(runtime: Runtime, tmp_path: Path) -> None:
    first = _running(runtime, tmp_path)
    first.terminate()
    second = _running(runtime, tmp_path)
    second.kill()
    assert (first.wait(), second.wait()) == (128 + signal.SIGTERM, 128 + signal.SIGKILL)


def test_commands_run_with_the_containers_environment(runtime: Runtime, tmp_path: Path) -> None:
    process = _running(runtime, tmp_path)
    assert process.execute(["sh", "-c", "echo $WORD; exit 4"], 5) == (4, "w\n")
    process.kill()
    process.wait()


def test_a_command_that_takes_too_long_is_killed(runtime: Runtime, tmp_path: Path) -> None:
    process = _running(runtime, tmp_path)
    status, output = process.execute(["sh", "-c", "echo begun; sleep 60"], 0.3)
    assert (status, output) == (124, "command timed out after 0.3 s; begun\n")
    process.kill()
    process.wait()


def test_a_root_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    runtime = Runtime(_tools(tmp_path, refuses="Can't mkdir /certs: Read-only file system"))
    with pytest.raises(PodTrouble) as caught:
        _running(runtime, tmp_path)
    assert caught.value.reason == "RunContainerError"
    assert caught.value.text == "bwrap: Can't mkdir /certs: Read-only file system"


def test_the_log_of_nothing_is_empty(tmp_path: Path) -> None:
    assert tail(tmp_path / "none") == ""


@pytest.fixture
def sleeper() -> Iterator["subprocess.Popen[bytes]"]:
    with subprocess.Popen(["sleep", "60"]) as child:
        yield child
        child.kill()


def test_what_an_earlier_agent_left_is_killed(tmp_path: Path, sleeper: "subprocess.Popen[bytes]") -> None:
    Table(tmp_path).add(sleeper.pid)
    assert Table(tmp_path).clear() == [sleeper.pid]
    assert sleeper.wait() == -signal.SIGKILL
    assert list(tmp_path.iterdir()) == []


def test_a_process_that_only_has_the_number_is_left_alone(tmp_path: Path, sleeper: "subprocess.Popen[bytes]") -> None:
    table = Table(tmp_path)
    (tmp_path / str(sleeper.pid)).write_text("1")
    assert table.clear() == []
    assert sleeper.poll() is None
    table.add(sleeper.pid)
    table.drop(sleeper.pid)
    assert table.clear() == []


def test_what_cannot_be_killed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = Table(tmp_path)
    table.add(os.getpid())
    monkeypatch.setattr(os, "kill", lambda pid, number: None)
    with pytest.raises(NeverReady, match=rf"containers of an earlier node agent end: .* \[{os.getpid()}\]"):
        table.clear(within=0.1)


def test_nothing_has_no_start() -> None:
    assert started(2**22 + 1) == ""
    assert started(os.getpid()).isdecimal()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _health(port: int, path: str = "/healthz") -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=2) as answer:
            return answer.status, answer.read().decode()
    except HTTPError as refusal:
        with refusal:
            return refusal.code, refusal.read().decode()
    except URLError as trouble:
        return 0, str(trouble)


def test_health_says_what_is_missing() -> None:
    missing, port = ["the node is not registered yet"], _free_port()
    server = serve(f"127.0.0.1:{port}", lambda: missing[0])
    assert _health(port) == (503, "the node is not registered yet")
    missing[0] = ""
    assert _health(port) == (200, "ok")
    assert _health(port, "/other") == (503, "not found")
    server.shutdown()
    server.server_close()


def _agent(*words: str, mask: frozenset[int] = frozenset()) -> "subprocess.Popen[str]":
    signal.pthread_sigmask(signal.SIG_BLOCK, mask)
    try:
        argv = [sys.executable, "-m", "edgegate.lab.node", *words]
        return subprocess.Popen(argv, stderr=subprocess.PIPE, text=True)
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, mask)


def _config(folder: Path, port: int = 0, **tools: str) -> Path:
    kubeconfig = folder / "kubeconfig"
    cluster = {"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}
    context = {"name": "c", "context": {"cluster": "c", "user": "u"}}
    users = [{"name": "u", "user": {"token": "t"}}]
    config = {"current-context": "c", "clusters": [cluster], "users": users, "contexts": [context]}
    kubeconfig.write_text(json.dumps({"apiVersion": "v1", "kind": "Config", **config}))
    net = {"bridge": "none", "bridge_ip": "10.88.7.129", "pod_cidr": "10.88.7.128/25", "dns_ip": "10.96.0.10"}
    told = {"kubeconfig": str(kubeconfig), "node": "n", "net": net, "logs": str(folder), "root": str(folder / "root")}
    path = folder / "node.json"
    path.write_text(json.dumps({**told, "images": {}, "tools": tools, "health": f"127.0.0.1:{port}"}))
    return path


def test_an_agent_without_a_configuration_says_so(tmp_path: Path) -> None:
    with _agent("--config", str(tmp_path / "none")) as agent:
        _, said = agent.communicate(timeout=10)
    assert agent.returncode == 1
    assert f"node agent: {tmp_path}/none is no configuration: FileNotFoundError" in said


def test_an_agent_without_its_tools_says_so(tmp_path: Path) -> None:
    with _agent("--config", str(_config(tmp_path, bwrap="no-such-bwrap"))) as agent:
        _, said = agent.communicate(timeout=10)
    assert agent.returncode == 1
    assert "the node agent needs no-such-bwrap: it is not on PATH. `edgegate doctor` says where it comes from." in said


def test_an_agent_waits_for_its_control_plane_and_ends_when_told(tmp_path: Path) -> None:
    """Its signals may have been blocked by whoever started it: it must end all the same."""
    ip = tmp_path / "ip"
    ip.write_text("""#!/bin/sh\necho '[{"address": "02:00:00:00:00:01"}]'\n""")
    ip.chmod(0o755)
    port = _free_port()
    config = _config(tmp_path, port, bwrap="true", nsenter="true", ip=str(ip))
    with _agent("--config", str(config), mask=frozenset({signal.SIGTERM})) as agent:
        assert agent.stderr
        said = next((line for line in agent.stderr if "node not registered yet" in line), "nothing of the kind")
        assert _health(port) == (503, "the node is not registered yet")
        agent.terminate()
        agent.communicate(timeout=10)
    assert agent.returncode == 0
    assert "downstream control plane did not answer POST /api/v1/nodes" in said
