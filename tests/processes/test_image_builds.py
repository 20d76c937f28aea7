"""The containerd that fills a node image ends with the build, `kill -9` included."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from edgegate.clock import wait_until

_BUILD = """
import sys
from pathlib import Path
from edgegate.artifacts.artifact import Artifact, Manifest
from edgegate.kind.content import import_images

place = Path(sys.argv[1])
packages = Artifact(place, Manifest("node-base", "12", {"containerd": "containerd", "ctr": "ctr"}))
import_images(packages, [], into=place / "content", scratch=place)
"""


def test_containerd_does_not_outlive_a_killed_build(tmp_path: Path) -> None:
    for name, body in (("containerd", f"echo $$ > {tmp_path}/pid; exec sleep 60"), ("ctr", "exit 1")):
        (tmp_path / name).write_text(f"#!/bin/sh\n{body}\n")
        (tmp_path / name).chmod(0o755)
    with subprocess.Popen([sys.executable, "-c", _BUILD, str(tmp_path)]) as build:
        pid = wait_until("containerd runs", lambda: _number(tmp_path / "pid"), deadline=10.0)
        os.kill(build.pid, signal.SIGKILL)
    wait_until("containerd gone", lambda: not Path(f"/proc/{pid}").exists(), deadline=5.0)


def _number(file: Path) -> int | None:
    return int(file.read_text() or 0) if file.exists() else None
