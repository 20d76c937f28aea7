"""The real operators as pods: the configuration of the processes, production's topology, and what keeps one down."""

import base64
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from edgegate.clusters import kinds
from edgegate.clusters.kinds import Ref
from edgegate.clusters.plane import ControlPlane, Manifest
from edgegate.components import (
    extension_server,
    nso_config,
    operator_nso,
    operator_pods,
    operator_run,
    pod_trouble,
    pods,
)
from edgegate.components.launch import Launch
from edgegate.components.nso_config import AGENT, EXTENSION, OPERATOR, REPLICATOR
from edgegate.components.operator_choice import OperatorChoice
from edgegate.components.operator_manifests import FILES, NAMESPACE_NAME, reference
from edgegate.errors import ComponentExited, NeverReady, PodNotStarted
from fakes import FakeLab
from fakes import launch as launch_of
from kube_api import KubeApi, serve

NODES_HAVE = ("edgegate.local/network-services-operator:1", "edgegate.local/dns-operator:2")
KEY = "/run/edgegate/data/secrets/powerdns.key"


@pytest.fixture
def launch(tmp_path: Path) -> Launch:
    """A launch whose operator runs as pods, beside clusters whose kubeconfigs name files."""
    lab = FakeLab(tmp_path)
    lab.files[KEY] = b"the key"
    (tmp_path / "ca").write_bytes(b"the authority")
    for name in ("upstream", "downstream"):
        cluster = {"server": f"https://{name}:6443", "certificate-authority": str(tmp_path / "ca")}
        content = {"clusters": [{"cluster": cluster}], "users": [{"user": {"token": "t"}}]}
        (tmp_path / f"{name}.kubeconfig").write_text(yaml.safe_dump(content))
    choice = OperatorChoice(images=("a/nso:v1", "a/dns:v1"), on_nodes=NODES_HAVE)
    return replace(launch_of(lab), operator=choice, elsewhere=True)


def _named(manifests: list[Manifest], kind: str) -> dict[str, Manifest]:
    return {one["metadata"]["name"]: one for one in manifests if one["kind"] == kind}


def _files(manifests: list[Manifest], name: str) -> dict[str, str]:
    data = _named(manifests, "Secret")[name]["data"]
    return {key: base64.b64decode(value).decode() for key, value in data.items()}


def _pod(manifests: list[Manifest], name: str) -> Any:
    return _named(manifests, "Deployment")[name]["spec"]["template"]["spec"]


def test_each_runs_in_its_cluster_from_its_image(launch: Launch) -> None:
    up, down = operator_pods.upstream(launch), operator_pods.downstream(launch)

    assert set(_named(up, "Deployment")) == {OPERATOR, REPLICATOR}
    assert set(_named(down, "Deployment")) == {AGENT, EXTENSION}
    images = {name: _pod([*up, *down], name)["containers"][0]["image"] for name in operator_pods.WHERE}
    assert [images[name] for name in (OPERATOR, EXTENSION, REPLICATOR, AGENT)] == [
        *NODES_HAVE[:1] * 2,
        *NODES_HAVE[1:] * 2,
    ]


def test_nothing_is_pulled_and_nothing_is_root(launch: Launch) -> None:
    for one in [*operator_pods.upstream(launch), *operator_pods.downstream(launch)]:
        if one["kind"] == "Deployment":
            (container,) = one["spec"]["template"]["spec"]["containers"]
            assert container["imagePullPolicy"] == "Never"
            assert container["securityContext"]["runAsUser"] != 0
            assert "command" not in container


def test_the_configuration_is_that_of_the_process_but_for_places(launch: Launch) -> None:
    in_pod = yaml.safe_load(_files(operator_pods.upstream(launch), OPERATOR)["config.yaml"])
    place = operator_nso._place(launch, OPERATOR, operator_nso.CONFIG)
    in_lab = yaml.safe_load(nso_config.manager_config(place))

    assert {key for key in in_lab if in_lab[key] != in_pod[key]} == {
        "metricsServer", "webhookServer", "downstreamResourceManagement",
    }  # fmt: skip
    assert in_pod["webhookServer"]["tls"]["certDir"] == FILES
    assert in_pod["downstreamResourceManagement"]["kubeconfigPath"] == f"{FILES}/downstream.kubeconfig"


def test_upstream_pods_reach_the_other_cluster_and_the_labs_names(launch: Launch) -> None:
    up = operator_pods.upstream(launch)
    for name in (OPERATOR, REPLICATOR):
        kubeconfig = yaml.safe_load(_files(up, name)["downstream.kubeconfig"])
        assert _pod(up, name)["dnsConfig"] == {"nameservers": ["10.88.7.5"]}
        assert kubeconfig["clusters"][0]["cluster"] == {
            "server": "https://downstream:6443",
            "certificate-authority-data": base64.b64encode(b"the authority").decode(),
        }


def test_the_agent_is_at_home_in_its_cluster(launch: Launch) -> None:
    down = operator_pods.downstream(launch)
    (container,) = _pod(down, AGENT)["containers"]

    assert yaml.safe_load(_files(down, AGENT)["config.yaml"])["downstreamResourceManagement"] == {"kubeconfigPath": ""}
    assert "--role=downstream" in container["args"]
    assert {"name": "PDNS_API_KEY", "value": "the key"} in container["env"]


def test_envoy_gateway_asks_the_extension_server_and_may_read_what_it_watches(launch: Launch) -> None:
    down = operator_pods.downstream(launch)
    manager, rights = extension_server.manager(), extension_server.rights()
    made = pods.gateway("1.8.3", more={"extensionManager": manager}, rights=rights)
    settings = yaml.safe_load(_named(made, "ConfigMap")["envoy-gateway-config"]["data"]["envoy-gateway.yaml"])

    service = settings["extensionManager"]["service"]
    host, _, space = service["fqdn"]["hostname"].partition(".")
    assert host in _named(down, "Service")
    assert space == f"{NAMESPACE_NAME}.svc.cluster.local"
    assert {ref["name"] for ref in service["tls"].values()} <= set(_named(down, "Secret"))
    assert not settings["extensionManager"]["failOpen"]
    assert all(one in _named(made, "ClusterRole")["envoy-gateway"]["rules"] for one in rights)


def test_without_an_extension_server_envoy_gateway_is_as_before() -> None:
    (config,) = _named(pods.gateway("1.8.3"), "ConfigMap").values()
    assert "extensionManager" not in config["data"]["envoy-gateway.yaml"]


@pytest.fixture
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[KubeApi, ControlPlane]]:
    with serve(tmp_path_factory.mktemp("api"), "upstream") as made:
        yield made


def _running(name: str, **status: Any) -> Manifest:
    pod = Ref(kinds.POD, f"{name}-1", NAMESPACE_NAME).manifest()
    pod["metadata"]["labels"] = pods.labels(name)
    pod["status"] = {"containerStatuses": [{"name": name, **status}]}
    return pod


def test_a_program_that_ends_at_once_shows_its_last_lines(served: tuple[KubeApi, ControlPlane], tmp_path: Path) -> None:
    api, plane = served
    ended = {"state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": {"terminated": {"exitCode": 3}}}
    api.write(_running(OPERATOR, **ended))
    api.texts[f"/api/v1/namespaces/{NAMESPACE_NAME}/pods/{OPERATOR}-1/log"] = "one\nno such flag\n"

    found = pod_trouble.of_start(plane, NAMESPACE_NAME, OPERATOR, tmp_path / "logs")

    log = tmp_path / "logs" / "upstream-operator.log"
    assert isinstance(found, ComponentExited)
    said = f"operator ended with status 3 before it was ready. The end of its log ({log}):\none\nno such flag"
    assert str(found) == said
    assert log.read_text() == "one\nno such flag\n"


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (
            {"state": {"waiting": {"reason": "ErrImageNeverPull", "message": "Container image is not present"}}},
            "ErrImageNeverPull: Container image is not present",
        ),
        (
            {"state": {"terminated": {"reason": "StartError", "exitCode": 128, "message": "exec: no such file"}}},
            "StartError: exec: no such file",
        ),
    ],
)
def test_an_image_that_cannot_be_started(
    served: tuple[KubeApi, ControlPlane], tmp_path: Path, status: Any, said: str
) -> None:
    api, plane = served
    api.write(_running(OPERATOR, **status))

    found = pod_trouble.of_start(plane, NAMESPACE_NAME, OPERATOR, tmp_path)

    assert isinstance(found, PodNotStarted)
    assert str(found).startswith(f"operator cannot be started in the cluster upstream: {said}. Accepted: an image")


def test_one_that_starts_is_waited_for(served: tuple[KubeApi, ControlPlane], tmp_path: Path) -> None:
    api, plane = served
    api.write(_running(OPERATOR, state={"waiting": {"reason": "ContainerCreating"}}))

    assert pod_trouble.of_start(plane, NAMESPACE_NAME, OPERATOR, tmp_path) is None
    assert pod_trouble.of_run(plane, plane.list(kinds.POD, NAMESPACE_NAME), tmp_path, {}) is None


def test_one_that_has_crashed_while_tests_ran_is_a_finding(
    served: tuple[KubeApi, ControlPlane], tmp_path: Path
) -> None:
    api, plane = served
    end = {"terminated": {"exitCode": 2, "reason": "Error"}}
    api.write(_running(OPERATOR, state={"running": {}}, lastState=end, restartCount=1))

    found = pod_trouble.of_run(plane, plane.list(kinds.POD, NAMESPACE_NAME), tmp_path, {})

    assert found is not None
    assert (found.name, found.what) == (OPERATOR, "ended with status 2 (Error)")

    known = pod_trouble.ends(plane.list(kinds.POD, NAMESPACE_NAME))
    assert pod_trouble.of_run(plane, plane.list(kinds.POD, NAMESPACE_NAME), tmp_path, known) is None


def test_it_is_stopped_configured_and_started(
    served: tuple[KubeApi, ControlPlane], launch: Launch, monkeypatch: pytest.MonkeyPatch
) -> None:
    api, plane = served
    monkeypatch.setattr(operator_run, "plane_of", lambda launch, spec: plane)
    secret = Ref(kinds.SECRET, OPERATOR, NAMESPACE_NAME)
    api.write(secret.manifest(data={"config.yaml": base64.b64encode(b"a: 1").decode()}))
    api.write(_running(OPERATOR))
    api.controllers.append(lambda one: _follow(api, one))
    api.write(reference(OPERATOR).manifest({"replicas": 1}))

    it = operator_run.running(launch)
    before = it.config()
    it.stop()
    it.start("a: 2")

    assert before == "a: 1"
    assert it.config() == "a: 2"
    patched = [
        one.body["spec"]["replicas"] for one in api.asked if one.method == "PATCH" and "/deployments/" in one.path
    ]
    assert patched == [0, 1]


def _follow(api: KubeApi, written: Manifest) -> None:
    """Be the controller of Deployments."""
    if written["kind"] != "Deployment":
        return
    wanted = written["spec"]["replicas"]
    written["status"] = {
        "observedGeneration": 1,
        **dict.fromkeys(("replicas", "updatedReplicas", "availableReplicas"), wanted),
    }
    for pod in [ref for ref in api.objects if ref.kind == kinds.POD and not wanted]:
        api.remove(pod)


def test_webhooks_count_once_the_operator_is_reached(
    served: tuple[KubeApi, ControlPlane], launch: Launch, monkeypatch: pytest.MonkeyPatch
) -> None:
    api, plane = served
    where = f"/apis/{kinds.DOMAIN.api_version}/namespaces/default/domains"
    api.refusals["POST", where] = (422, {"message": "denied: the name is not allowed"})
    operator_pods._hook(launch, plane)
    assert {ref.kind.name for ref in api.objects} == {"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"}

    api.refusals["POST", where] = (500, {"message": "failed calling webhook: connection refused"})
    monkeypatch.setattr(operator_pods, "_ASKS_WITHIN", 0.05)
    with pytest.raises(NeverReady, match="failed calling webhook: connection refused"):
        operator_pods._hook(launch, plane)
