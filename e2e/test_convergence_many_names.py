"""A new record does not wait for the 1,500 names that its zone has already (#291, #292)."""

import pytest

from edgegate import Customer, Edge, Gate, HttpProxyFactory, ManyNames, ZoneFactory

pytestmark = [
    pytest.mark.edge_gate("convergence-many-names"),
    pytest.mark.edge_exclusive,
    pytest.mark.edge_parts("operator"),
    pytest.mark.timeout(400),
]

NAMES = 1500
"""As many waited in the queue of production's agent when records took 79 s (p95)."""


def test_new_host_in_a_full_zone(
    edge: Edge, gate: Gate, customer: Customer, dns_zone: ZoneFactory, http_proxy: HttpProxyFactory
) -> None:
    """While the agent has to look at all of them again, a new host name comes to each stage within its budget."""
    zone = dns_zone()
    names = ManyNames(zone, NAMES, edge.site.address)
    names.create()
    served = names.wait_served(edge.limits.converge)
    host = zone.host("www")
    with edge.convergence(customer, [host]) as watching:
        names.edit(ttl=61)
        watching.begin(http_proxy(host))
        watching.wait(edge.limits.converged)
    gate.poison(f"{NAMES:,} names in one zone, edited", live=len(names) == NAMES, evidence=f"{served:,} were served")
    watching.judge(gate, edge.budgets("full-zone"))
