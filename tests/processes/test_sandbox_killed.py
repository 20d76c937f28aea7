"""Whoever is killed at whatever moment: the kernel ends the lab, nothing stays behind, and the next lab comes up.

EDGEGATE_TEST_KILLS says how many moments are tried for each victim.
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
from edgegate.lab import registry
from lab_parts import interfaces, processes, words_of

KILLS = int(os.environ.get("EDGEGATE_TEST_KILLS", "5"))
MOMENTS = random.Random(194)
CREATOR = Path(__file__).parents[1] / "lab_creator.py"
BRING_UP = 0.8
"""Seconds that the creator takes on a busy machine: python 0.2, lab 0.15, four children 0.2."""


@dataclass(frozen=True)
class World:
    """A network namespace of the test's own, so that other labs of the machine do not show."""

    holder: int
    folder: Path
    name: str

    @property
    def lab(self) -> Path:
        """The folder of the lab."""
        return self.folder / "labs/lab"

    def creator(self) -> "subprocess.Popen[bytes]":
        """Start a process that makes a lab."""
        argv = ["nsenter", "--net", "--target", str(self.holder), "--", sys.executable, str(CREATOR)]
        return subprocess.Popen(
            [*argv, str(self.lab), self.name],
            env={**os.environ, "TMPDIR": str(self.folder / "tmp")},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def rest(self) -> dict[str, object]:
        """Return what is left of labs: processes, interfaces, mounts, files outside the lab's folder."""
        left: dict[str, object] = {
            "processes": processes(self.name),
            "interfaces": [name for name in interfaces(self.holder) if name.startswith("edge")],
            "mounts": [line for line in Path("/proc/self/mounts").read_text().splitlines() if "edgegate" in line],
            "files": [*(self.folder / "tmp").iterdir(), *Path("/run").glob("edgegate*"), *Path("/run").glob("netns/*")],
        }
        return {kind: what for kind, what in left.items() if what}


@pytest.fixture
def world(privileged: None, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[World]:
    """Return a world without labs."""
    (tmp_path / "tmp").mkdir()
    argv = ["unshare", "--net", sys.executable, "-S", "-c", "print(flush=True); input()"]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        yield World(holder.pid, tmp_path, f"killed-{os.getpid()}-{id(request):x}")
        holder.communicate(b"\n")


def _victim(world: World, role: str) -> int | None:
    """Return launcher or supervisor of the world's lab, once it is there."""
    for pid in processes(f"--lab\0{world.name}"):
        words = words_of(pid)
        if words and (words[0] == b"unshare") == (role == "launcher") and words[0] != b"setsid":
            return pid
    return None


def _passes(process: "subprocess.Popen[bytes]", seconds: float) -> None:
    """Let time pass until the moment has come, or the process has ended."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return


def _kill(world: World, creator: "subprocess.Popen[bytes]", role: str) -> None:
    pid = creator.pid if role == "creator" else _victim(world, role)
    if pid is not None:
        os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("moment", [MOMENTS.uniform(0, BRING_UP) for _ in range(KILLS)], ids=lambda at: f"{at:.3f}s")
@pytest.mark.parametrize("role", ["creator", "launcher", "supervisor"])
def test_nothing_stays_behind(world: World, role: str, moment: float) -> None:
    with world.creator() as creator:
        if role != "creator":
            wait_until(role, lambda: _victim(world, role), deadline=5, every=0.001)
        _passes(creator, moment)
        _kill(world, creator, role)
        _, said = creator.communicate(timeout=20)
    wait_until("nothing left", lambda: not world.rest(), deadline=10, last=world.rest)
    assert said == b"" or said.splitlines()[-1].startswith(b"edgegate.errors.LabGone: lab killed-"), said.decode()

    with world.creator() as creator:
        assert creator.stdout is not None
        assert creator.stdout.readline() == b"up\n"
        assert set(world.rest()) == {"processes", "interfaces"}
        registry.attach(world.lab).down()
        assert not world.rest().keys() - {"processes"}  # the creator itself
        creator.communicate(timeout=20)
    assert not world.rest()
