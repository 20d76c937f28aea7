"""While the firewall is gone, what it guards is shut and nobody else notices; it comes back without a touch."""

import pytest

from edgegate import Edge, Gate, HttpProxyFactory, Promises, Source, WafPolicyFactory

pytestmark = [
    pytest.mark.edge_gate("waf-outage"),
    pytest.mark.edge_exclusive,
    pytest.mark.edge_parts("operator", "waf"),
]


def test_killed(
    edge: Edge, gate: Gate, must: Promises, http_proxy: HttpProxyFactory, waf_policy: WafPolicyFactory
) -> None:
    """Guarded host names answer 500 and never reach their origin; the neighbour is served in every look."""
    guarded, neighbour = http_proxy(), http_proxy()
    host, other = (one.canonical(edge.limits.released) for one in (guarded, neighbour))
    for proxy, name in ((guarded, host), (neighbour, other)):
        must.serve(proxy, name)
    before = edge.firewall.harmless(guarded, host)
    waf_policy(guarded, mode="Enforce")
    with gate.must(Source.TRAFFIC, f"attack on {guarded.name}", "403"):
        edge.firewall.wait_status(guarded, host, 403, edge.limits.released)
    with must.stay_served((neighbour, other, False)), edge.killed("waf"):
        shut = {"attack": edge.firewall.attack(guarded, host), "harmless": edge.firewall.harmless(guarded, host)}
        for what, answer in shut.items():
            gate.check(Source.TRAFFIC, f"{what}, no firewall", 500, answer.describe(), right=answer.status == 500)
    with gate.must(Source.TRAFFIC, f"attack on {guarded.name}", "403 again"):
        edge.firewall.wait_status(guarded, host, 403, edge.limits.recover)
    edge.firewall.judge_modes(gate, guarded, host, before, blocked=True)


def test_frozen(
    edge: Edge, gate: Gate, must: Promises, http_proxy: HttpProxyFactory, waf_policy: WafPolicyFactory
) -> None:
    """While it is frozen nobody gets past it, and the neighbour is served; it blocks as soon as it goes on.

    Visitors get no answer meanwhile: Envoy has no limit for the first message of a stream whose bodies go both ways at
    once, so there is no 500 as there is for a firewall that is gone.
    """
    guarded, neighbour = http_proxy(), http_proxy()
    host, other = (one.canonical(edge.limits.released) for one in (guarded, neighbour))
    for proxy, name in ((guarded, host), (neighbour, other)):
        must.serve(proxy, name)
    waf_policy(guarded, mode="Enforce")
    with gate.must(Source.TRAFFIC, f"attack on {guarded.name}", "403"):
        edge.firewall.wait_status(guarded, host, 403, edge.limits.released)
    with must.stay_served((neighbour, other, False)):
        edge.pause("waf")
        attack = edge.firewall.attack(guarded, host)
        edge.resume("waf")
    right = attack.status in (None, 403, 500, 503, 504)
    gate.check(Source.TRAFFIC, f"attack on {guarded.name}, firewall frozen", "no 200", attack.describe(), right=right)
    with gate.must(Source.TRAFFIC, f"attack on {guarded.name}", "403 again"):
        edge.firewall.wait_status(guarded, host, 403, edge.limits.recover)
