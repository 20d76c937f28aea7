"""Tests of several workers that write down which edge they had; one worker is killed in the middle of its test."""

import os
import signal
from pathlib import Path

import pytest

from edgegate import Edge


@pytest.mark.parametrize("number", range(6))
def test_shares(edge: Edge, number: int) -> None:
    steps = ",".join(step.name for step in edge.opened.steps) or "none"
    with Path("edges").open("a") as told:
        told.write(f"{os.getpid()} {edge.lab.name} {steps} {edge.opened.how}\n")
    if number == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    with edge.sentinel.probe(tls=True) as probe:
        assert probe.get("/").ok
