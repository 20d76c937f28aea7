"""Workers share one real edge, and one that dies takes nobody else's edge away."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from edgegate.artifacts import Store
from edgegate.clock import wait_until
from edgegate.lab import registry

SUITE = Path(__file__).parents[1] / "suites/shared_edge.py"


@pytest.mark.timeout(300)
def test_the_edge_outlives_a_worker_that_is_killed(tmp_path: Path) -> None:
    """Its test fails, all others pass on the same edge, and the edge ends with the run."""
    (tmp_path / "cache").mkdir()
    (Store().root / "base").mkdir(exist_ok=True)
    for shared in ("store", "base"):
        (tmp_path / "cache" / shared).symlink_to(Store().root / shared)
    shutil.copy(SUITE, tmp_path / "test_shared_edge.py")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-n", "2", "-p", "no:cacheprovider", "test_shared_edge.py"],
        cwd=tmp_path,
        env={**os.environ, "EDGEGATE_CACHE": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )
    told = [line.split(" ", 2) for line in (tmp_path / "edges").read_text().splitlines()]
    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 failed, 5 passed" in done.stdout
    assert len({process for process, _, _ in told}) >= 2
    assert len({name for _, name, _ in told}) == 1
    assert {how for _, _, how in told} == {"started", "joined this run's edge"}
    wait_until("edge gone", lambda: not registry.labs(tmp_path / "cache"), deadline=10)
