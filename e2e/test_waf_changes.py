"""While firewall policies come and go, no visitor gets an error, and what is to be blocked is blocked."""

from functools import partial

import pytest

from edgegate import Edge, Gate, GuardedFactory, HttpProxyFactory, Promises, Source, WafPolicyFactory

pytestmark = [
    pytest.mark.edge_gate("waf-changes"),
    pytest.mark.edge_exclusive,
    pytest.mark.edge_parts("operator", "waf"),
]
ROUNDS = 3
"""How often each change is made: one in three was seen by looks 18 ms apart where it was wrong."""


def test_comes_and_goes(
    edge: Edge, gate: Gate, must: Promises, http_proxy: HttpProxyFactory, waf_policy: WafPolicyFactory
) -> None:
    """A Gateway gets its first policy, and loses it: its visitors are served, on new connections and on kept ones."""
    proxy, limit = http_proxy(), edge.limits.released
    host = proxy.canonical(limit)
    must.serve(proxy, host)
    with edge.firewall.keeps_serving(gate, proxy, host), edge.firewall.visitor(gate, proxy, host):
        for number in range(ROUNDS):
            policy = waf_policy(proxy, name=f"firewall-{number}", mode="Enforce")
            must.come(policy, "Programmed=True", partial(policy.wait_told, "Programmed", "True", limit))
            with gate.must(Source.TRAFFIC, f"attack on {proxy.name}", "403"):
                edge.firewall.wait_status(proxy, host, 403, limit)
            policy.remove(limit)
            must.come(proxy, "nothing attached", lambda: edge.firewall.wait_detached(proxy, limit))


def test_beside_its_gateways(
    edge: Edge, gate: Gate, must: Promises, guarded: GuardedFactory, waf_policy: WafPolicyFactory
) -> None:
    """A route gets its own policy beside its Gateway's, and loses it: looks are served, and every attack is blocked."""
    site, limit = guarded(), edge.limits.released
    with edge.firewall.keeps_serving(gate, site.proxy, site.host, attack=True):
        for number in range(ROUNDS):
            own = waf_policy(site.proxy, site.proxy.route, name=f"own-{number}", mode="Enforce")
            must.come(own, "Programmed=True", partial(own.wait_told, "Programmed", "True", limit))
            own.remove(limit)


def test_outlives_its_gateways(
    edge: Edge, gate: Gate, must: Promises, guarded: GuardedFactory, waf_policy: WafPolicyFactory
) -> None:
    """A route keeps its own policy when its Gateway's goes, and comes back: the same."""
    site, limit = guarded(name="gateway"), edge.limits.released
    own = waf_policy(site.proxy, site.proxy.route, name="own", mode="Enforce")
    must.come(own, "Programmed=True", partial(own.wait_told, "Programmed", "True", limit))

    def stays_blocked() -> None:
        passes = partial(edge.firewall.wait_status, site.proxy, site.host, 200, edge.limits.settle)
        must.never_answer(f"attack on {site.proxy.name}", "200", passes)

    with edge.firewall.keeps_serving(gate, site.proxy, site.host, attack=True):
        site.policy.remove(limit)
        stays_blocked()
        again = waf_policy(site.proxy, name="gateway-again", mode="Enforce")
        must.come(again, "Programmed=True", partial(again.wait_told, "Programmed", "True", limit))
        stays_blocked()
