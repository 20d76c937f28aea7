"""Scenarios: one promise a file."""

import pytest

from edgegate import Edge, Gate, Tenant
from edgegate import LoginScenario as Login


@pytest.fixture
def login(edge: Edge, gate: Gate, neighbour: Tenant) -> Login:
    """The checks of login policies, with the neighbour and the sentinel watched."""
    return Login(edge, gate, edge.guard(gate, neighbour, edge.sentinel))
