"""While the firewall is gone, what it guards is shut and nobody else notices; it comes back without a touch."""

import pytest

from edgegate import Edge, Gate, Guarded, GuardedFactory, HttpProxyFactory, Promises, Source

pytestmark = [
    pytest.mark.edge_gate("waf-outage"),
    pytest.mark.edge_exclusive,
    pytest.mark.edge_parts("operator", "waf"),
]


def _blocks_again(edge: Edge, gate: Gate, site: Guarded) -> None:
    with gate.must(Source.TRAFFIC, f"attack on {site.proxy.name}", "403 again"):
        edge.firewall.wait_status(site.proxy, site.host, 403, edge.limits.recover)


def test_killed(edge: Edge, gate: Gate, must: Promises, guarded: GuardedFactory, http_proxy: HttpProxyFactory) -> None:
    """Guarded host names answer 500 and never reach their origin; the neighbour is served in every look."""
    site, neighbour = guarded(), http_proxy()
    other = neighbour.canonical(edge.limits.released)
    must.serve(neighbour, other)
    with must.stay_served((neighbour, other, False)), edge.killed("waf"):
        shut = {
            "attack": edge.firewall.attack(site.proxy, site.host),
            "harmless": edge.firewall.harmless(site.proxy, site.host),
        }
        for what, answer in shut.items():
            gate.check(Source.TRAFFIC, f"{what}, no firewall", 500, answer.describe(), right=answer.status == 500)
    _blocks_again(edge, gate, site)
    edge.firewall.judge_modes(gate, site.proxy, site.host, site.before, blocked=True)


def test_frozen(edge: Edge, gate: Gate, must: Promises, guarded: GuardedFactory, http_proxy: HttpProxyFactory) -> None:
    """While it is frozen nobody gets past it, and the neighbour is served; it blocks as soon as it goes on.

    Visitors get no answer meanwhile: Envoy has no limit for the first message of a stream whose bodies go both ways at
    once, so there is no 500 as there is for a firewall that is gone.
    """
    site, neighbour = guarded(), http_proxy()
    other = neighbour.canonical(edge.limits.released)
    must.serve(neighbour, other)
    with must.stay_served((neighbour, other, False)):
        edge.pause("waf")
        attack = edge.firewall.attack(site.proxy, site.host)
        edge.resume("waf")
    right = attack.status in (None, 403, 500, 503, 504)
    subject = f"attack on {site.proxy.name}, firewall frozen"
    gate.check(Source.TRAFFIC, subject, "no 200", attack.describe(), right=right)
    _blocks_again(edge, gate, site)
