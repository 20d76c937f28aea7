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
    hosts = [zone.host(f"www{number}") for number in range(PROXIES)]
    with edge.convergence(customer, hosts) as watching:
        for host in hosts:
            watching.begin(http_proxy(host))
            watching.wait(edge.limits.converged, host)
    watching.judge(gate, edge.budgets("one"))
