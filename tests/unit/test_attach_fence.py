"""Nothing of an attached cluster is changed but what the run has made, and what was allowed by name."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from kubernetes.client import CoreV1Api, V1Namespace, V1ObjectMeta

from edgegate.clusters.kinds import GATEWAY, GATEWAY_CLASS, NAMESPACE, POD, SECRET, Ref
from edgegate.edge.backends.attach.fence import AbsentPlane, Fence, FencedPlane
from edgegate.errors import NotAllowed, NotShown
from kube_api import KubeApi, serve

MARK = {"labels": {"edgegate.dev/run": "r1"}, "annotations": {"edgegate.dev/made-by": "c1"}}
PODS = "/api/v1/namespaces/envoy-gateway-system/pods"


@pytest.fixture
def fence() -> Fence:
    return Fence()


@pytest.fixture
def api(fence: Fence, tmp_path: Path) -> Iterator[tuple[KubeApi, FencedPlane]]:
    with serve(tmp_path) as (made, plane):
        fenced = FencedPlane("downstream", plane.kubeconfig, fence, MARK, tmp_path)
        yield made, fenced
        fenced.client.close()


def test_a_namespace_carries_the_runs_mark(api: tuple[KubeApi, FencedPlane], fence: Fence) -> None:
    served, plane = api
    stored = plane.namespace("shop", {"team": "a"})
    assert served.objects[Ref(NAMESPACE, "shop")]["metadata"]["labels"] == {"team": "a", **MARK["labels"]}
    assert stored["metadata"]["annotations"] == MARK["annotations"]
    assert fence.made == {"shop", f"ns-{stored['metadata']['uid']}"}


def test_what_is_inside_it_may_be_changed(api: tuple[KubeApi, FencedPlane]) -> None:
    _, plane = api
    plane.namespace("shop")
    plane.namespace("shop", {"again": "yes"})
    ref = Ref(GATEWAY, "edge", "shop")
    plane.apply(ref.manifest({}))
    plane.patch(ref, {"spec": {"listeners": []}})
    plane.delete(ref)
    plane.delete(Ref(NAMESPACE, "shop"))


def test_a_namespace_of_somebody_else_is_left_alone(api: tuple[KubeApi, FencedPlane], fence: Fence) -> None:
    served, plane = api
    served.write(Ref(NAMESPACE, "theirs").manifest())
    with pytest.raises(NotAllowed, match=r"^Namespace theirs of downstream, which was there before: refused"):
        plane.namespace("theirs")
    assert fence.made == set()
    assert [one for one in served.requests() if not one.startswith("GET")] == []


@pytest.mark.parametrize(
    "ref", [Ref(SECRET, "keys", "theirs"), Ref(NAMESPACE, "theirs"), Ref(POD, "envoy", "envoy-gateway-system")]
)
def test_nothing_is_sent_that_would_change_what_is_theirs(api: tuple[KubeApi, FencedPlane], ref: Ref) -> None:
    served, plane = api
    for change in (lambda: plane.delete(ref), lambda: plane.apply(ref.manifest()), lambda: plane.patch(ref, {})):
        with pytest.raises(NotAllowed, match="refused on an attached edge, because others use it"):
            change()
    with pytest.raises(NotAllowed):
        plane.create(ref.manifest())
    assert [one for one in served.requests() if not one.startswith("GET")] == []


def test_the_official_client_is_fenced_too(api: tuple[KubeApi, FencedPlane]) -> None:
    served, plane = api
    with pytest.raises(NotAllowed):
        CoreV1Api(plane.client).delete_namespaced_secret("keys", "theirs")
    with pytest.raises(NotAllowed, match="without the run's mark"):
        CoreV1Api(plane.client).create_namespace(V1Namespace(metadata=V1ObjectMeta(name="mine")))
    assert served.asked == []


def test_it_may_be_read(api: tuple[KubeApi, FencedPlane]) -> None:
    served, plane = api
    served.write(Ref(SECRET, "keys", "theirs").manifest())
    assert plane.get(Ref(SECRET, "keys", "theirs"))


def test_objects_of_no_namespace_are_allowed_by_name() -> None:
    path = f"{GATEWAY_CLASS.group_path}/gatewayclasses/other"
    with pytest.raises(NotAllowed, match=r"an object of no namespace.*--edge-allow cluster-objects allows it$"):
        Fence().check("DELETE", path)
    Fence(frozenset({"cluster-objects"})).check("DELETE", path)


def test_a_cold_restart_is_allowed_by_name_and_nothing_more_with_it() -> None:
    refused, allowed = Fence(proxies="envoy-gateway-system"), Fence(frozenset({"cold-restart"}), "envoy-gateway-system")
    with pytest.raises(NotAllowed):
        refused.check("DELETE", f"{PODS}/envoy-1")
    allowed.check("DELETE", f"{PODS}/envoy-1")
    for method, path in (("DELETE", PODS), ("PATCH", f"{PODS}/envoy-1"), ("DELETE", f"{PODS}/envoy-1/log")):
        with pytest.raises(NotAllowed):
            allowed.check(method, path)


def test_asking_what_is_allowed_changes_nothing() -> None:
    Fence().check("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews")


def test_a_cluster_that_was_not_named_shows_nothing() -> None:
    with pytest.raises(NotShown, match="no cluster with customers' objects"):
        AbsentPlane("upstream", "no cluster with customers' objects was named").list(NAMESPACE)
