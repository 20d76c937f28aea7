"""Of several firewall policies the right one acts: a route's before its Gateway's, and of two the oldest."""

import pytest

from edgegate import Edge, Gate, GuardedFactory, Promises, Source, WafPolicyFactory

pytestmark = [
    pytest.mark.edge_gate("waf-precedence"),
    pytest.mark.edge_parts("operator", "waf"),
]


def test_route_before_its_gateway(
    edge: Edge, gate: Gate, must: Promises, guarded: GuardedFactory, waf_policy: WafPolicyFactory
) -> None:
    """A route that only observes is not blocked by its Gateway's policy; when its own goes, the Gateway's acts."""
    site, limit = guarded(name="a-gateway"), edge.limits.released
    own = waf_policy(site.proxy, site.proxy.route, name="b-route", mode="Observe")
    must.come(own, "Accepted=True", lambda: own.wait_told("Accepted", "True", limit))
    with gate.must(Source.TRAFFIC, f"attack on {site.proxy.name}", "200, for the route's policy observes"):
        edge.firewall.wait_status(site.proxy, site.host, 200, limit)
    edge.firewall.judge_modes(gate, site.proxy, site.host, site.before, blocked=False)
    own.remove(limit)
    with gate.must(Source.TRAFFIC, f"attack on {site.proxy.name}", "403 by the Gateway's policy again"):
        edge.firewall.wait_status(site.proxy, site.host, 403, limit)


def test_older_of_two(
    edge: Edge, gate: Gate, must: Promises, guarded: GuardedFactory, waf_policy: WafPolicyFactory
) -> None:
    """The oldest policy for a target acts, and the other one says so; when it goes, the other one acts."""
    site, limit = guarded(name="z-older"), edge.limits.released
    site.policy.wait_older()
    newer = waf_policy(site.proxy, name="a-newer", mode="Observe")
    must.come(
        newer, "Accepted=False Conflicted", lambda: newer.wait_told("Accepted", "False", limit, reason="Conflicted")
    )
    must.never_answer(
        f"attack on {site.proxy.name}",
        "200",
        lambda: edge.firewall.wait_status(site.proxy, site.host, 200, edge.limits.settle),
    )
    edge.firewall.judge_modes(gate, site.proxy, site.host, site.before, blocked=True)
    site.policy.remove(limit)
    with gate.must(Source.TRAFFIC, f"attack on {site.proxy.name}", "200, for the other policy observes"):
        edge.firewall.wait_status(site.proxy, site.host, 200, limit)
