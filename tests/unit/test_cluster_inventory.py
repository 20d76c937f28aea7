"""A namespace's inventory has every kind that lives in namespaces, and nothing that Kubernetes makes by itself."""

from typing import Any

from edgegate.clusters.inventory import inventory, namespaced_kinds
from edgegate.clusters.kinds import Kind

SERVED = {
    "/apis": {
        "groups": [
            {"preferredVersion": {"groupVersion": "apps/v1"}, "versions": [{"groupVersion": "apps/v1"}]},
            {
                "preferredVersion": {"groupVersion": "edge/v1alpha1"},
                "versions": [{"groupVersion": "edge/v1alpha1"}, {"groupVersion": "edge/v1alpha"}],
            },
        ]
    },
    "/api/v1": {
        "resources": [
            {"kind": "ConfigMap", "name": "configmaps", "namespaced": True, "verbs": ["list", "get"]},
            {"kind": "Event", "name": "events", "namespaced": True, "verbs": ["list"]},
            {"kind": "Node", "name": "nodes", "namespaced": False, "verbs": ["list"]},
            {"kind": "Pod", "name": "pods/log", "namespaced": True, "verbs": ["list"]},
            {"kind": "Binding", "name": "bindings", "namespaced": True, "verbs": ["create"]},
        ]
    },
    "/apis/apps/v1": {
        "resources": [{"kind": "Deployment", "name": "deployments", "namespaced": True, "verbs": ["list"]}]
    },
    "/apis/edge/v1alpha1": {
        "resources": [{"kind": "Connector", "name": "connectors", "namespaced": True, "verbs": ["list"]}]
    },
    "/apis/edge/v1alpha": {
        "resources": [
            {"kind": "HTTPProxy", "name": "httpproxies", "namespaced": True, "verbs": ["list"]},
            {"kind": "Connector", "name": "connectors", "namespaced": True, "verbs": ["list"]},
        ]
    },
}


class FakePlane:
    """Serves three groups, and has two ConfigMaps, a Deployment and a proxy in every namespace."""

    def request(self, method: str, path: str) -> Any:
        assert method == "GET"
        return SERVED[path]

    def list(self, kind: Kind, namespace: str) -> list[dict[str, Any]]:
        every = {"ConfigMap": ["kube-root-ca.crt", "left"], "Deployment": ["kube-root-ca.crt"], "HTTPProxy": ["shop"]}
        names = every.get(kind.name, [])
        return [{"metadata": {"name": name, "namespace": namespace}} for name in names]


def test_kinds_that_live_in_namespaces_and_can_be_listed() -> None:
    kinds = namespaced_kinds(FakePlane())  # type: ignore[arg-type]
    assert kinds == [
        Kind("v1", "ConfigMap"),
        Kind("apps/v1", "Deployment"),
        Kind("edge/v1alpha1", "Connector"),
        Kind("edge/v1alpha", "HTTPProxy"),
    ]


def test_what_kubernetes_makes_itself_does_not_count() -> None:
    plane: Any = FakePlane()
    found = inventory(plane, "shop", namespaced_kinds(plane))
    assert [str(ref) for ref in found] == [
        "ConfigMap shop/left",
        "Deployment shop/kube-root-ca.crt",
        "HTTPProxy shop/shop",
    ]
