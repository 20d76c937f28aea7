"""A certificate that stays pending does not hold up its neighbour on the same proxy (#292)."""

import pytest

from edgegate import Customer, DomainFactory, Edge, Gate, HttpProxyFactory, ZoneFactory

pytestmark = [
    pytest.mark.edge_gate("convergence-pending-issuer"),
    pytest.mark.edge_exclusive,
    pytest.mark.edge_parts("operator"),
    pytest.mark.timeout(240),
]


def test_good_host_beside_a_pending_one(
    edge: Edge,
    gate: Gate,
    customer: Customer,
    dns_zone: ZoneFactory,
    domain: DomainFactory,
    http_proxy: HttpProxyFactory,
) -> None:
    """While the issuer waits for a name that does not resolve, the other host name comes to each stage in time."""
    good, elsewhere = dns_zone().host("good"), domain()
    pending = f"www.{elsewhere.name}"
    elsewhere.prove(edge.dns, within=edge.limits.converge)
    with edge.convergence(customer, [good]) as watching:
        proxy = http_proxy(pending, good)
        watching.begin(proxy)
        watching.wait(edge.limits.converged)
    said = proxy.condition_of(pending, "CertificateReady")
    evidence = f"CertificateReady={said.get('status')} ({said.get('reason')})"
    gate.poison(f"the certificate of {pending} is pending", live=said.get("status") == "False", evidence=evidence)
    watching.judge(gate, edge.budgets("one"))
