"""What is harmless comes through the firewall as it went in, whether it blocks, observes or does nothing."""

import pytest

from edgegate import Edge, Gate, TenantFactory

pytestmark = [pytest.mark.edge_gate("waf-transparency"), pytest.mark.edge_parts("ladder", "waf")]


@pytest.mark.parametrize("mode", ["Enforce", "Observe", "Disabled"])
def test_with_firewall(edge: Edge, gate: Gate, tenant: TenantFactory, mode: str) -> None:
    """The same exchanges as without one. Lengths may become chunks: Envoy does that, see docs/waf.md."""
    shop = tenant("shop")
    edge.ladder.serve(shop, within=edge.limits.programmed)
    edge.firewall.guard(shop, mode, within=edge.limits.converge)
    edge.ladder.judge(gate, shop, reframed=True)
