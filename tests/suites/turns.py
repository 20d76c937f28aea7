"""Tests that write down when they run; two of them want to be alone."""

import time
from pathlib import Path

import pytest


def _spend(name: str) -> None:
    with Path("turns").open("a") as told:
        told.write(f"begin {name}\n")
    end = time.monotonic() + 0.05
    while time.monotonic() < end:
        pass
    with Path("turns").open("a") as told:
        told.write(f"end {name}\n")


@pytest.mark.edge_exclusive
@pytest.mark.parametrize("number", range(2))
def test_alone(edge: object, number: int) -> None:
    _spend(f"alone-{number}")


@pytest.mark.parametrize("number", range(10))
def test_beside(edge: object, number: int) -> None:
    _spend(f"beside-{number}")
