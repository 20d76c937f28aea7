"""A lab from its making to its end."""

import errno
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from edgegate.clock import wait_until
from edgegate.errors import (
    CommandFailed,
    LabExists,
    LabGone,
    LabRequestFailed,
    NoRoomForLab,
    NotEnoughMemory,
    SandboxNotPermitted,
    ToolMissing,
)
from edgegate.lab import Lab, Tools, record, registry, sandbox
from edgegate.lab.control import enter_argv
from lab_parts import SLEEP, STUBBORN, MakeLab, child, interfaces, processes


def test_down_leaves_nothing_and_is_quick(make_lab: MakeLab) -> None:
    lab = make_lab("down-leaves-nothing")
    lab.start(child("stubborn", STUBBORN, "down-leaves-nothing"))
    assert lab.net.interface in interfaces()
    wait_until("launcher, supervisor, child", lambda: len(processes("down-leaves-nothing")) == 3, deadline=2)

    began = time.monotonic()
    lab.down()
    took = time.monotonic() - began

    assert processes("down-leaves-nothing") == []
    assert lab.net.interface not in interfaces()
    assert took < 1


def test_a_full_disk_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the disk's fault, not the supervisor's, which runs already when the record is written."""

    def write(folder: Path, made: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    sandbox.ensure_privileges()
    monkeypatch.setattr(record, "write", write)
    with pytest.raises(NoRoomForLab, match="full-disk, which cannot be written to: No space left on device"):
        sandbox.create(tmp_path / "full-disk", "full-disk")
    assert not (tmp_path / "full-disk").exists()
    assert processes("full-disk") == []


def test_only_the_owner_gets_in(lab: Lab) -> None:
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (lab.folder, lab.folder / "control")}
    assert modes == {"lab": 0o700, "control": 0o600}


def test_the_process_table_of_the_lab_is_its_own(lab: Lab) -> None:
    told = lab.run(["ps", "-eo", "pid,args", "--no-headers"]).stdout.splitlines()
    assert [line.split()[0] for line in told] == ["1", told[1].split()[0]]
    assert "edgegate.lab.init --lab lab" in told[0]


def test_a_command_inside_is_told_apart_by_its_outputs(lab: Lab) -> None:
    done = lab.run(["sh", "-c", "echo out; echo err >&2; exit 3"], check=False)
    assert (done.status, done.stdout, done.stderr) == (3, "out\n", "err\n")


def test_a_command_has_a_plain_environment(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "x")
    names = {line.split("=")[0] for line in lab.run(["env"]).stdout.splitlines()}
    assert names == {"PATH", "PYTHONPATH", "LANG", "HOME", "TMPDIR"}
    assert lab.run(["/usr/bin/env"], env={}).stdout == ""


def test_a_command_that_fails(lab: Lab) -> None:
    with pytest.raises(CommandFailed, match="command ended with status 1: sh -c echo no; exit 1\nno"):
        lab.run(["sh", "-c", "echo no; exit 1"])


def test_a_command_that_does_not_exist(lab: Lab) -> None:
    with pytest.raises(CommandFailed, match=r"status 127: nope\n.*No such file or directory: 'nope'"):
        lab.run(["nope"])


def test_a_command_that_takes_too_long(lab: Lab) -> None:
    with pytest.raises(CommandFailed, match=r"status -9: sleep 60\nkilled after 0.1 s"):
        lab.run(["sleep", "60"], timeout=0.1)


def test_a_command_that_leaves_something_behind_still_ends(lab: Lab) -> None:
    assert lab.run(["sh", "-c", "sleep 60 & echo started"], timeout=5).stdout == "started\n"


def test_files_of_the_lab_stay_in_it(lab: Lab) -> None:
    path = f"{lab.data}/secrets/token"
    lab.put(path, b"\0secret", 0o640)
    assert lab.get(path) == b"\0secret"
    assert lab.run(["stat", "-c", "%a", path]).stdout == "640\n"
    assert not Path(path).exists()


def test_a_file_that_is_not_there(lab: Lab) -> None:
    with pytest.raises(LabRequestFailed, match=r"could not do 'get': FileNotFoundError: .* '/nope'"):
        lab.get("/nope")


def test_a_command_line_enters_the_lab(lab: Lab) -> None:
    done = subprocess.run([*enter_argv(lab, Tools()), "ip", "-br", "addr"], capture_output=True, text=True, check=True)
    assert lab.net.lab_ip in done.stdout
    with pytest.raises(ToolMissing, match=r"inside a lab needs nope: not found on PATH\. Install util-linux\."):
        enter_argv(lab, Tools(nsenter="nope"))


def test_a_second_user_attaches(lab: Lab) -> None:
    other = registry.attach(lab.folder)
    assert (other.net, other.init_pid, other.leases()) == (lab.net, lab.init_pid, (1, False))
    other.lease()
    assert lab.leases() == (2, False)
    other.release()


def test_a_lab_outlives_its_creator_while_somebody_holds_it(lab: Lab) -> None:
    other = registry.attach(lab.folder)
    other.lease()
    lab.release()
    wait_until("one lease left", lambda: other.leases() == (1, False), deadline=2)
    other.release()
    wait_until("end", lambda: not registry.alive(lab.folder), deadline=4)


def test_a_kept_lab_lives_without_a_lease_until_it_is_not_kept(make_lab: MakeLab) -> None:
    lab = make_lab(keep=True)
    lab.release()
    wait_until("no lease left", lambda: lab.leases() == (0, True), deadline=2)
    lab.keep(False)
    assert not registry.attach(lab.folder).record.kept
    wait_until("end", lambda: not registry.alive(lab.folder), deadline=4)


def test_keeping_is_decided_later_too(lab: Lab, tmp_path: Path) -> None:
    lab.keep(True)
    assert [record.kept for _, record in registry.labs(tmp_path)] == [True]


def test_the_folder_of_a_running_lab_is_taken(lab: Lab) -> None:
    with pytest.raises(LabExists, match=r"lab lab runs already in .*/labs/lab. Use it, or end it"):
        sandbox.create(lab.folder, "lab")


def test_two_labs_do_not_meet(make_lab: MakeLab) -> None:
    one, other = make_lab("one"), make_lab("other")
    for lab in (one, other):
        lab.start(child("same", SLEEP))
    assert one.net.n != other.net.n
    other.down()
    assert [status.state for status in one.status()] == ["running"]


def test_logs_given_elsewhere_outlive_the_lab(make_lab: MakeLab, tmp_path: Path) -> None:
    lab = make_lab(logs=tmp_path / "run/logs")
    lab.start(child("talker", SLEEP))
    wait_until("its word", lambda: lab.log("talker").read_text() == "up\n", deadline=2)
    lab.down()
    assert registry.sweep(tmp_path) == ["lab"]
    assert (tmp_path / "run/logs/talker.log").read_text() == "up\n"
    assert not lab.folder.exists()


def test_a_long_path_is_no_trouble(make_lab: MakeLab) -> None:
    lab = make_lab("x" * 120)
    assert lab.run(["echo", "hello"]).stdout == "hello\n"


def test_the_supervisor_is_killed(lab: Lab) -> None:
    os.kill(lab.init_pid, signal.SIGKILL)
    wait_until("end", lambda: not registry.alive(lab.folder), deadline=2)
    with pytest.raises(LabGone, match=r"lab lab is gone \(.*\): .*Connection refused.* run again, or `edgegate up`"):
        lab.status()
    lab.release()
    with pytest.raises(LabGone):
        lab.lease()
    with pytest.raises(LabGone):
        enter_argv(lab, Tools())


def test_the_last_words_of_a_supervisor_are_told(lab: Lab) -> None:
    lab.log("supervisor").write_text("Traceback\nMemoryError: no\n")
    os.kill(lab.init_pid, signal.SIGKILL)
    wait_until("end", lambda: not registry.alive(lab.folder), deadline=2)
    with pytest.raises(LabGone, match=r"Connection refused: MemoryError: no\. Whatever ran in it"):
        lab.ping()


def test_a_supervisor_that_hangs_is_killed(lab: Lab) -> None:
    os.kill(lab.init_pid, signal.SIGSTOP)
    lab.down()
    assert not registry.alive(lab.folder)


def test_too_little_memory(tmp_path: Path) -> None:
    with pytest.raises(NotEnoughMemory, match=rf"^a lab needs {1 << 40} MiB of memory, and \d+ MiB are available. "):
        sandbox.create(tmp_path / "labs/lab", "lab", needs_mib=1 << 40)
    assert not (tmp_path / "labs").exists()


@pytest.mark.parametrize(
    ("tools", "text"),
    [
        (Tools(ip="/no/ip"), "a lab needs /no/ip: not found on PATH. Install iproute2."),
        (Tools(unshare="/no/unshare"), "a lab needs /no/unshare: not found on PATH. Install util-linux."),
    ],
)
def test_a_program_that_is_not_there(tmp_path: Path, tools: Tools, text: str) -> None:
    with pytest.raises(ToolMissing) as raised:
        sandbox.create(tmp_path / "labs/lab", "lab", tools=tools, needs_mib=0)
    assert str(raised.value) == text
    assert not (tmp_path / "labs").exists()


def test_namespaces_that_are_refused(tmp_path: Path) -> None:
    fake = tmp_path / "unshare"
    fake.write_text("#!/bin/sh\necho 'unshare: unshare failed: Operation not permitted' >&2\nexit 1\n")
    fake.chmod(0o755)
    with pytest.raises(SandboxNotPermitted, match=r"sandbox of the lab cannot be made: .* Operation not permitted"):
        sandbox.create(tmp_path / "labs/lab", "lab", tools=Tools(unshare=str(fake)), needs_mib=0)
    assert not (tmp_path / "labs/lab").exists()


def test_a_supervisor_that_does_not_come_up(tmp_path: Path) -> None:
    fake = tmp_path / "unshare"
    fake.write_text("#!/bin/sh\necho 'ImportError: no edgegate' >&2\nexit 1\n")
    fake.chmod(0o755)
    with pytest.raises(LabGone, match=r"is gone \(.*\): its supervisor did not come up: ImportError: no edgegate"):
        sandbox.create(tmp_path / "labs/lab", "lab", tools=Tools(unshare=str(fake)), needs_mib=0)


def test_ctrl_c_in_the_callers_terminal_spares_the_lab(privileged: None, tmp_path: Path) -> None:
    """The lab is in a session of its own, so the caller decides what an interrupt means for it."""
    script = (
        "import os, pathlib, sys; from edgegate.lab import sandbox\n"
        "lab = sandbox.create(pathlib.Path(sys.argv[1]), 'lab', keep=True, needs_mib=0)\n"
        "lab.release(); os.killpg(0, 2)"
    )
    argv = [sys.executable, "-c", script, str(tmp_path / "labs/lab")]
    creator = subprocess.run(argv, start_new_session=True, check=False, capture_output=True)
    assert creator.returncode == -signal.SIGINT
    lab = registry.attach(tmp_path / "labs/lab")
    assert lab.leases() == (0, True)
    lab.down()


def _tools_with_ip(folder: Path, script: str) -> Tools:
    fake = folder / "ip"
    fake.write_text(f'#!/bin/sh\ncase "$*" in *"link add"*) {script};; esac\nexec /usr/bin/env ip "$@"\n')
    fake.chmod(0o755)
    return Tools(ip=str(fake))


def test_a_supervisor_that_dies_while_it_gets_its_network(privileged: None, tmp_path: Path) -> None:
    tools = _tools_with_ip(tmp_path, 'for pid; do :; done; kill -9 "$pid"')
    with pytest.raises(LabGone, match=r"while it was set up: its supervisor ended"):
        sandbox.create(tmp_path / "labs/lab", "lab", tools=tools, needs_mib=0)
    assert not (tmp_path / "labs/lab").exists()


def test_an_ip_that_fails_is_told_as_it_is(privileged: None, tmp_path: Path) -> None:
    tools = _tools_with_ip(tmp_path, "echo 'Error: Unknown device type.' >&2; exit 2")
    with pytest.raises(CommandFailed, match=r"(?s)status 2: .*/ip link add edge.*Unknown device type"):
        sandbox.create(tmp_path / "labs/lab", "lab", tools=tools, needs_mib=0)
    assert not (tmp_path / "labs/lab").exists()
