"""Tests of which the first one's edge breaks."""

from pathlib import Path

import pytest

from edgegate import Gate, Source
from edgegate.errors import NeverReady


def _fells(how: str) -> None:
    Path(how).touch()


@pytest.mark.edge_gate("certificates")
@pytest.mark.parametrize("how", ["part-lost", "crashed"])
def test_breaks(gate: Gate, how: str) -> None:
    """Sees what comes of it."""
    _fells(how)
    gate.expect(Source.TRAFFIC, "shop https", 200, "no certificate")


@pytest.mark.edge_gate("certificates")
@pytest.mark.parametrize("how", ["part-lost", "crashed"])
def test_breaks_unseen(gate: Gate, how: str) -> None:
    """Would pass."""
    _fells(how)
    gate.expect(Source.TRAFFIC, "shop https", 200, 200)


@pytest.mark.edge_gate("certificates")
def test_another(gate: Gate) -> None:
    """Would wait for long."""
    raise NeverReady("certificate", limit="60.00 s", last="nothing")


@pytest.fixture
def customer(gate: Gate) -> None:
    """Cannot be made any more."""
    _fells("part-lost")
    raise NeverReady("namespace", limit="60.00 s", last="nothing")


def test_set_up(customer: None) -> None:
    """Never begins."""


def test_unit() -> None:
    """Uses no edge."""
