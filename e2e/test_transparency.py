"""What goes through the edge comes out as it went in: every byte, every header that matters, nothing held back."""

import pytest

from edgegate import Edge, Gate, TenantFactory

pytestmark = [pytest.mark.edge_gate("transparency"), pytest.mark.edge_parts("ladder")]


def test_without_firewall(edge: Edge, gate: Gate, tenant: TenantFactory) -> None:
    """Answers and requests of every size and shape, from HTTP/1.1 and HTTP/2 clients to HTTP/1.1 and HTTP/2 origins."""
    shop = tenant("shop")
    edge.ladder.serve(shop, within=edge.limits.programmed)
    edge.ladder.judge(gate, shop)
