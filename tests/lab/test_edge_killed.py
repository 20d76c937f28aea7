"""A whole edge whose pytest, worker or supervisor is killed at whatever moment: nothing stays, and the next run works.

EDGEGATE_TEST_KILLS says how many moments are tried for each victim. The sandbox alone is killed far more often, in
tests/processes/test_sandbox_killed.py; here everything runs that an edge is made of.
"""

import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from edgegate.clock import wait_until
from edgegate.lab import registry, sandbox
from edgegate.settings import Settings
from lab_parts import interfaces, processes, words_of

KILLS = int(os.environ.get("EDGEGATE_TEST_KILLS", "1"))
MOMENTS = random.Random(194)
LONGEST = 14.0
"""Seconds: a warm start takes 6 to 10, the suite 4."""
SUITE = Path(__file__).parents[1] / "suites/one_edge.py"


@dataclass(frozen=True)
class World:
    """A network namespace and a cache of the test's own; only the artifacts are everybody's."""

    holder: int
    folder: Path

    def pytest(self, *options: str) -> "subprocess.Popen[bytes]":
        """Start a pytest that brings an edge up and uses it."""
        argv = ["nsenter", "--net", "--target", str(self.holder), "--", sys.executable, "-m", "pytest", str(SUITE)]
        basetemp = ("--basetemp", str(self.folder / "basetemp"))  # xdist makes one, and pytest keeps it
        environment = {**os.environ, "EDGEGATE_CACHE": str(self.folder / "cache"), "TMPDIR": str(self.folder / "tmp")}
        with (self.folder / "said").open("wb") as said:
            return subprocess.Popen(
                [*argv, "-p", "no:cacheprovider", "--edge-run-dir", str(self.folder / "run"), *basetemp, *options],
                env=environment,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def rest(self) -> dict[str, object]:
        """Return what is left: processes, interfaces, mounts, files outside cache and run folder."""
        left: dict[str, object] = {
            "processes": processes(str(self.folder)),
            "interfaces": [name for name in interfaces(self.holder) if name.startswith("edge")],
            "mounts": [line for line in Path("/proc/self/mounts").read_text().splitlines() if "edgegate" in line],
            "files": [*(self.folder / "tmp").iterdir(), *Path("/run").glob("edgegate*"), *Path("/run").glob("netns/*")],
        }
        return {kind: what for kind, what in left.items() if what}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """Return a world without edges."""
    sandbox.ensure_privileges()
    cache = Settings().cache
    (tmp_path / "tmp").mkdir()
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache/store").symlink_to(cache / "store")
    (cache / "base").mkdir(exist_ok=True)
    (tmp_path / "cache/base").symlink_to(cache / "base")
    argv = ["unshare", "--net", sys.executable, "-S", "-c", "print(flush=True); input()"]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        yield World(holder.pid, tmp_path)
        holder.communicate(b"\n")


def _victim(world: World, role: str, runner: int) -> int | None:
    """Return the process to kill, None while it is not there yet."""
    if role == "pytest":
        return runner
    if role == "supervisor":
        return next((record.init_pid for _, record in registry.labs(world.folder / "cache")), None)
    children = Path(f"/proc/{runner}/task/{runner}/children").read_text().split()
    return next((int(pid) for pid in children if b"readline" in b" ".join(words_of(pid))), None)


@pytest.mark.timeout(120)
@pytest.mark.parametrize("moment", [MOMENTS.uniform(0.5, LONGEST) for _ in range(KILLS)], ids=lambda at: f"{at:.1f}s")
@pytest.mark.parametrize("role", ["pytest", "worker", "supervisor"])
def test_nothing_stays_behind(world: World, role: str, moment: float) -> None:
    """Kill at that moment; afterwards nothing is left but cache and run folder, and a run on the same folder passes."""
    options = ("-n", "2") if role == "worker" else ()
    runner = world.pytest(*options)
    try:
        runner.wait(moment)
    except subprocess.TimeoutExpired:
        victim = _victim(world, role, runner.pid)
        if victim is not None:
            os.kill(victim, signal.SIGKILL)
    runner.wait(60)
    wait_until("nothing left", lambda: not world.rest(), deadline=10, last=world.rest)

    assert world.pytest().wait(60) == 0, (world.folder / "said").read_text()
    wait_until("nothing left", lambda: not world.rest(), deadline=10, last=world.rest)
