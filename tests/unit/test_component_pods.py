"""What runs as pods: settings are those of the host lab, rights are the chart's, and nothing trusts the public."""

import yaml

from edgegate.clusters.kinds import DEPLOYMENT
from edgegate.clusters.plane import Manifest
from edgegate.components import envoy_gateway, pods
from edgegate.components.launch import SYSTEM_TRUST


def _one(manifests: list[Manifest], kind: str) -> Manifest:
    (found,) = [manifest for manifest in manifests if manifest["kind"] == kind]
    return found


def test_envoy_gateway_has_the_settings_of_the_host_lab() -> None:
    data = _one(pods.gateway("1.8.3"), "ConfigMap")["data"]
    assert yaml.safe_load(data["envoy-gateway.yaml"]) == envoy_gateway.server_config("1.8.3")


def test_its_pod_finds_settings_certificates_and_trust() -> None:
    spec = _one(pods.gateway("1.8.3"), DEPLOYMENT.name)["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    mounted = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    assert container["image"] == "docker.io/envoyproxy/gateway:v1.8.3"
    assert mounted == {"config": "/config", "certs": "/certs", "edge-trust": "/etc/ssl/certs"}
    assert {volume["name"] for volume in spec["volumes"]} == set(mounted)
    assert "/etc/ssl/certs/" + next(iter(pods.trust(b"pem")["data"])) == SYSTEM_TRUST


def test_it_may_read_and_write_no_more_than_the_chart_grants() -> None:
    everywhere = _one(pods.gateway("1.8.3"), "ClusterRole")["rules"]
    writes = {resource for rule in everywhere if "update" in rule["verbs"] for resource in rule["resources"]}
    assert not any(rule["apiGroups"] == [""] and set(rule["verbs"]) - {"get", "list", "watch"} for rule in everywhere)
    assert {resource for resource in writes if not resource.endswith("/status")} == {"gatewayclasses"}
    assert _one(pods.gateway("1.8.3"), "Role")["metadata"]["namespace"] == envoy_gateway.NAMESPACE_NAME


def test_proxies_differ_from_the_host_labs_in_trust_number_and_looks() -> None:
    made, plain = pods.envoy_proxy("1.38.3", 2), envoy_gateway.envoy_proxy("1.38.3")
    deployment = made["spec"]["provider"]["kubernetes"]["envoyDeployment"]
    assert deployment["replicas"] == 2
    for key in ("pod", "patch"):
        del deployment[key]
    del deployment["container"]["volumeMounts"]
    deployment["replicas"] = 1
    assert made == plain


def test_cluster_dns_asks_the_recursor_where_there_is_one() -> None:
    with_one, alone = (_one(pods.cluster_dns("1.14.7", "10.91.7.10", it), "ConfigMap") for it in ("10.88.7.5", ""))
    assert "forward . 10.88.7.5" in with_one["data"]["Corefile"]
    assert "forward" not in alone["data"]["Corefile"]
    assert _one(pods.cluster_dns("1.14.7", "10.91.7.10", ""), "Service")["spec"]["clusterIP"] == "10.91.7.10"
