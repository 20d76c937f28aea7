"""A proxy that is created in the same moment as its zone does not wait longer than the zone itself takes."""

import pytest

from edgegate import Customer, Edge, Gate, HttpProxyFactory, Source, ZoneFactory

pytestmark = [
    pytest.mark.edge_gate("convergence-fresh-zone"),
    pytest.mark.edge_exclusive,
    pytest.mark.edge_parts("operator"),
]


def test_zone_and_proxy_at_once(
    edge: Edge, gate: Gate, customer: Customer, dns_zone: ZoneFactory, http_proxy: HttpProxyFactory
) -> None:
    """The customer creates both, one after the other, and waits for neither."""
    zone = dns_zone(ready=False)
    host = zone.host("www")
    with edge.convergence(customer, [host]) as watching:
        zone.create()
        watching.begin(http_proxy(host))
        with gate.must(Source.STATUS, str(zone), "served, and its Domain verified"):
            edge.delegate(zone)
        watching.wait(edge.limits.converged)
    watching.judge(gate, edge.budgets("fresh-zone"))
