"""A crowd of large uploads costs a firewall bounded memory, each arrives whole or is refused, and nobody else waits."""

from functools import partial

import pytest

from edgegate import (
    Apply,
    Edge,
    Gate,
    GuardedFactory,
    HttpProxyFactory,
    Promises,
    Source,
    WafPolicyFactory,
    redirecting_route,
)

pytestmark = [
    pytest.mark.edge_gate("waf-load"),
    pytest.mark.edge_exclusive,
    pytest.mark.edge_by_name,
    pytest.mark.edge_parts("operator", "waf", "ladder"),
    pytest.mark.timeout(420),
]
POLICIES = 50
UPLOADS, MIB = 200, 2**20
MOST = {"held": 256 + 50, "firewall": 900, "proxy": 400}
"""MiB. The firewall refuses what would make it hold more than 256 MiB of bodies; each of the 200 may add one more part
of up to 256 KiB before it is refused. Its 50 policies take 256 MiB, and its runtime leaves garbage: 696 MiB were seen
in all, and 1,790 without the limit. The proxy holds 32 KiB a connection."""
PARTS = {"held": "bodies that the firewall holds", "firewall": "memory of the firewall", "proxy": "memory of the proxy"}


def test_uploads(
    edge: Edge,
    gate: Gate,
    must: Promises,
    guarded: GuardedFactory,
    http_proxy: HttpProxyFactory,
    waf_policy: WafPolicyFactory,
    apply: Apply,
) -> None:
    """Two hundred files of 5 MiB at once: each arrives whole or is refused with 503, within bounded memory."""
    site, neighbour = guarded(pages=True), http_proxy()
    other = neighbour.canonical(edge.limits.released)
    must.serve(neighbour, other)
    routes = apply(
        *(redirecting_route(site.proxy.customer, site.proxy.gateway, f"r{number}") for number in range(POLICIES - 1)),
        to=edge.upstream,
    )
    others = [waf_policy(site.proxy, route, name=route.name, mode="Enforce") for route in routes]
    for policy in others:
        must.come(policy, "Programmed=True", partial(policy.wait_told, "Programmed", "True", edge.limits.converge))
    with edge.firewall.memory(edge.proxy()) as memory, must.stay_served((neighbour, other, False)):
        sent = edge.firewall.uploads(site.proxy, site.host).send(UPLOADS, 5 * MIB, within=150)
    gate.note(f"{sent.describe()}; {memory.first.describe()} before, at the most {memory.peak.describe()}")
    gate.check(
        Source.TRAFFIC, f"{UPLOADS} uploads", "whole, or refused with 503", sent.describe(), right=not sent.others
    )
    gate.check(Source.TRAFFIC, "uploads that arrive", "some", len(sent.whole), right=bool(sent.whole))
    for who, most in MOST.items():
        seen = getattr(memory.peak, who)
        gate.check(Source.DATA_PLANE, PARTS[who], f"at most {most} MiB", f"{seen:.0f} MiB", right=seen < most)
    with gate.must(Source.TRAFFIC, f"attack on {site.proxy.name} afterwards", "403"):
        edge.firewall.wait_status(site.proxy, site.host, 403, edge.limits.recover)
