"""A firewall policy acts for its own customer alone: neither one of the same name nor one that is wrong touches it."""

import pytest

from edgegate import (
    ControlPlane,
    CustomerFactory,
    Edge,
    Gate,
    GuardedFactory,
    Source,
    TenantFactory,
)

pytestmark = [
    pytest.mark.edge_gate("waf-isolation"),
    pytest.mark.edge_exclusive,
    pytest.mark.edge_parts("operator", "waf"),
]


def test_equal_names_in_two_projects(
    edge: Edge, gate: Gate, project: ControlPlane, customers: CustomerFactory, guarded: GuardedFactory
) -> None:
    """Namespaces, proxies and policies have the same names in two projects; each does what its own customer says."""
    first = customers("twin")
    second = customers("twin", project=project, namespace=first.namespace)
    strict = guarded(customer=first, proxy_name="site", name="firewall")
    lenient = guarded(customer=second, proxy_name="site", name="firewall", mode="Observe")
    for site, blocked in ((strict, True), (lenient, False)):
        edge.firewall.judge_modes(gate, site.proxy, site.host, site.before, blocked=blocked)
    for site, mode, status in ((strict, "Observe", 200), (lenient, "Enforce", 403)):
        site.policy.edit(mode=mode)
        with gate.must(Source.TRAFFIC, f"attack on {site.policy.customer}", f"{status} in mode {mode}"):
            edge.firewall.wait_status(site.proxy, site.host, status, edge.limits.released)


def test_bad_directive(edge: Edge, gate: Gate, tenant: TenantFactory) -> None:
    """A directive that is refused is told with its policy and line; the policy acts as before, and others change."""
    bad, other = tenant("bad"), tenant("other")
    for one in (bad, other):
        edge.firewall.guard(one, "Enforce", within=edge.limits.converge)
    edge.firewall.judge_bad_directive(gate, bad, other, within=edge.limits.released)
