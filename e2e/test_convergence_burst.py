"""Twenty proxies that are created at once are all served over trusted HTTPS within their budgets."""

import pytest

from edgegate import Customer, Edge, Gate, HttpProxyFactory, ZoneFactory

pytestmark = [
    pytest.mark.edge_gate("convergence-burst"),
    pytest.mark.edge_exclusive,
    pytest.mark.edge_by_name,
    pytest.mark.edge_parts("operator"),
    pytest.mark.timeout(300),
]

PROXIES = 20


def test_twenty_at_once(
    edge: Edge, gate: Gate, customer: Customer, dns_zone: ZoneFactory, http_proxy: HttpProxyFactory
) -> None:
    """Every one of them comes to each stage, and the slowest within the budget of a burst."""
    zone = dns_zone()
    hosts = [zone.host(f"www{number}") for number in range(PROXIES)]
    with edge.convergence(customer, hosts) as watching:
        for host in hosts:
            watching.begin(http_proxy(host))
        watching.wait(edge.limits.converged)
    watching.judge(gate, edge.budgets("burst"))
