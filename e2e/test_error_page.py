"""The edge's own errors have the page of whoever runs it, byte for byte; what an origin answers is left alone."""

import pytest

from edgegate import Customer, Edge, Gate, HttpProxyFactory, Promises, ZoneFactory, inconclusive

pytestmark = [
    pytest.mark.edge_gate("error-page"),
    pytest.mark.edge_exclusive,
    pytest.mark.edge_parts("operator"),
    pytest.mark.timeout(300),  # where listeners are refused, each wait runs out
]


def test_origin_is_down(
    edge: Edge, gate: Gate, customer: Customer, dns_zone: ZoneFactory, http_proxy: HttpProxyFactory, must: Promises
) -> None:
    """A proxy whose origin is down shows the page over HTTP and HTTPS, with its 503; nobody else notices it."""
    if not edge.has("error-page"):
        inconclusive("the real operator brands errors in its extension server, which the lab does not run")
    zone = dns_zone()
    down, sound = zone.host("down"), zone.host("sound")
    with edge.operator.branding(), edge.guard(gate, edge.sentinel).unharmed(*edge.every_proxy()):
        beside = http_proxy(sound)
        proxy = http_proxy(down, backend=edge.nobody)
        must.show_page(proxy, down)
        must.serve(beside, sound)
        if must.secure(down):
            must.show_page(proxy, down, tls=True)
            must.serve(beside, sound, tls=True)
    must.own_error(beside, sound)
