"""Somebody else writes the same objects, so that writes conflict; a new host name does not wait for that (#166)."""

import pytest

from edgegate import Customer, Edge, Gate, HttpProxyFactory, Quarrel, ZoneFactory

pytestmark = [
    pytest.mark.edge_gate("convergence-conflicts"),
    pytest.mark.edge_exclusive,
    pytest.mark.edge_parts("operator"),
    pytest.mark.timeout(240),
]

BURST = 1.0
"""Seconds for which writes conflict. The machine is busy with that meanwhile; a back-off of 5 s outlasts it."""


def test_new_host_after_conflicts(
    edge: Edge, gate: Gate, customer: Customer, dns_zone: ZoneFactory, http_proxy: HttpProxyFactory
) -> None:
    """A host name that is added in a burst of conflicts comes to each stage within its budget all the same."""
    zone = dns_zone()
    first, later = zone.host("first"), zone.host("later")
    proxy = http_proxy(first)
    proxy.wait_served(first, tls=True, within=edge.limits.converged)
    with edge.convergence(customer, [later]) as watching:
        with Quarrel(customer, proxy.ref, proxy.gateway, proxy.route) as quarrel:
            watching.edit(proxy, first, later)
            quarrel.last(BURST)
        watching.wait(edge.limits.converged)
    evidence = f"of {quarrel.tried} writes that insisted on what they had read, {quarrel.refused} refused with 409"
    gate.poison("somebody else writes proxy, Gateway and route", live=quarrel.live, evidence=evidence)
    watching.judge(gate, edge.budgets("one"))
