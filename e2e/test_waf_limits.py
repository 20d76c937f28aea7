"""Around each of its limits the firewall blocks, refuses, or lets pass as documented, and nothing passes in silence."""

import pytest

from edgegate import Edge, Gate, TenantFactory

pytestmark = [pytest.mark.edge_gate("waf-limits"), pytest.mark.edge_parts("ladder", "waf")]


def test_attacks_and_leaks(edge: Edge, gate: Gate, tenant: TenantFactory) -> None:
    """Before, across and beyond each limit, compressed, in chunks; what passes unseen is counted, with its reason."""
    shop = tenant("shop")
    edge.ladder.serve(shop, within=edge.limits.programmed)
    edge.firewall.guard(shop, "Enforce", within=edge.limits.converge)
    edge.firewall.judge_limits(gate, shop)
