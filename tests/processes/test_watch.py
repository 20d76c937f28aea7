"""A watch in a process of its own: it reports, breaks loudly, and never outlives who started it."""

import os
import resource
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from edgegate.clock import wait_until
from edgegate.errors import WatchBroken
from edgegate.probes.target import Target
from edgegate.probes.watch import Watch
from servers import free_port, origin_process

STARTS_AND_TELLS = """
import sys
from edgegate.probes.target import Target
from edgegate.probes.watch import Watch
watch = Watch([Target("a", "127.0.0.1", "a.example", port=1)]).start()
print(watch.pid, flush=True)
sys.stdin.read()
"""


def _target(port: int) -> Target:
    return Target("a", "127.0.0.1", "a.example", port=port, marker="a")


def _looks(watch: Watch) -> int:
    return watch.report().targets[0].looks


def _gone(pid: int) -> bool:
    return not Path(f"/proc/{pid}").exists()


def test_outage_of_an_origin_that_is_killed() -> None:
    """The report can be asked before, during and after."""
    with origin_process("a") as origin, Watch([_target(origin.port)]) as watch:
        wait_until("looks", lambda: _looks(watch) > 5, deadline=5.0)
        assert watch.report().ok
        origin.process.kill()
        wait_until("an outage", lambda: watch.report().outages, deadline=5.0)

    (outage,) = watch.report().outages
    assert outage.end is None
    assert outage.last_right is not None
    assert {fault for fault, _ in outage.faults} <= {"refused", "reset", "closed"}
    assert watch.stop() == watch.report(), "it stays as it was when the watch ended"


def test_origin_that_stands_still_and_goes_on() -> None:
    """Every look that was open when the watch stopped is waited for."""
    with origin_process("a") as origin, Watch([_target(origin.port)], timeout=0.2) as watch:
        wait_until("looks", lambda: _looks(watch) > 5, deadline=5.0)
        origin.process.send_signal(signal.SIGSTOP)
        wait_until("an outage", lambda: watch.report().outages, deadline=5.0)
        origin.process.send_signal(signal.SIGCONT)
        wait_until("recovery", lambda: watch.report().outages[0].end, deadline=5.0)

    (outage,) = watch.report().outages
    assert outage.faults[0][0] == "timeout"
    assert outage.seconds > 0


def test_watch_that_was_not_started() -> None:
    with pytest.raises(WatchBroken, match="it was not started"):
        Watch([_target(1)]).report()


def test_watcher_that_is_killed_proves_nothing() -> None:
    with Watch([_target(free_port())]) as watch:
        assert watch.pid is not None
        os.kill(watch.pid, signal.SIGKILL)
        with pytest.raises(WatchBroken, match=r"its process ended \(status -9\)"):
            wait_until("never", lambda: _looks(watch) < 0, deadline=5.0)

    with pytest.raises(WatchBroken, match=r"its process ended \(status -9\)"):
        watch.report()


def test_watcher_without_sockets_proves_nothing() -> None:
    """The reason comes over from the other process."""
    with Watch([_target(free_port())]) as watch:
        assert watch.pid is not None
        resource.prlimit(watch.pid, resource.RLIMIT_NOFILE, (3, 3))
        with pytest.raises(WatchBroken, match=r"could not go on: \[Errno 24\] Too many open files"):
            wait_until("never", lambda: _looks(watch) < 0, deadline=5.0)
        assert watch.pid is None


@pytest.mark.parametrize("targets", [[], [_target(1), _target(2)], [replace(_target(1), path="/ä")]])
def test_senseless_targets_are_refused_before_anything_starts(targets: list[Target]) -> None:
    with pytest.raises(ValueError, match=r"names of their own|ordinal not in range"):
        Watch(targets)


def test_leaving_the_block_does_not_hide_its_error() -> None:
    def break_everything() -> None:
        with Watch([_target(free_port())]) as watch:
            assert watch.pid is not None
            os.kill(watch.pid, signal.SIGKILL)
            raise KeyError

    with pytest.raises(KeyError):
        break_everything()


def test_nothing_is_left_after_a_watch() -> None:
    with Watch([_target(free_port())]) as watch:
        pid = watch.pid

    assert pid is not None
    assert _gone(pid)
    assert watch.pid is None


def test_watcher_ends_when_its_owner_is_killed() -> None:
    """kill -9 of the test process leaves nothing behind."""
    words = [sys.executable, "-c", STARTS_AND_TELLS]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        pid = int(owner.stdout.readline())
        assert not _gone(pid)
        owner.kill()

    wait_until("the end of the watcher", lambda: _gone(pid), deadline=5.0)
