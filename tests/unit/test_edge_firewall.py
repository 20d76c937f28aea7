"""The firewall as scenarios use it: its metrics, policies, and what Envoy Gateway is told of it."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from edgegate.clusters.kinds import GATEWAY, HTTP_ROUTE, Ref
from edgegate.components import waf
from edgegate.edge import attaching
from edgegate.edge.firewall import Firewall, same
from edgegate.edge.firewall_counts import Counts
from edgegate.edge.placements import LEAK, placements
from edgegate.edge.waf_policy import WafPolicy
from edgegate.errors import MetricsUnreachable, NotShown, ServerUnreachable
from edgegate.lab import LabNet
from edgegate.records import Answer
from servers import Script

METRICS = """# TYPE edgegate_waf_requests_total counter
edgegate_waf_policy_applied_generation{namespace="ns-1",name="a"} 3
edgegate_waf_held_bytes 7
edgegate_waf_requests_total{namespace="ns-1",name="a",verdict="blocked"} 2
edgegate_waf_requests_total{namespace="ns-2",name="a",verdict="blocked"} 9
"""


def _customer(found: Mapping[str, Any] | None = None) -> Any:
    def wait(ref: Ref, accept: Callable[[Any], bool], **_: Any) -> Any:
        return found if accept(found) else None

    upstream = SimpleNamespace(wait=wait)
    return SimpleNamespace(below="ns-1", upstream=upstream, ref=lambda kind, name: Ref(kind, name, "shop"))


def _policy(found: Mapping[str, Any] | None = None) -> WafPolicy:
    return WafPolicy("a", _customer(found), [Ref(GATEWAY, "g"), Ref(HTTP_ROUTE, "r")], {"mode": "Enforce"})


def _firewall(monkeypatch: pytest.MonkeyPatch, url: str) -> Firewall:
    monkeypatch.setattr(waf, "admin_url", lambda net: url)
    launch = SimpleNamespace(parts={"waf": ""}, lab=SimpleNamespace(net=None))
    return Firewall(cast(Any, launch), cast(Any, None))


def test_an_edge_without_one() -> None:
    with pytest.raises(NotShown, match="without the part 'waf'"):
        Firewall(cast(Any, SimpleNamespace(parts={})), cast(Any, None))


def test_what_it_counts(monkeypatch: pytest.MonkeyPatch, scripted: Callable[[Script], int]) -> None:
    """Of that policy alone, and 0 while there is nothing."""
    head = f"HTTP/1.1 200 OK\r\ncontent-length: {len(METRICS)}\r\nconnection: close\r\n\r\n"
    port = scripted(lambda connection: connection.sendall((head + METRICS).encode()))
    firewall, policy = _firewall(monkeypatch, f"http://127.0.0.1:{port}"), _policy()
    assert firewall.applied(policy) == 3
    assert firewall.requests(policy, "blocked") == 2
    assert firewall.requests(policy, "detected") == 0
    assert Counts(f"http://127.0.0.1:{port}").value("edgegate_waf_held_bytes") == 7


def test_one_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(MetricsUnreachable):
        _firewall(monkeypatch, "http://127.0.0.1:1").applied(_policy())
    with pytest.raises(ServerUnreachable, match="waf"):
        attaching.have_faults("http://127.0.0.1:1", ["stale-policy"])


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"appliedGeneration": 2}, attaching.Told(2)),
        (
            {"appliedGeneration": 1, "mistake": {"policy": "shop-1/guard", "line": 2, "message": "no"}},
            attaching.Told(1, "shop-1/guard, line 2: no"),
        ),
    ],
)
def test_what_it_says_of_a_policy(
    scripted: Callable[[Script], int], said: Mapping[str, Any], told: attaching.Told
) -> None:
    """The generation that is in force; and which policy has a mistake, on which line."""
    content = json.dumps({"policies": [said]})
    head = f"HTTP/1.1 200 OK\r\ncontent-length: {len(content)}\r\nconnection: close\r\n\r\n"
    port = scripted(lambda connection: connection.sendall((head + content).encode()))
    tenant = cast(Any, SimpleNamespace(namespace="shop-1"))
    assert attaching.tell(f"http://127.0.0.1:{port}", tenant, "Observe", generation=2) == told


def test_a_policy() -> None:
    assert _policy().manifest["spec"] == {
        "targetRefs": [
            {"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "g"},
            {"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "name": "r"},
        ],
        "mode": "Enforce",
    }


@pytest.mark.parametrize(
    ("statuses", "generation", "told"),
    [(["True", "True"], 2, True), (["True", "False"], 2, False), (["True"], 1, False)],
)
def test_a_policy_says_something_of_every_target_and_of_now(statuses: list[str], generation: int, told: bool) -> None:
    ancestors = [
        {"conditions": [{"type": "Programmed", "status": one, "reason": "x", "observedGeneration": generation}]}
        for one in statuses
    ]
    found = {"metadata": {"generation": 2}, "status": {"ancestors": ancestors}}
    assert bool(_policy(found).wait_told("Programmed", "True", 1)) is told


def test_what_envoy_gateway_is_told(tmp_path: Path) -> None:
    tenant = SimpleNamespace(namespace="shop-1", route=Ref(HTTP_ROUTE, "site", "shop-1"))
    backend, attachment = attaching.objects(cast(Any, tenant), LabNet(7))
    assert backend["spec"]["endpoints"] == [{"ip": {"address": "10.88.7.1", "port": waf.PORT}}]
    assert attachment["spec"]["targetRefs"][0]["name"] == "site"
    assert attachment["spec"]["extProc"][0]["backendRefs"][0]["name"] == backend["metadata"]["name"]


def test_placements_fit_their_bodies() -> None:
    """Every one has a name of its own; what passes says why, and what is blocked needs no reason."""
    found = placements()
    assert len({one.rung.name for one in found}) == len(found)
    assert all(bool(one.reason) == (one.status == 200) for one in found)
    for one in found:
        for body in (one.rung.answer.body, one.rung.body or one.rung.answer.body):
            for placed in body.placed:
                assert placed.offset + len(placed.text) <= body.size, one.rung.name
    assert any(LEAK in placed.text for one in found for placed in one.rung.answer.body.placed)


def test_the_same_answer() -> None:
    one = Answer("GET", "http://a", "b", 0.0, 0.1, 200, (), b"x")
    assert same(one, Answer("GET", "http://a", "b", 5.0, 0.9, 200, (), b"x"))
    assert not same(one, Answer("GET", "http://a", "b", 0.0, 0.1, 200, (), b"y"))
