"""A firewall policy blocks attacks on those who asked for it, and leaves everything else byte for byte as it was."""

from itertools import cycle, islice

import pytest

from edgegate import Edge, Gate, HttpProxy, HttpProxyFactory, Promises, Source, WafPolicy, WafPolicyFactory

pytestmark = [
    pytest.mark.edge_gate("waf-enforce"),
    pytest.mark.edge_exclusive,
    pytest.mark.edge_parts("operator", "waf", "ladder"),
]
FLIPS = 6
"""Changes of mode that are timed."""
PROMPT = 2.0
"""Seconds in which a change of mode must be seen on the wire; source: the operator's reliability list."""


def _served(edge: Edge, must: Promises, proxy: HttpProxy) -> str:
    host = proxy.canonical(edge.limits.released)
    must.serve(proxy, host)
    return host


def _in_force(edge: Edge, must: Promises, policy: WafPolicy) -> None:
    must.come(policy, "Programmed=True", lambda: policy.wait_told("Programmed", "True", edge.limits.released))


def _blocks(edge: Edge, gate: Gate, proxy: HttpProxy, host: str) -> None:
    with gate.must(Source.TRAFFIC, f"attack on {proxy.name}", "403"):
        edge.firewall.wait_status(proxy, host, 403, edge.limits.released)


def test_enforce(
    edge: Edge, gate: Gate, must: Promises, http_proxy: HttpProxyFactory, waf_policy: WafPolicyFactory
) -> None:
    """Attacks are answered 403, harmless requests as before, and the neighbour's are his own business."""
    guarded, neighbour = http_proxy(), http_proxy()
    host, other = _served(edge, must, guarded), _served(edge, must, neighbour)
    before, there = edge.firewall.harmless(guarded, host), edge.firewall.harmless(neighbour, other)
    assert edge.firewall.attack(guarded, host).status == 200, "control: nothing else stops the attack"
    policy = waf_policy(guarded, mode="Enforce")
    _in_force(edge, must, policy)
    _blocks(edge, gate, guarded, host)
    edge.firewall.judge_modes(gate, guarded, host, before, blocked=True)
    edge.firewall.judge_modes(gate, neighbour, other, there, blocked=False)
    blocked = edge.firewall.requests(policy, "blocked")
    gate.check(Source.DATA_PLANE, repr(policy), "1 request blocked or more", blocked, right=blocked > 0)


@pytest.mark.parametrize("mode", ["Observe", "Disabled"])
def test_without_enforcing(
    edge: Edge, gate: Gate, must: Promises, http_proxy: HttpProxyFactory, waf_policy: WafPolicyFactory, mode: str
) -> None:
    """Nothing is blocked; a policy that observes has seen the attack."""
    proxy = http_proxy()
    host = _served(edge, must, proxy)
    before = edge.firewall.harmless(proxy, host)
    policy = waf_policy(proxy, mode=mode)
    _in_force(edge, must, policy)
    if mode == "Observe":
        with gate.must(Source.DATA_PLANE, repr(policy), "notices an attack"):
            edge.firewall.wait_detected(policy, proxy, host, edge.limits.released)
    edge.firewall.judge_modes(gate, proxy, host, before, blocked=False)
    seen = edge.firewall.requests(policy, "blocked")
    gate.check(Source.DATA_PLANE, repr(policy), "0 requests blocked", seen, right=seen == 0)


def test_pages(
    edge: Edge, gate: Gate, must: Promises, http_proxy: HttpProxyFactory, waf_policy: WafPolicyFactory
) -> None:
    """Pages that the firewall reads come out whole, whatever their size."""
    proxy = http_proxy(backend=edge.firewall.page_origin)
    host = proxy.canonical(edge.limits.released)
    edge.firewall.wait_pages(proxy, host, edge.limits.converge)
    policy = waf_policy(proxy, mode="Enforce")
    _in_force(edge, must, policy)
    _blocks(edge, gate, proxy, host)
    edge.firewall.judge_pages(gate, proxy, host)


def test_change_of_mode(
    edge: Edge, gate: Gate, must: Promises, http_proxy: HttpProxyFactory, waf_policy: WafPolicyFactory
) -> None:
    """A change of mode is seen on the wire within 2 s, and neither the firewall nor the status says it earlier."""
    proxy = http_proxy()
    host = _served(edge, must, proxy)
    policy = waf_policy(proxy, mode="Observe")
    _in_force(edge, must, policy)
    edge.firewall.wait_detected(policy, proxy, host, edge.limits.released)
    flips = []
    for mode in islice(cycle(("Enforce", "Observe")), FLIPS):
        status = 403 if mode == "Enforce" else 200
        with gate.must(Source.TRAFFIC, f"{policy!r} in mode {mode}", f"{status} for an attack"):
            flips.append(edge.firewall.flip(policy, proxy, host, mode, status, edge.limits.released))
    rows = [[f"{one.applied:.2f}", f"{one.wire:.2f}", f"{one.told:.2f}"] for one in flips]
    gate.table(
        "seconds from the change until …", ["the firewall has it", "the wire shows it", "the status says it"], rows
    )
    slow = [one.wire for one in flips if one.wire > PROMPT]
    gate.check(Source.TRAFFIC, "a change of mode", f"within {PROMPT:g} s", slow or "in time", right=not slow)


def test_exclusions(
    edge: Edge, gate: Gate, must: Promises, http_proxy: HttpProxyFactory, waf_policy: WafPolicyFactory
) -> None:
    """What one policy excludes, another one does not."""
    lenient, strict = http_proxy(), http_proxy()
    hosts = [_served(edge, must, one) for one in (lenient, strict)]
    before = [edge.firewall.harmless(one, host) for one, host in zip((lenient, strict), hosts, strict=True)]
    excluded = [{"type": "OWASPCoreRuleSet", "owaspCoreRuleSet": {"ruleExclusions": {"ids": [949110]}}}]
    first = waf_policy(lenient, mode="Enforce", ruleSets=excluded)
    second = waf_policy(strict, mode="Enforce")
    for policy in (first, second):
        _in_force(edge, must, policy)
    _blocks(edge, gate, strict, hosts[1])
    edge.firewall.judge_modes(gate, lenient, hosts[0], before[0], blocked=False)
    edge.firewall.judge_modes(gate, strict, hosts[1], before[1], blocked=True)


def test_older_policy_that_is_invalid(
    edge: Edge, gate: Gate, must: Promises, http_proxy: HttpProxyFactory, waf_policy: WafPolicyFactory
) -> None:
    """Inverted paranoia levels are refused; stored before there was that rule, they silence no valid policy."""
    proxy = http_proxy()
    host = _served(edge, must, proxy)
    before = edge.firewall.harmless(proxy, host)
    levels = [{"type": "OWASPCoreRuleSet", "owaspCoreRuleSet": {"paranoiaLevels": {"blocking": 3, "detection": 1}}}]
    invalid = waf_policy(proxy, name="a-first", create=False, mode="Enforce", ruleSets=levels)

    def dry_run() -> None:
        proxy.customer.dry_run(invalid.manifest)

    must.refuse(invalid, dry_run, saying="detection")
    with edge.firewall.without_rule_on_levels(proxy.customer, dry_run, within=edge.limits.recover):
        invalid.create()
    must.come(invalid, "Accepted=False", lambda: invalid.wait_told("Accepted", "False", edge.limits.released))
    edge.firewall.judge_modes(gate, proxy, host, before, blocked=False)
    valid = waf_policy(proxy, name="b-second", mode="Enforce")
    _in_force(edge, must, valid)
    _blocks(edge, gate, proxy, host)
    edge.firewall.judge_modes(gate, proxy, host, before, blocked=True)
