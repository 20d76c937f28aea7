"""A control plane seen as an API: every call does what it says, and everything that can break is told."""

import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from edgegate.clusters.kinds import GATEWAY, HTTP_ROUTE, NAMESPACE, POD, SECURITY_POLICY, Kind, Ref
from edgegate.clusters.plane import ControlPlane, Manifest, conditions, is_true
from edgegate.clusters.status import summary
from edgegate.errors import EnvironmentFault, PlaneRefused, PlaneUnreachable
from kube_api import KubeApi, condition, kubeconfig, serve
from servers import Script, free_port, reset

EDGE = Ref(GATEWAY, "edge", "a")
GATEWAYS = "/apis/gateway.networking.k8s.io/v1/namespaces/a/gateways"


@pytest.fixture
def both(tmp_path: Path) -> Iterator[tuple[KubeApi, ControlPlane]]:
    """Return an API and a client for it."""
    with serve(tmp_path) as made:
        yield made


@pytest.fixture
def api(both: tuple[KubeApi, ControlPlane]) -> KubeApi:
    return both[0]


@pytest.fixture
def plane(both: tuple[KubeApi, ControlPlane]) -> ControlPlane:
    return both[1]


def _programmed(found: Manifest | None) -> bool:
    return is_true(found, "Programmed")


def _later(change: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=change)
    thread.start()
    return thread


def test_apply_is_server_side_and_overrides_other_managers(api: KubeApi, plane: ControlPlane) -> None:
    (stored,) = plane.apply(EDGE.manifest({"listeners": []}))
    asked = api.asked[-1]
    assert (asked.method, asked.path) == ("PATCH", f"{GATEWAYS}/edge")
    assert asked.query == {"fieldManager": "edgegate", "force": "true"}
    assert asked.headers["content-type"] == "application/apply-patch+yaml"
    assert asked.body == EDGE.manifest({"listeners": []})
    assert stored["metadata"]["uid"]


def test_apply_returns_each_object_in_order(plane: ControlPlane) -> None:
    stored = plane.apply(Ref(NAMESPACE, "a").manifest(), EDGE.manifest({}))
    assert [Ref.of(one) for one in stored] == [Ref(NAMESPACE, "a"), EDGE]


def test_every_request_carries_the_token_of_the_kubeconfig(api: KubeApi, plane: ControlPlane) -> None:
    plane.get(EDGE)
    plane.delete(EDGE)
    assert {asked.headers["authorization"] for asked in api.asked} == {"Bearer secret-token"}


def test_proxies_of_the_environment_are_passed_by(
    api: KubeApi, plane: ControlPlane, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert plane.version() == "1.35.4"


def test_kinds_are_looked_up_once_a_group(api: KubeApi, plane: ControlPlane) -> None:
    for kind in (GATEWAY, HTTP_ROUTE, GATEWAY):
        plane.list(kind)
    discoveries = [asked for asked in api.asked if asked.path == GATEWAY.group_path]
    assert len(discoveries) == 1


@pytest.mark.parametrize(
    ("ref", "path"),
    [
        (EDGE, f"{GATEWAYS}/edge"),
        (Ref(NAMESPACE, "a"), "/api/v1/namespaces/a"),
        (Ref(NAMESPACE, "a", "ignored"), "/api/v1/namespaces/a"),
        (Ref(SECURITY_POLICY, "p", "a"), "/apis/gateway.envoyproxy.io/v1alpha1/namespaces/a/securitypolicies/p"),
    ],
)
def test_paths(plane: ControlPlane, ref: Ref, path: str) -> None:
    assert plane.path(ref) == path


def test_a_kind_that_is_not_served_is_told(plane: ControlPlane) -> None:
    with pytest.raises(PlaneRefused) as raised:
        plane.list(Kind("gateway.networking.k8s.io/v1", "TCPRoute"))
    assert str(raised.value) == (
        "downstream control plane refused gateway.networking.k8s.io/v1 TCPRoute: 404: kind is not served"
    )


def test_create_refuses_what_exists(plane: ControlPlane) -> None:
    plane.create(EDGE.manifest({}))
    with pytest.raises(PlaneRefused) as raised:
        plane.create(EDGE.manifest({}))
    assert str(raised.value) == f"downstream control plane refused POST {GATEWAYS}: 409: edge already exists"
    assert (raised.value.status, raised.value.plane) == (409, "downstream")
    assert isinstance(raised.value, EnvironmentFault)


def test_patch_merges_and_null_removes(api: KubeApi, plane: ControlPlane) -> None:
    api.write(EDGE.manifest({"a": 1, "b": {"c": 2, "d": 3}}))
    assert plane.patch(EDGE, {"spec": {"b": {"c": None}, "e": 4}})["spec"] == {"a": 1, "b": {"d": 3}, "e": 4}
    assert api.asked[-1].headers["content-type"] == "application/merge-patch+json"


def test_patch_of_a_subresource_has_its_own_path(api: KubeApi, plane: ControlPlane) -> None:
    api.write(EDGE.manifest({}))
    plane.patch(EDGE, {"status": {}}, subresource="status")
    assert api.asked[-1].path == f"{GATEWAYS}/edge/status"


def test_get_of_nothing_is_none(api: KubeApi, plane: ControlPlane) -> None:
    assert plane.get(EDGE) is None
    api.write(EDGE.manifest({}))
    assert (plane.get(EDGE) or {})["kind"] == "Gateway"


def test_get_that_is_refused_is_not_nothing(api: KubeApi, plane: ControlPlane) -> None:
    api.refusals["GET", f"{GATEWAYS}/edge"] = 403, {"message": "gateways is forbidden"}
    with pytest.raises(PlaneRefused, match="403: gateways is forbidden"):
        plane.get(EDGE)


def test_list_is_of_a_namespace_or_of_all_and_by_labels(api: KubeApi, plane: ControlPlane) -> None:
    for namespace, labels in (("a", {"app": "x"}), ("b", {"app": "x"}), ("b", {"app": "y"})):
        manifest = Ref(POD, f"pod-{labels['app']}", namespace).manifest()
        manifest["metadata"]["labels"] = labels
        api.write(manifest)
    found = (plane.list(POD), plane.list(POD, "b"), plane.list(POD, "b", labels="app=y"))
    assert [[one["metadata"]["name"] for one in some] for some in found] == [
        ["pod-x", "pod-x", "pod-y"],
        ["pod-x", "pod-y"],
        ["pod-y"],
    ]


def test_delete_of_what_is_gone_is_fine(api: KubeApi, plane: ControlPlane) -> None:
    plane.delete(EDGE)
    plane.delete(Ref(POD, "p", "a"), grace=0)
    assert [asked.query for asked in api.asked if asked.method == "DELETE"] == [{}, {"gracePeriodSeconds": "0"}]


def test_delete_that_is_refused_is_told(api: KubeApi, plane: ControlPlane) -> None:
    api.refusals["DELETE", f"{GATEWAYS}/edge"] = 500, "etcdserver: request timed out"
    with pytest.raises(PlaneRefused, match="500: etcdserver: request timed out"):
        plane.delete(EDGE)


def test_refusals_that_are_no_status_are_told_as_they_are(api: KubeApi, plane: ControlPlane) -> None:
    api.refusals["GET", "/version"] = 502, "<html>bad gateway</html>"
    with pytest.raises(PlaneRefused, match="refused GET /version: 502: <html>bad gateway</html>"):
        plane.version()


def test_a_refusal_whose_json_is_no_object(api: KubeApi, plane: ControlPlane) -> None:
    api.refusals["GET", "/version"] = 500, '["what"]'
    with pytest.raises(PlaneRefused, match=r'500: \["what"\]'):
        plane.version()


def test_nobody_there(tmp_path: Path) -> None:
    port = free_port()
    plane = ControlPlane("upstream", kubeconfig(tmp_path / "config", port))
    with pytest.raises(PlaneUnreachable) as raised:
        plane.version()
    assert str(raised.value).startswith("upstream control plane did not answer GET /version: ")
    assert "Connection refused" in str(raised.value)
    assert isinstance(raised.value, EnvironmentFault)


def test_a_server_that_hangs_up(tmp_path: Path, scripted: Callable[[Script], int]) -> None:
    plane = ControlPlane("upstream", kubeconfig(tmp_path / "config", scripted(reset)))
    with pytest.raises(PlaneUnreachable):
        plane.apply(Ref(NAMESPACE, "a").manifest())


def test_a_server_that_says_nothing_is_asked_once(tmp_path: Path) -> None:
    """The library's own further tries would make the limit four times as long."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        plane = ControlPlane("upstream", kubeconfig(tmp_path / "config", silent.getsockname()[1]))
        with pytest.raises(PlaneUnreachable, match=r"did not answer GET /version: .*timed out"):
            plane.request("GET", "/version", within=0.05)
        silent.setblocking(False)
        silent.accept()[0].close()
        with pytest.raises(BlockingIOError):
            silent.accept()
    plane.client.close()


@pytest.mark.parametrize("status", [None, {}, {"conditions": None}, {"conditions": []}])
def test_an_object_without_conditions(status: object) -> None:
    """A fresh object may have null where others have a list."""
    fresh = {"metadata": {}, "status": status}
    assert conditions(fresh) == {}
    assert not is_true(fresh, "Programmed")
    assert summary(fresh) == "no conditions yet"


@pytest.mark.parametrize("holder", ["parents", "ancestors"])
def test_routes_and_policies_have_conditions_for_each_of_those_they_belong_to(holder: str) -> None:
    one: Manifest = {}
    condition(one, "Accepted", "False", message="secret not found")
    found = {"metadata": {}, "status": {holder: [one["status"], {"conditions": None}]}}
    assert summary(found) == "Accepted=False (Test: secret not found)"


def test_no_object_has_no_conditions() -> None:
    assert conditions(None) == {}
    assert not is_true(None, "Programmed")
    assert summary(None) == "no such object"


@pytest.mark.parametrize(
    ("generation", "observed", "right"), [(2, 2, True), (2, 1, False), (2, None, True), (None, None, True)]
)
def test_a_condition_counts_for_the_present_generation_only(
    generation: int | None, observed: int | None, right: bool
) -> None:
    found: Manifest = {"metadata": {} if generation is None else {"generation": generation}}
    condition(found, "Programmed")
    if observed is not None:
        found["status"]["conditions"][0]["observedGeneration"] = observed
    assert is_true(found, "Programmed") is right


def test_clients_of_the_official_library_are_there(api: KubeApi, plane: ControlPlane) -> None:
    assert plane.client.configuration.host.startswith("http://127.0.0.1:")
    assert repr(plane) == "ControlPlane(downstream)"


def test_a_namespace_is_made_or_brought_to_a_state(api: KubeApi, plane: ControlPlane) -> None:
    plane.namespace("a")
    assert plane.namespace("a", {"tenant": "edge"})["metadata"]["labels"] == {"tenant": "edge"}
