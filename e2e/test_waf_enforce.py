"""A firewall policy blocks attacks on those who asked for it, and leaves everything else byte for byte as it was."""

from itertools import cycle, islice

import pytest

from edgegate import Edge, Gate, GuardedFactory, HttpProxyFactory, Promises, Source, WafPolicyFactory

pytestmark = [
    pytest.mark.edge_gate("waf-enforce"),
    pytest.mark.edge_parts("operator", "waf", "ladder"),
]
FLIPS = 6
"""Changes of mode that are timed."""
PROMPT = 2.0
"""Seconds in which a change of mode must be seen on the wire; source: the operator's reliability list."""


def test_enforce(edge: Edge, gate: Gate, must: Promises, guarded: GuardedFactory, http_proxy: HttpProxyFactory) -> None:
    """Attacks are answered 403, harmless requests as before, and the neighbour's are his own business."""
    neighbour = http_proxy()
    other = neighbour.canonical(edge.limits.released)
    must.serve(neighbour, other)
    there = edge.firewall.harmless(neighbour, other)
    assert edge.firewall.attack(neighbour, other).status == 200, "control: nothing else stops the attack"
    site = guarded()
    edge.firewall.judge_modes(gate, site.proxy, site.host, site.before, blocked=True)
    edge.firewall.judge_modes(gate, neighbour, other, there, blocked=False)
    blocked = edge.firewall.requests(site.policy, "blocked")
    gate.check(Source.DATA_PLANE, repr(site.policy), "1 request blocked or more", blocked, right=blocked > 0)


@pytest.mark.parametrize("mode", ["Observe", "Disabled"])
def test_without_enforcing(edge: Edge, gate: Gate, guarded: GuardedFactory, mode: str) -> None:
    """Nothing is blocked; a policy that observes has seen the attack."""
    site = guarded(mode=mode)
    edge.firewall.judge_modes(gate, site.proxy, site.host, site.before, blocked=False)
    seen = edge.firewall.requests(site.policy, "blocked")
    gate.check(Source.DATA_PLANE, repr(site.policy), "0 requests blocked", seen, right=seen == 0)


def test_pages(edge: Edge, gate: Gate, guarded: GuardedFactory) -> None:
    """Pages that the firewall reads come out whole, whatever their size."""
    site = guarded(pages=True)
    edge.firewall.judge_pages(gate, site.proxy, site.host)


@pytest.mark.edge_exclusive
def test_change_of_mode(edge: Edge, gate: Gate, guarded: GuardedFactory) -> None:
    """A change of mode is seen on the wire within 2 s, and neither the firewall nor the status says it earlier."""
    site, limit = guarded(mode="Observe"), edge.limits.released
    flips = []
    for mode in islice(cycle(("Enforce", "Observe")), FLIPS):
        status = 403 if mode == "Enforce" else 200
        with gate.must(Source.TRAFFIC, f"{site.policy!r} in mode {mode}", f"{status} for an attack"):
            flips.append(edge.firewall.flip(site.policy, site.proxy, site.host, mode, status, limit))
    rows = [[f"{one.applied:.2f}", f"{one.wire:.2f}", f"{one.told:.2f}"] for one in flips]
    gate.table(
        "seconds from the change until …", ["the firewall has it", "the wire shows it", "the status says it"], rows
    )
    slow = [one.wire for one in flips if one.wire > PROMPT]
    gate.check(Source.TRAFFIC, "a change of mode", f"within {PROMPT:g} s", slow or "in time", right=not slow)


def test_exclusions(edge: Edge, gate: Gate, guarded: GuardedFactory) -> None:
    """What one policy excludes, another one does not."""
    strict = guarded()
    excluded = [{"type": "OWASPCoreRuleSet", "owaspCoreRuleSet": {"ruleExclusions": {"ids": [949110]}}}]
    lenient = guarded(blocks=False, ruleSets=excluded)
    for site, blocked in ((lenient, False), (strict, True)):
        edge.firewall.judge_modes(gate, site.proxy, site.host, site.before, blocked=blocked)


@pytest.mark.edge_exclusive
def test_older_policy_that_is_invalid(
    edge: Edge, gate: Gate, must: Promises, http_proxy: HttpProxyFactory, waf_policy: WafPolicyFactory
) -> None:
    """Inverted paranoia levels are refused; stored before there was that rule, they silence no valid policy."""
    proxy, limit = http_proxy(), edge.limits.released
    host = proxy.canonical(limit)
    must.serve(proxy, host)
    before = edge.firewall.harmless(proxy, host)
    levels = [{"type": "OWASPCoreRuleSet", "owaspCoreRuleSet": {"paranoiaLevels": {"blocking": 3, "detection": 1}}}]
    invalid = waf_policy(proxy, name="a-first", create=False, mode="Enforce", ruleSets=levels)

    def dry_run() -> None:
        proxy.customer.dry_run(invalid.manifest)

    must.refuse(invalid, dry_run, saying="detection")
    with edge.firewall.without_rule_on_levels(proxy.customer, dry_run, within=edge.limits.recover):
        invalid.create()
    must.come(invalid, "Accepted=False", lambda: invalid.wait_told("Accepted", "False", limit))
    edge.firewall.judge_modes(gate, proxy, host, before, blocked=False)
    valid = waf_policy(proxy, name="b-second", mode="Enforce")
    must.come(valid, "Programmed=True", lambda: valid.wait_told("Programmed", "True", limit))
    with gate.must(Source.TRAFFIC, f"attack on {proxy.name}", "403"):
        edge.firewall.wait_status(proxy, host, 403, limit)
    edge.firewall.judge_modes(gate, proxy, host, before, blocked=True)
