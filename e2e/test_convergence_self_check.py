"""With the issuer as production has it, a custom host name is served over trusted HTTPS within 12 s."""

import pytest

from edgegate import Customer, Edge, Gate, HttpProxyFactory, ZoneFactory

pytestmark = [
    pytest.mark.edge_gate("convergence-self-check"),
    pytest.mark.edge_exclusive,
    pytest.mark.edge_parts("operator"),
    pytest.mark.timeout(240),
]

PROXIES = 2
"""At once, because each mostly waits: cert-manager looks five times, 2 s apart, before it asks the authority. It does
that for five host names at a time, and each proxy has two."""


def test_production_setting(
    edge: Edge, gate: Gate, customer: Customer, dns_zone: ZoneFactory, http_proxy: HttpProxyFactory
) -> None:
    """The self check is one stage of the way, and no other stage is longer for it."""
    with edge.operator.issuing_by(edge.acme.self_check):
        zone = dns_zone()
        hosts = [zone.host(f"www{number}") for number in range(PROXIES)]
        with edge.convergence(customer, hosts) as watching:
            for host in hosts:
                watching.begin(http_proxy(host))
            watching.wait(edge.limits.converged)
        watching.judge(gate, edge.budgets("one", setting="production"))
