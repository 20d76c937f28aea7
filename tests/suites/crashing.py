"""Tests while an Envoy crashes and is started again."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from edgegate import Edge, Gate, Source
from edgegate.errors import AdminUnreachable


def _crashes() -> None:
    Path("envoy-crashed").touch()


@pytest.fixture
def undone() -> Iterator[None]:
    """Does not survive to be taken away."""
    yield
    _crashes()


@pytest.mark.edge_gate("logins")
def test_unseen(gate: Gate) -> None:
    """Would pass."""
    _crashes()
    gate.expect(Source.TRAFFIC, "shop https", 200, 200)


@pytest.mark.edge_gate("logins")
def test_not_back(gate: Gate) -> None:
    """Asks an Envoy that does not run."""
    _crashes()
    raise AdminUnreachable("http://10.88.7.140:19000/stats", reason="refused")


@pytest.mark.edge_gate("logins")
def test_undoes(gate: Gate, undone: None) -> None:
    """Would pass."""
    gate.expect(Source.TRAFFIC, "shop https", 200, 200)


def test_without_a_notebook(edge: Edge) -> None:
    """Would pass."""
    _crashes()


@pytest.mark.edge_gate("logins")
def test_another(gate: Gate) -> None:
    """Is not to be blamed."""
