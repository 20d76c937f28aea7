"""The measurement of the watcher prints one JSON object."""

import json
import subprocess
import sys

import pytest

from servers import free_port, origin_process


def _measure(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "edgegate.probes.measure", "--host", "a.example", "--seconds", "0.3", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_numbers() -> None:
    with origin_process("a") as origin:
        done = _measure("--http", f"127.0.0.1:{origin.port}", "--copies", "2")

    found = json.loads(done.stdout)
    assert done.returncode == 0
    assert (found["targets"], found["wrong"], found["outages"]) == (2, 0, [])
    assert 0 < found["gap_p50"] <= found["gap_p95"] <= found["gap_max"]
    assert 0 < found["fewest_looks_per_second"] < 60
    assert found["looks_per_second"] > found["fewest_looks_per_second"]


def test_wrong_answers_are_told() -> None:
    done = _measure("--https", f"127.0.0.1:{free_port()}", "--copies", "1")

    found = json.loads(done.stdout)
    assert done.returncode == 1
    assert found["targets"] == 2
    assert "refused" in found["outages"][0]


def test_nothing_to_measure() -> None:
    done = _measure()

    assert done.returncode == 2
    assert "--http, --https or both are needed" in done.stderr


@pytest.mark.parametrize("where", ["127.0.0.1", "127.0.0.1:http"])
def test_wrong_address(where: str) -> None:
    done = _measure("--http", where)

    assert done.returncode == 2
    assert f"'{where}' is not ADDRESS:PORT" in done.stderr
