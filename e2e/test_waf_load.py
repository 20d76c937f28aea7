"""A crowd of large uploads costs a firewall bounded memory, each arrives whole or is refused, and nobody else waits."""

from functools import partial

import pytest

from edgegate import (
    Apply,
    Edge,
    Gate,
    HttpProxy,
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
MOST = {"firewall": 1300, "proxy": 400}
"""MiB. The firewall has 50 policies (263 MiB measured) and may hold 256 MiB of bodies, which cost it up to three times
that: once for the rules, once for the way on, and what its runtime has not yet given back. The proxy holds 32 KiB a
connection."""


def _behind(edge: Edge, must: Promises, proxy: HttpProxy, waf_policy: WafPolicyFactory) -> str:
    """Put a proxy behind a firewall that enforces, and return its host name once attacks are blocked."""
    host = proxy.canonical(edge.limits.released)
    policy = waf_policy(proxy, mode="Enforce")
    must.come(policy, "Programmed=True", lambda: policy.wait_told("Programmed", "True", edge.limits.released))
    edge.firewall.wait_status(proxy, host, 403, edge.limits.released)
    return host


def _still_blocks(edge: Edge, gate: Gate, proxy: HttpProxy, host: str) -> None:
    with gate.must(Source.TRAFFIC, f"attack on {proxy.name} afterwards", "403"):
        edge.firewall.wait_status(proxy, host, 403, edge.limits.recover)


def test_uploads(
    edge: Edge,
    gate: Gate,
    must: Promises,
    http_proxy: HttpProxyFactory,
    waf_policy: WafPolicyFactory,
    apply: Apply,
) -> None:
    """Two hundred files of 5 MiB at once: each arrives whole or is refused with 503, within bounded memory."""
    guarded, neighbour = http_proxy(backend=edge.firewall.page_origin), http_proxy()
    other = neighbour.canonical(edge.limits.released)
    must.serve(neighbour, other)
    host = _behind(edge, must, guarded, waf_policy)
    routes = apply(
        *(redirecting_route(guarded.customer, guarded.gateway, f"r{number}") for number in range(POLICIES - 1)),
        to=edge.upstream,
    )
    others = [waf_policy(guarded, route, name=route.name, mode="Enforce") for route in routes]
    for policy in others:
        must.come(policy, "Programmed=True", partial(policy.wait_told, "Programmed", "True", edge.limits.converge))
    with edge.firewall.memory(edge.proxy()) as memory, must.stay_served((neighbour, other, False)):
        sent = edge.firewall.uploads(guarded, host).send(UPLOADS, 5 * MIB, within=150)
    gate.note(f"{sent.describe()}; {memory.first.describe()} before, at the most {memory.peak.describe()}")
    gate.check(
        Source.TRAFFIC, f"{UPLOADS} uploads", "whole, or refused with 503", sent.describe(), right=not sent.others
    )
    gate.check(Source.TRAFFIC, "uploads that arrive", "some", len(sent.whole), right=bool(sent.whole))
    for who, most in MOST.items():
        seen = getattr(memory.peak, who)
        gate.check(
            Source.DATA_PLANE, f"memory of the {who}", f"at most {most} MiB", f"{seen:.0f} MiB", right=seen < most
        )
    _still_blocks(edge, gate, guarded, host)
