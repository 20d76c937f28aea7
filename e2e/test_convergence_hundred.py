"""With a hundred proxies on the edge a new one converges about as fast as on an empty edge."""

from statistics import median

import pytest

from edgegate import CrowdFactory, Customer, Edge, Gate, HttpProxyFactory, Slo, Source, TenantFactory, ZoneFactory

pytestmark = [
    pytest.mark.edge_gate("convergence-hundred"),
    pytest.mark.edge_exclusive,
    pytest.mark.edge_by_name,
    pytest.mark.edge_parts("operator"),
    pytest.mark.timeout(400),
]

PROXIES = 9
"""So many before the crowd comes, and so many with it. Of five a median jumps."""


def test_growth_with_a_hundred(
    edge: Edge,
    gate: Gate,
    edge_slo: Slo,
    customer: Customer,
    tenant: TenantFactory,
    dns_zone: ZoneFactory,
    http_proxy: HttpProxyFactory,
    crowd: CrowdFactory,
) -> None:
    """The median of each stage grew by no more than slo.toml allows, from the first proxies of the same run on."""
    witness, zone = tenant("witness"), dns_zone()

    def without_operator() -> float:
        return median(witness.time_edit(edge.limits.converge) for _ in range(PROXIES))

    few = [zone.host(f"few{number}") for number in range(PROXIES)]
    many = [zone.host(f"many{number}") for number in range(PROXIES)]
    with edge.operator.sharing_certificate(customer):
        with edge.convergence(customer, [*few, *many]) as watching:
            for number, host in enumerate(few):
                watching.spread(number, PROXIES)
                watching.begin(http_proxy(host))
                watching.wait(edge.limits.converged, host)
            before = without_operator()
            others = crowd(edge_slo.growth.subjects - PROXIES)
            with gate.must(Source.STATUS, f"{len(others)} other proxies", "programmed, with certificates"):
                others.wait_settled(edge.limits.settled)
            for number, host in enumerate(many):
                watching.spread(number, PROXIES)
                watching.begin(http_proxy(host))
                watching.wait(edge.limits.converged, host)
            after = without_operator()
        gate.note(
            f"a route edited below the operator: {before:.3f} s before, {after:.3f} s after, for this Envoy Gateway"
        )
        watching.judge_growth(gate, few, many, edge_slo.growth)
        others.remove(edge.limits.settled)
