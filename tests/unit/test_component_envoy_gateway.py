"""Envoy Gateway: how it is run, what it is told, and what it is given to read."""

import base64
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from edgegate.clusters.kinds import GATEWAY_CLASS, SECRET, Ref
from edgegate.clusters.plane import ControlPlane
from edgegate.components import envoy_gateway
from edgegate.components.launch import Launch
from edgegate.errors import NeverReady
from edgegate.lab import Bind, Ready
from fakes import FakeLab, launch
from kube_api import KubeApi, condition, serve

ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "LANG": "C.UTF-8",
    "KUBECONFIG": "/run/edgegate/data/secrets/downstream.kubeconfig",
    "ENVOY_GATEWAY_NAMESPACE": "envoy-gateway-system",
    "KUBERNETES_CLUSTER_DOMAIN": "cluster.local",
    "GOMEMLIMIT": "500MiB",
}


@pytest.fixture
def lab(tmp_path: Path) -> FakeLab:
    return FakeLab(tmp_path)


@pytest.fixture
def made(lab: FakeLab) -> Launch:
    return launch(lab)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[KubeApi, ControlPlane]]:
    with serve(tmp_path) as made:
        yield made


def test_how_it_is_run(made: Launch) -> None:
    spec = envoy_gateway.spec(made)
    assert spec.name == "envoy-gateway"
    assert spec.argv == (
        "/store/envoy-gateway/bin/envoy-gateway",
        "server",
        "--config-path=/run/edgegate/data/config/envoy-gateway.yaml",
    )
    assert ENVIRONMENT.items() <= spec.env.items()
    assert spec.binds == (
        Bind("/run/edgegate/data/envoy-gateway-certs", "/certs"),
        Bind("/run/edgegate/data/config/resolv.conf", "/etc/resolv.conf"),
    )
    assert spec.ready == Ready("http", "http://127.0.0.1:8081/readyz", limit=60)


def test_it_resolves_names_through_the_cluster_dns(lab: FakeLab, made: Launch) -> None:
    envoy_gateway.spec(made)
    assert lab.files["/run/edgegate/data/config/resolv.conf"] == b"nameserver 10.96.0.10\n"


def test_its_configuration(lab: FakeLab, made: Launch) -> None:
    envoy_gateway.spec(made)
    config = yaml.safe_load(lab.files["/run/edgegate/data/config/envoy-gateway.yaml"])
    selector = {"matchExpressions": [{"key": "meta.datumapis.com/upstream-cluster-name", "operator": "Exists"}]}
    assert config["gateway"] == {"controllerName": "gateway.envoyproxy.io/datum-downstream-gateway"}
    assert config["provider"] == {
        "type": "Kubernetes",
        "kubernetes": {
            "leaderElection": {"disable": True},
            "watch": {"type": "NamespaceSelector", "namespaceSelector": selector},
            "proxyTopologyInjector": {"disabled": True},
            "shutdownManager": {"image": "docker.io/envoyproxy/gateway:v1.8.3"},
        },
    }
    assert config["extensionApis"] == {"enableBackend": True, "enableEnvoyPatchPolicy": True}
    assert config["runtimeFlags"] == {"enabled": ["XDSNameSchemeV2"]}


def test_every_namespace_that_it_must_see_has_the_tenant_label() -> None:
    wanted = {one["metadata"]["name"]: one["metadata"]["labels"] for one in envoy_gateway.namespaces()}
    label = {"meta.datumapis.com/upstream-cluster-name": "edge"}
    assert wanted == {"envoy-gateway-system": label, "datum-downstream-gateway": label}


def test_certificates_are_written_by_itself(lab: FakeLab, made: Launch) -> None:
    envoy_gateway.generate_certificates(made)
    assert lab.commands == [["/store/envoy-gateway/bin/envoy-gateway", "certgen", "--disable-topology-injector"]]
    assert ENVIRONMENT.items() <= (lab.environments[0] or {}).items()


def test_certificates_are_put_where_the_process_finds_them(
    lab: FakeLab, made: Launch, served: tuple[KubeApi, ControlPlane]
) -> None:
    api, plane = served
    data = {name: base64.b64encode(name.encode()).decode() for name in ("ca.crt", "tls.key")}
    api.write(Ref(SECRET, "envoy-gateway", "envoy-gateway-system").manifest(data=data))
    envoy_gateway.mount_certificates(made, plane)
    assert lab.files["/run/edgegate/data/envoy-gateway-certs/ca.crt"] == b"ca.crt"
    assert lab.files["/run/edgegate/data/envoy-gateway-certs/tls.key"] == b"tls.key"


def test_missing_certificates_are_told(made: Launch, served: tuple[KubeApi, ControlPlane]) -> None:
    with pytest.raises(NeverReady) as raised:
        envoy_gateway.mount_certificates(made, served[1])
    assert str(raised.value) == (
        "certificates of Envoy Gateway: not within certgen; last seen: no Secret envoy-gateway"
    )


def test_the_class_leads_to_the_settings_of_the_merged_proxy(made: Launch) -> None:
    *_, proxy, cls = envoy_gateway.objects(made)
    assert cls["spec"]["controllerName"] == "gateway.envoyproxy.io/datum-downstream-gateway"
    reference = cls["spec"]["parametersRef"]
    assert (reference["kind"], reference["name"], reference["namespace"]) == (
        proxy["kind"],
        proxy["metadata"]["name"],
        proxy["metadata"]["namespace"],
    )


def test_the_merged_proxy() -> None:
    assert envoy_gateway.envoy_proxy("1.37.0")["spec"] == {
        "mergeGateways": True,
        "provider": {
            "type": "Kubernetes",
            "kubernetes": {
                "useListenerPortAsContainerPort": True,
                "envoyDeployment": {
                    "replicas": 1,
                    "container": {"image": "docker.io/envoyproxy/envoy:v1.37.0"},
                },
            },
        },
        "bootstrap": {
            "type": "JSONPatch",
            "jsonPatches": [
                {
                    "op": "replace",
                    "path": "/admin/address",
                    "value": {"socket_address": {"address": "0.0.0.0", "port_value": 19000}},
                }
            ],
        },
        "extraArgs": ["--file-flush-interval-msec", "1000"],
    }


def test_proxies_find_it_by_a_service(made: Launch) -> None:
    service, endpoints, *_ = envoy_gateway.objects(made)
    assert (service["metadata"]["name"], service["metadata"]["namespace"]) == ("envoy-gateway", "envoy-gateway-system")
    assert service["spec"]["ports"] == [{"name": "xds", "port": 18000, "protocol": "TCP"}]
    assert endpoints["endpoints"][0]["addresses"] == ["10.88.7.1"]


def test_it_is_at_work_when_the_class_is_accepted(served: tuple[KubeApi, ControlPlane]) -> None:
    api, plane = served
    api.controllers.append(lambda manifest: condition(manifest, "Accepted"))
    api.write(Ref(GATEWAY_CLASS, "datum-downstream-gateway").manifest({}))
    envoy_gateway.wait_for_class(plane)
    assert len(api.requests("GET")) == 1
