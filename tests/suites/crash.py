"""A worker dies in the middle of a gate; what comes after must still run."""

import os

import pytest

from edgegate import Gate


@pytest.mark.edge_gate("crash")
def test_dies(gate: Gate) -> None:
    os._exit(3)


@pytest.mark.parametrize("number", range(6))
def test_after(edge: object, number: int) -> None:
    """Goes on."""
