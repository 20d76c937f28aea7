"""Two proxies: each is looked at by itself, so that one that lags behind is found, and named."""

import secrets
from collections.abc import Iterator

import pytest

from edgegate.clusters.kinds import SERVICE, Ref
from edgegate.components.envoy_gateway import NAME, NAMESPACE_NAME
from edgegate.edge import Edge
from edgegate.edge.proxies import Proxy
from edgegate.records import Versions
from edgegate.report.gate import Gate
from edgegate.settings import Settings


@pytest.fixture(scope="module")
def edge() -> Iterator[Edge]:
    """Return an edge with two proxies."""
    with Edge.open(Settings(replicas=2), f"replicas-{secrets.token_hex(4)}") as opened:
        yield opened


def _judged(edge: Edge) -> Gate:
    """Return the notebook of a guard that has watched the sentinel while it was edited."""
    gate = Gate("replicas", versions=lambda: Versions({}), again="pytest")
    with edge.guard(gate, edge.sentinel).unharmed(*edge.every_proxy()):
        pass
    return gate


def _cut_off(edge: Edge, proxy: Proxy) -> None:
    """Let a proxy hear nothing more of Envoy Gateway: what it is sent on its connection gets lost."""
    service = edge.downstream.get(Ref(SERVICE, NAME, NAMESPACE_NAME))
    assert service is not None
    there = service["spec"]["clusterIP"]
    own = f"--net=/run/netns/pod-{proxy.uid}"
    edge.lab.run(["nsenter", own, "ip", "route", "add", "blackhole", f"{there}/32"])


def test_two_sound_proxies_are_watched_one_by_one(edge: Edge) -> None:
    proxies = edge.every_proxy()
    assert [door.name for door in edge.doors()] == ["", *(f"by {proxy.name}" for proxy in proxies)]
    assert _judged(edge).evidence.findings == []


def test_one_that_lags_behind_is_named(edge: Edge) -> None:
    """Its neighbour answers rightly, so that every second look at the edge's address is right."""
    sound, stale = edge.every_proxy()
    _cut_off(edge, stale)
    found = _judged(edge).evidence.findings
    named = [one.subject for one in found if stale.name in one.subject]
    assert f"canary edit of sentinel by {stale.name}" in named
    assert not [one.subject for one in found if sound.name in one.subject]


def test_a_cold_restart_replaces_both(edge: Edge) -> None:
    before = {proxy.uid for proxy in edge.every_proxy()}
    after = edge.cold_restart()
    assert len(after) == 2
    assert not before & {proxy.uid for proxy in after}
    assert _judged(edge).evidence.findings == []
