"""Processes of a lab: started, ready, stopped, frozen, crashed; with real children."""

import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Thread

import pytest

from edgegate.clock import wait_until
from edgegate.errors import (
    AlreadyRunning,
    ComponentExited,
    LabRequestFailed,
    NeverReady,
    PortTaken,
    UnknownProcess,
)
from edgegate.lab import Lab, ProcessSpec, ProcessStatus, Ready
from lab_parts import POLITE, SERVER, SLEEP, STUBBORN, child


def _status(lab: Lab, name: str) -> ProcessStatus:
    return next(status for status in lab.status() if status.name == name)


def _said(lab: Lab, name: str, text: str) -> None:
    """Wait until a process has written its word, so that its signal handlers are in place."""
    wait_until(f"{text} in the log", lambda: text in lab.log(name).read_text(), deadline=3)


def _commands(lab: Lab) -> str:
    return lab.run(["ps", "-eo", "args", "--no-headers"]).stdout


def test_start_returns_when_http_answers(lab: Lab) -> None:
    lab.start(child("web", SERVER, "8080", "hello", ready=Ready("http", "http://127.0.0.1:8080/", contains="hello")))
    status = _status(lab, "web")
    assert (status.state, status.restarts) == ("running", 0)
    assert status.rss_bytes > 1 << 20
    assert 0 < status.uptime < 3
    used = next(one for one in lab.usage() if one.name == "web")
    assert (used.memory_mib > 1, used.cpu_seconds > 0) == (True, True)


def test_start_returns_when_tcp_is_accepted(lab: Lab) -> None:
    lab.start(child("web", SERVER, "8080", "hello", ready=Ready("tcp", "127.0.0.1:8080")))
    assert _status(lab, "web").state == "running"


def test_a_process_has_the_environment_of_its_spec_and_no_other(lab: Lab) -> None:
    lab.start(ProcessSpec("env", ("/usr/bin/env",), {"ONLY": "this"}))
    _said(lab, "env", "ONLY=this")
    assert lab.log("env").read_text() == "ONLY=this\n"


def test_a_process_that_ends_first(lab: Lab) -> None:
    script = "print('cannot open /certs'); raise SystemExit(3)"
    with pytest.raises(ComponentExited) as raised:
        lab.start(child("eg", script, ready=Ready("tcp", "127.0.0.1:1")))
    log = lab.folder / "logs/eg.log"
    assert str(raised.value) == (
        f"eg ended with status 3 before it was ready. The end of its log ({log}):\ncannot open /certs"
    )
    assert _status(lab, "eg") == ProcessStatus("eg", None, "exited", 0.0, 0, 0, 3, "cannot open /certs")


def test_only_the_last_lines_of_the_last_start_are_told(lab: Lab) -> None:
    for word in ("first", "second"):
        script = f"print(*(f'{word} {{n}}' for n in range(30)), sep='\\n'); raise SystemExit(1)"
        with pytest.raises(ComponentExited) as raised:
            lab.start(child("eg", script, ready=Ready("tcp", "127.0.0.1:1")))
    assert raised.value.tail.splitlines() == [f"second {n}" for n in range(10, 30)]


def test_a_program_that_is_not_there(lab: Lab) -> None:
    with pytest.raises(ComponentExited, match=r"eg ended with status 127 .*\n.*No such file or directory: '/nope'"):
        lab.start(ProcessSpec("eg", ("/nope",), {}))


def test_a_process_that_is_never_ready_is_ended(lab: Lab) -> None:
    script = "print('waiting for etcd'); import signal; signal.pause()"
    with pytest.raises(NeverReady) as raised:
        lab.start(child("api", script, ready=Ready("http", "http://127.0.0.1:1/readyz", limit=0.3)))
    assert str(raised.value) == (
        "api ready: not within 300 ms; last seen: http://127.0.0.1:1/readyz: [Errno 111] Connection refused. "
        f"The end of its log ({lab.log('api')}):\nwaiting for etcd"
    )
    assert "waiting for etcd" not in _commands(lab)


def test_a_port_that_another_component_has(lab: Lab) -> None:
    lab.start(child("etcd", SERVER, "2379", "x", ready=Ready("tcp", "127.0.0.1:2379")))
    with pytest.raises(PortTaken) as raised:
        lab.start(child("etcd-2", SERVER, "2379", "x", ready=Ready("tcp", "127.0.0.1:2379")))
    assert str(raised.value) == (
        f"etcd-2 was not started: 127.0.0.1:2379 is taken by etcd (pid {_status(lab, 'etcd').pid} in the lab). "
        f"Stop that one first, or give one of them another port."
    )


def test_a_port_that_a_stray_process_has(lab: Lab) -> None:
    script = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {SERVER!r}, '81', 'x'], process_group=0)"
    lab.start(child("spawner", script))
    wait_until("stray", lambda: lab.run(["ss", "-Hltn", "sport = :81"]).stdout, deadline=3)
    with pytest.raises(PortTaken, match=r"taken by \S+python\S* -c import http.server.* \(pid \d+ in the lab\)"):
        lab.start(child("web", SERVER, "81", "x", ready=Ready("http", "http://127.0.0.1:81/")))


def test_a_name_that_runs(lab: Lab) -> None:
    lab.start(child("one", SLEEP))
    with pytest.raises(AlreadyRunning) as raised:
        lab.start(child("one", SLEEP))
    pid = _status(lab, "one").pid
    assert str(raised.value) == f"one is running already (pid {pid} in the lab). Stop it before it is started again."


def test_a_name_that_is_not_there(lab: Lab) -> None:
    with pytest.raises(UnknownProcess) as raised:
        lab.stop("one")
    assert str(raised.value) == "the lab has no process 'one'; it has: none"
    lab.start(child("two", SLEEP))
    with pytest.raises(UnknownProcess, match=r"it has: two$"):
        lab.restart("one")


def test_a_name_that_cannot_be_a_file(lab: Lab) -> None:
    with pytest.raises(LabRequestFailed, match=r"could not do 'start': '../x' is no name; accepted: \[a-z0-9\]"):
        lab.start(child("../x", SLEEP))


def test_stop_without_grace_kills_at_once(lab: Lab) -> None:
    lab.start(child("one", STUBBORN))
    _said(lab, "one", "up")
    began = time.monotonic()
    lab.stop("one")
    assert time.monotonic() - began < 1
    status = _status(lab, "one")
    assert (status.state, status.pid, status.status) == ("stopped", None, -9)


def test_stop_with_grace_lets_it_end_in_order(lab: Lab) -> None:
    lab.start(child("one", POLITE, stop_grace=3))
    _said(lab, "one", "up")
    lab.stop("one")
    assert lab.log("one").read_text() == "up\nbye\n"
    assert _status(lab, "one").status == 1


def test_stop_kills_what_does_not_end_within_its_grace(lab: Lab) -> None:
    lab.start(child("one", STUBBORN, stop_grace=0.3))
    _said(lab, "one", "up")
    began = time.monotonic()
    lab.stop("one")
    assert 0.3 <= time.monotonic() - began < 2
    assert _status(lab, "one").status == -9


def test_stop_ends_the_whole_group(lab: Lab) -> None:
    lab.start(
        child("one", f"import subprocess, sys; subprocess.run([sys.executable, '-c', {STUBBORN!r}, 'grandchild'])")
    )
    wait_until("grandchild", lambda: "grandchild" in _commands(lab), deadline=3)
    lab.stop("one")
    assert "signal.pause" not in _commands(lab)


def test_stop_of_a_stopped_process_is_nothing(lab: Lab) -> None:
    lab.start(child("one", SLEEP))
    lab.stop("one")
    lab.stop("one")
    assert _status(lab, "one").state == "stopped"


def test_stop_of_a_frozen_process_with_grace(lab: Lab) -> None:
    lab.start(child("one", POLITE, stop_grace=3))
    _said(lab, "one", "up")
    lab.pause("one")
    lab.stop("one")
    assert lab.log("one").read_text() == "up\nbye\n"


def test_a_stop_during_a_start_ends_the_start(lab: Lab) -> None:
    """A bring-up that is interrupted must not wait for the limit of what it was starting."""
    trouble: list[Exception] = []

    def start() -> None:
        try:
            lab.start(child("slow", SLEEP, ready=Ready("tcp", "127.0.0.1:1", limit=60)))
        except ComponentExited as exited:
            trouble.append(exited)

    thread = Thread(target=start)
    thread.start()
    wait_until("starting", lambda: [status.state for status in lab.status()] == ["starting"], deadline=3)
    lab.stop("slow")
    thread.join(3)
    assert [str(exited).split(" before")[0] for exited in trouble] == ["slow ended with status -9"]


def test_a_stopped_process_gives_its_name_to_another_spec(lab: Lab) -> None:
    lab.start(child("one", SLEEP))
    lab.stop("one")
    lab.start(child("one", "print('other'); import signal; signal.pause()"))
    _said(lab, "one", "other")


def test_restart(lab: Lab) -> None:
    lab.start(child("one", SERVER, "80", "x", ready=Ready("tcp", "127.0.0.1:80")))
    before = _status(lab, "one").pid
    lab.restart("one")
    after = _status(lab, "one")
    assert (after.state, after.restarts) == ("running", 1)
    assert after.pid != before


def test_a_killed_process_is_shown_as_exited(lab: Lab) -> None:
    lab.start(child("one", SLEEP))
    _said(lab, "one", "up")
    lab.kill("one")
    status = wait_until("exited", lambda: _exited(lab, "one"), deadline=2)
    assert (status.status, status.tail, status.pid) == (-9, "up", None)
    lab.restart("one")
    assert _status(lab, "one").state == "running"


def _exited(lab: Lab, name: str) -> ProcessStatus | None:
    return _in_state(lab, name, "exited")


def _in_state(lab: Lab, name: str, state: str) -> ProcessStatus | None:
    status = _status(lab, name)
    return status if status.state == state else None


def test_a_process_that_ends_later_takes_its_group_with_it(lab: Lab) -> None:
    script = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {SLEEP!r}, 'left']); raise SystemExit(4)"
    lab.start(child("one", script))
    assert wait_until("exited", lambda: _exited(lab, "one"), deadline=2).status == 4
    wait_until("its child ended", lambda: "left" not in _commands(lab), deadline=2)


def test_restart_always(lab: Lab) -> None:
    lab.start(child("one", "print('run'); import sys; sys.exit(1)", restart="always"))
    wait_until("third run", lambda: lab.log("one").read_text().count("run") >= 3, deadline=4)
    again = wait_until("restarting", lambda: _in_state(lab, "one", "restarting"), deadline=2)
    assert (again.status, again.tail) == (1, "run")
    lab.stop("one")
    assert _status(lab, "one").restarts >= 2
    assert _status(lab, "one").state == "stopped"


def test_pause_and_resume(lab: Lab) -> None:
    lab.start(child("one", SERVER, "80", "x", ready=Ready("tcp", "127.0.0.1:80")))
    lab.pause("one")
    assert _status(lab, "one").state == "paused"
    curl = ["curl", "--silent", "--max-time", "0.3", "http://127.0.0.1/"]
    assert lab.run(curl, check=False).status == 28  # curl's status for a time-out
    lab.resume("one")
    assert _status(lab, "one").state == "running"
    assert lab.run(curl).stdout == "x"


def test_a_removed_process_is_forgotten(lab: Lab) -> None:
    lab.start(child("one", SLEEP))
    lab.remove("one")
    assert lab.status() == []
    assert lab.log("one").exists()


def test_orphans_are_reaped(lab: Lab) -> None:
    lab.run(["sh", "-c", "for n in 1 2 3 4 5; do (sleep 0.01 &) ; done"])
    wait_until("no zombie", lambda: "Z" not in lab.run(["ps", "-eo", "stat", "--no-headers"]).stdout, deadline=3)
    wait_until("no orphan", lambda: "sleep" not in _commands(lab), deadline=3)


def test_exit_statuses_are_not_taken_by_the_reaper(lab: Lab) -> None:
    """Orphans die all the time meanwhile, so reaping and starting are interleaved."""
    lab.start(child("orphans", "import os\nwhile True:\n  if os.fork() == 0: os.fork(); os._exit(0)\n  os.wait()"))
    statuses = [lab.run(["sh", "-c", f"exit {n}"], check=False).status for n in range(100)]
    assert statuses == list(range(100))


def test_starts_run_side_by_side(lab: Lab) -> None:
    script = "import time; time.sleep(0.5)\n" + SERVER
    specs = [child(f"web-{n}", script, f"{80 + n}", "x", ready=Ready("tcp", f"127.0.0.1:{80 + n}")) for n in range(5)]
    began = time.monotonic()
    with ThreadPoolExecutor(5) as pool:
        list(pool.map(lab.start, specs))
    assert time.monotonic() - began < 2.4  # one after the other: 2.5 s and the starts
    assert len(lab.status()) == 5


def test_logs_are_appended(lab: Lab) -> None:
    for count in (1, 2):
        lab.start(child("one", SLEEP))
        wait_until("its word", partial(_wrote, lab, "one", "up\n" * count), deadline=3)
        lab.stop("one")


def _wrote(lab: Lab, name: str, text: str) -> bool:
    return lab.log(name).read_text() == text
