"""Whether an edge of somebody else's can be used is told before anything is changed, all that is missing at once."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from edgegate.clusters.access import Need, forbidden
from edgegate.clusters.kinds import ENVOY_PROXY, GATEWAY_CLASS, HTTP_PROXY, POD, SECURITY_POLICY, Ref
from edgegate.clusters.plane import ControlPlane
from edgegate.edge.backends.attach import preflight
from edgegate.edge.backends.attach.preflight import Found, check
from edgegate.errors import AttachRefused
from kube_api import KubeApi, condition, kubeconfig, serve
from servers import free_port

MERGED = Ref(ENVOY_PROXY, "merged", "system")


@pytest.fixture
def both(tmp_path: Path) -> Iterator[tuple[KubeApi, ControlPlane]]:
    with serve(tmp_path) as made:
        made[0].write(MERGED.manifest({"mergeGateways": True}))
        _class(made[0], "edge")
        yield made


@pytest.fixture
def api(both: tuple[KubeApi, ControlPlane]) -> KubeApi:
    return both[0]


@pytest.fixture
def plane(both: tuple[KubeApi, ControlPlane]) -> ControlPlane:
    return both[1]


def _class(api: KubeApi, name: str, controller: str = "gateway.envoyproxy.io/x", settings: Ref | None = MERGED) -> None:
    spec: dict[str, Any] = {"controllerName": controller}
    if settings:
        spec["parametersRef"] = {"kind": "EnvoyProxy", "name": settings.name, "namespace": settings.namespace}
    manifest = Ref(GATEWAY_CLASS, name).manifest(spec)
    condition(manifest, "Accepted")
    api.write(manifest)


def _problems(
    plane: ControlPlane, upstream: ControlPlane | None = None, *, wanted: str = "", allow: tuple[str, ...] = ()
) -> str:
    with pytest.raises(AttachRefused) as raised:
        check(plane, upstream, gateway_class=wanted, allow=frozenset(allow))
    return "\n".join(raised.value.problems)


def test_what_there_is(plane: ControlPlane) -> None:
    assert check(plane, plane, gateway_class="", allow=frozenset()) == Found("edge", operator=True)
    assert check(plane, None, gateway_class="edge", allow=frozenset()) == Found("edge", operator=False)


def test_it_changes_nothing(api: KubeApi, plane: ControlPlane) -> None:
    before = dict(api.objects)
    check(plane, plane, gateway_class="", allow=frozenset())
    assert api.objects == before
    assert {one.path for one in api.asked if one.method != "GET"} == {
        "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    }


def test_without_an_operator_upstream_there_is_none(api: KubeApi, plane: ControlPlane) -> None:
    api.refusals["GET", HTTP_PROXY.group_path] = (404, {"message": "not found"})
    assert not check(plane, plane, gateway_class="", allow=frozenset()).operator


def test_a_cluster_that_does_not_answer(plane: ControlPlane, tmp_path: Path) -> None:
    silent = ControlPlane("upstream", kubeconfig(tmp_path / "silent", free_port()))
    began = time.monotonic()
    said = _problems(plane, silent)
    assert said.startswith("upstream: upstream control plane did not answer GET /version")
    assert "the kubeconfig that of this cluster?" in said
    assert time.monotonic() - began < 3


def test_a_cluster_that_hangs_is_not_waited_for(
    plane: ControlPlane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preflight, "ANSWER", 0.1)
    hanging = ControlPlane("upstream", tmp_path / "none")
    monkeypatch.setattr(hanging, "request", lambda *words, **more: time.sleep(1.5))
    began = time.monotonic()
    said = _problems(plane, hanging)
    assert said.startswith("upstream: its control plane did not answer within 0.1 s. Is its address reachable")
    assert "a program for logins (exec), it must end by itself" in said
    assert time.monotonic() - began < 1.4
    assert all(thread.daemon for thread in threading.enumerate() if thread.name.endswith("(one)")), "the end would wait"


def test_a_kubeconfig_that_cannot_be_used(plane: ControlPlane, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_text(plane.kubeconfig.read_text().replace("current-context: test", "current-context: none"))
    said = _problems(plane, ControlPlane("upstream", broken))
    assert said.startswith("upstream: its kubeconfig cannot be used: Invalid kube-config file")


def test_all_that_is_forbidden_is_named(api: KubeApi, plane: ControlPlane) -> None:
    api.denied = {("create", "namespaces"), ("patch", "securitypolicies"), ("delete", "pods"), ("list", "httpproxies")}
    said = _problems(plane, plane)
    first, second = said.splitlines()
    assert first.startswith("downstream forbids: create Namespace, patch SecurityPolicy. Bind the ClusterRole")
    assert "create Namespace, list HTTPProxy, patch SecurityPolicy" in second
    assert "delete Pod" in _problems(plane, plane, allow=("cold-restart",))


def test_a_cluster_that_does_not_know_who_asks(api: KubeApi, plane: ControlPlane) -> None:
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    api.refusals["POST", path] = (401, {"message": "Unauthorized"})
    assert "downstream does not tell what is allowed" in _problems(plane)


def test_a_cluster_without_the_kinds(api: KubeApi, plane: ControlPlane) -> None:
    api.refusals["GET", SECURITY_POLICY.group_path] = (404, {"message": "not found"})
    said = _problems(plane)
    assert said.startswith("downstream does not serve SecurityPolicy (gateway.envoyproxy.io/v1alpha1), HTTPRouteFilter")
    assert "are the CRDs of Gateway API and Envoy Gateway installed?" in said


def test_several_classes_need_a_choice(api: KubeApi, plane: ControlPlane) -> None:
    _class(api, "other")
    assert "--edge-gateway-class: edge, other" in _problems(plane)
    assert check(plane, None, gateway_class="other", allow=frozenset()).gateway_class == "other"
    assert _problems(plane, wanted="nope") == "downstream has no GatewayClass 'nope', only: edge, other"


def test_classes_that_cannot_be_used_say_why(api: KubeApi, plane: ControlPlane) -> None:
    api.objects.pop(Ref(GATEWAY_CLASS, "edge"))
    assert _problems(plane).endswith("has no GatewayClass that can be used: there is none")
    _class(api, "a", controller="example.org/x")
    _class(api, "b")
    condition(api.objects[Ref(GATEWAY_CLASS, "b")], "Accepted", "False")
    _class(api, "c", settings=None)
    _class(api, "d", settings=Ref(ENVOY_PROXY, "gone", "system"))
    said = _problems(plane)
    assert "a belongs to example.org/x, which is no Envoy Gateway; b is not accepted" in said
    assert said.count("gives each Gateway a proxy of its own") == 2


def test_reviews_ask_for_exactly_what_is_needed(api: KubeApi, plane: ControlPlane) -> None:
    wanted = [Need("get", POD, "system", "log"), Need("create", SECURITY_POLICY)]
    api.denied = {("get", "pods")}
    assert [str(one) for one in forbidden(plane, wanted)] == ["get Pod/log in system"]
    asked = [one.body["spec"]["resourceAttributes"] for one in api.asked if one.method == "POST"]
    assert {"verb": "get", "group": "", "version": "v1", "resource": "pods"}.items() <= asked[0].items() or asked[1]
    assert {one["group"] for one in asked} == {"", "gateway.envoyproxy.io"}
    assert {(one["namespace"], one["subresource"]) for one in asked} == {("system", "log"), ("", "")}
