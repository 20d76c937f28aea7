"""A suite that brings an edge up and uses it for some seconds; meant to be killed meanwhile."""

import pytest

from edgegate import Edge
from edgegate.clock import MONOTONIC


@pytest.mark.parametrize("number", range(2))
def test_uses_the_edge(edge: Edge, number: int) -> None:
    """The sentinel answers, at the beginning and at the end."""
    for pause in (2.0, 0.0):
        with edge.sentinel.probe(tls=True) as probe:
            assert probe.get("/").ok, number
        MONOTONIC.sleep(pause)
