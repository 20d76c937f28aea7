"""A custom host name is served over trusted HTTPS within its budget, stage by stage, for one proxy at a time."""

import pytest

from edgegate import Customer, Edge, Gate, HttpProxyFactory, ZoneFactory

pytestmark = [
    pytest.mark.edge_gate("convergence"),
    pytest.mark.edge_exclusive,
    pytest.mark.edge_parts("operator"),
]

PROXIES = 5
"""The fewest of which a median tells something."""


def test_one_after_the_other(
    edge: Edge, gate: Gate, customer: Customer, dns_zone: ZoneFactory, http_proxy: HttpProxyFactory
) -> None:
    """Each of five proxies, created when the one before is served, comes to each stage within its budget."""
    zone = dns_zone()
    clocks = []
    for number in range(PROXIES):
        host = zone.host(f"www{number}")
        with edge.convergence(customer, [host]) as watching:
            watching.begin(http_proxy(host))
            watching.wait(edge.limits.converged)
        clocks += watching.clocks
    gate.stages(*clocks, budgets=edge.budgets("one"))
