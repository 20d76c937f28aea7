"""With the issuer as production has it, a custom host name is served over trusted HTTPS within 12 s."""

import pytest

from edgegate import Customer, Edge, Gate, HttpProxyFactory, ZoneFactory

pytestmark = [
    pytest.mark.edge_gate("convergence-self-check"),
    pytest.mark.edge_exclusive,
    pytest.mark.edge_parts("operator"),
    pytest.mark.timeout(240),
]


def test_production_setting(
    edge: Edge, gate: Gate, customer: Customer, dns_zone: ZoneFactory, http_proxy: HttpProxyFactory
) -> None:
    """The self check is one stage of the way, and no other stage is longer for it."""
    with edge.operator.issuing_by(edge.acme.self_check):
        host = dns_zone().host("www")
        with edge.convergence(customer, [host]) as watching:
            watching.begin(http_proxy(host))
            watching.wait(edge.limits.converged)
        watching.judge(gate, edge.budgets("one", setting="production"))
