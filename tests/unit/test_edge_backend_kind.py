"""The kind backend: who deletes the clusters, and what a lost node and a crashed Envoy Gateway look like."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from edgegate.clusters.kinds import DEPLOYMENT, POD, Kind, Ref
from edgegate.clusters.plane import ControlPlane, Manifest
from edgegate.command import Completed
from edgegate.components import pods
from edgegate.components.bring_up import Planes
from edgegate.components.parts import Parts
from edgegate.edge.backends import kind, kind_images, kind_operator
from edgegate.edge.backends.kind import KindBackend
from edgegate.edge.backends.kind_crashes import KindCrashes
from edgegate.errors import CrashedUnderTest, LabGone, PartLost, PlaneUnreachable, WrongImage
from edgegate.kind import leftovers
from edgegate.kind.images import Image
from kube_api import KubeApi, serve


class Lab:
    """A lab with a number of users."""

    def __init__(self, folder: Path, users: int, *, kept: bool = False) -> None:
        self.folder, self.users, self.kept = folder, users, kept
        self.told: list[str] = []

    def leases(self) -> tuple[int, bool]:
        if self.users == 0:
            raise LabGone("x", folder=self.folder, last="its supervisor has ended")
        return self.users, self.kept

    def down(self) -> None:
        self.told.append("down")

    def release(self) -> None:
        self.told.append("release")


class Engine:
    """An engine whose nodes run, or have ended."""

    def __init__(self, *, running: bool = True) -> None:
        self.running = running

    def containers(self, cluster: str) -> list[str]:
        return [cluster]

    def inspect(self, names: list[str]) -> list[dict[str, Any]]:
        return [{"Name": f"/{name}", "State": {"Running": self.running, "ExitCode": 137}} for name in names]


def _backend(lab: Lab, engine: Engine | None = None, plane: ControlPlane | None = None) -> KindBackend:
    made = object.__new__(KindBackend)
    clusters = SimpleNamespace(engine=engine or Engine(), full_name=lambda name: f"edgegate-ab-{name}")
    planes: Any = SimpleNamespace(downstream=plane or Tells(lab.folder))
    vars(made).update(
        lab=lab,
        folder=lab.folder,
        edge=SimpleNamespace(clusters=clusters),
        planes=planes,
        plan=SimpleNamespace(parts=Parts()),
        crashes=KindCrashes(planes, lab.folder, operator=False),
    )
    return made


@pytest.mark.parametrize(
    ("users", "kept", "deletes"), [(1, False, True), (2, False, False), (1, True, False), (0, False, True)]
)
def test_the_last_user_deletes_what_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, users: int, kept: bool, deletes: bool
) -> None:
    removed: list[object] = []
    monkeypatch.setattr(kind, "remove", removed.append)
    lab = Lab(tmp_path, users, kept=kept)
    _backend(lab).close()
    assert bool(removed) == deletes
    assert lab.told == (["down", "release"] if deletes else ["release"])


def test_what_a_lab_left_that_others_cleared_away_is_reaped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reaped: list[object] = []
    monkeypatch.setattr(leftovers, "reap", reaped.append)
    _backend(Lab(tmp_path / "gone", 0)).close()
    assert len(reaped) == 1


def test_a_node_that_has_ended_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kind, "lost", lambda lab, felled, thorough: None)
    found = _backend(Lab(tmp_path, 1), Engine(running=False)).trouble(set(), thorough=True)
    assert isinstance(found, PartLost)
    assert found.name == "edgegate-ab-upstream"
    assert "ended with status 137" in str(found)
    assert _backend(Lab(tmp_path, 1)).trouble(set(), thorough=True) is None


class Tells(ControlPlane):
    """A control plane whose one pod of Envoy Gateway has the states that it is given."""

    def __init__(self, folder: Path, **states: Any) -> None:
        super().__init__("downstream", folder / "none")
        status = {"name": pods.GATEWAY, "restartCount": 1 if "lastState" in states else 0, **states}
        pod = Ref(POD, "gateway-1", "envoy-gateway-system").manifest({"containers": [{"name": pods.GATEWAY}]})
        pod["metadata"]["uid"] = "uid-1"
        self.found = [{**pod, "status": {"containerStatuses": [status]}}] if states else []

    def list(self, kind: Kind, namespace: str = "", *, labels: str = "") -> list[Manifest]:
        return self.found

    def path(self, ref: Ref) -> str:
        return f"/pods/{ref.name}"

    def send(self, *words: Any, **how: Any) -> Any:
        return SimpleNamespace(status=200, data=b"panic: nil map\n")


RUNS_AGAIN: dict[str, Any] = {
    "state": {"running": {}},
    "lastState": {"terminated": {"exitCode": 2, "reason": "Error"}},
}


@pytest.mark.parametrize("thorough", [True, False])
def test_an_envoy_gateway_that_crashed_is_told_although_its_kubelet_started_it_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, thorough: bool
) -> None:
    monkeypatch.setattr(kind, "lost", lambda lab, felled, thorough: None)
    backend = _backend(Lab(tmp_path, 1), plane=Tells(tmp_path, **RUNS_AGAIN))
    found = backend.trouble(set(), thorough=thorough)
    assert isinstance(found, CrashedUnderTest)
    assert (found.name, found.what, found.tail) == (pods.GATEWAY, "ended with status 2 (Error)", "panic: nil map")
    assert backend.trouble({pods.GATEWAY}, thorough=thorough) is None
    backend.crashes.forgive()
    assert backend.trouble(set(), thorough=thorough) is None


class Silent(Tells):
    """A control plane that does not answer."""

    def list(self, kind: Kind, namespace: str = "", *, labels: str = "") -> list[Manifest]:
        raise PlaneUnreachable(self.name, "GET /api/v1/pods", text="refused")


@pytest.mark.parametrize("thorough", [True, False])
def test_of_a_cluster_that_does_not_answer_the_node_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, thorough: bool
) -> None:
    monkeypatch.setattr(kind, "lost", lambda lab, felled, thorough: None)
    ended = _backend(Lab(tmp_path, 1), Engine(running=False), Silent(tmp_path))
    assert isinstance(ended.trouble(set(), thorough=thorough), PartLost)
    assert _backend(Lab(tmp_path, 1), plane=Silent(tmp_path)).trouble(set(), thorough=thorough) is None


def test_that_its_kubelet_ended_one_that_was_frozen_was_meant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kind, "lost", lambda lab, felled, thorough: None)
    done: list[str] = []
    monkeypatch.setattr(KindBackend, "_signal", lambda backend, component, name: done.append(name))
    backend = _backend(Lab(tmp_path, 1), plane=Tells(tmp_path, **RUNS_AGAIN))
    backend.resume(pods.GATEWAY)
    assert done == ["CONT"]
    assert backend.trouble(set(), thorough=True) is None


def _controller(api: KubeApi, written: Manifest) -> None:
    """Be the controller of Deployments: as many pods as are wanted, under a new name each time."""
    if written["kind"] != "Deployment":
        return
    wanted = written["spec"]["replicas"]
    written["status"] = dict.fromkeys(("replicas", "updatedReplicas", "availableReplicas"), wanted)
    written["status"]["observedGeneration"] = written["metadata"].get("generation", 1)
    if wanted and not any(ref.kind == POD for ref in api.objects):
        pod = Ref(POD, f"gateway-{api.version}", "envoy-gateway-system").manifest()
        pod["metadata"]["labels"] = pods.labels(pods.GATEWAY)
        api.write(pod)


def test_envoy_gateway_is_killed_for_good_and_started_again(tmp_path: Path) -> None:
    with serve(tmp_path) as (api, plane):
        api.controllers.append(lambda one: _controller(api, one))
        api.write(Ref(DEPLOYMENT, pods.GATEWAY, "envoy-gateway-system").manifest({"replicas": 1}))
        backend = _backend(Lab(tmp_path, 1), plane=plane)
        backend.kill(pods.GATEWAY)
        assert pods.of(plane, "envoy-gateway-system", pods.GATEWAY) == []
        backend.restart(pods.GATEWAY)
        assert (
            api.requests("PATCH")
            == ["PATCH /apis/apps/v1/namespaces/envoy-gateway-system/deployments/envoy-gateway"] * 2
        )


class Node(Engine):
    """An engine whose node tells what a manifest is of."""

    def run(self, *words: str) -> Completed:
        assert words == ("exec", "node-1", "ctr", "--namespace=k8s.io", "content", "get", "sha256:m")
        return Completed(words, 0, '{"config": {"digest": "sha256:c"}}', "")


def _pods(plane: ControlPlane, namespace: str, name: str) -> list[dict[str, Any]]:
    """Return a pod of the operator alone, as a kubelet tells of an image that was imported."""
    status = {"containerStatuses": [{"name": name, "imageID": "docker.io/library/import@sha256:m"}]}
    pod = {"metadata": {"name": "a"}, "spec": {"nodeName": "node-1"}, "status": status}
    return [pod] if name == "operator" else []


def test_an_operator_that_runs_from_another_image_is_no_edge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pods, "of", _pods)
    plane = ControlPlane("upstream", tmp_path / "none")
    engine: Any = Node()

    def verify(number: str) -> None:
        image = Image("network-services-operator", ("a/b:v1",), f"sha256:{number}", tmp_path)
        kind_operator.verify(engine, Planes(plane, plane), [image])

    verify("c")
    with pytest.raises(WrongImage, match="operator runs the image sha256:c, and sha256:d was loaded for it"):
        verify("d")


class Listed(ControlPlane):
    """A control plane with one pod of Envoy Gateway, and others that are not looked at."""

    def list(self, kind: Kind, namespace: str = "", *, labels: str = "") -> list[Manifest]:
        if namespace != "envoy-gateway-system":
            return []
        names = ("envoy-gateway", "whatever")
        statuses = [{"name": name, "imageID": "docker.io/library/import@sha256:m"} for name in names]
        spec = {"nodeName": "node-1", "containers": [{"name": name} for name in names]}
        return [{"metadata": {"name": "gateway-1"}, "spec": spec, "status": {"containerStatuses": statuses}}]


def test_what_pods_run_is_compared_and_official_images_are_noted(tmp_path: Path) -> None:
    engine: Any = Node()
    plane = Listed("downstream", tmp_path / "none")
    digest = f"sha256:{'d' * 64}"

    def verify(number: str, source: str) -> None:
        image = Image("official-envoy-gateway", ("a/b:v1",), f"sha256:{number}", tmp_path, source)
        kind_images.verify(engine, plane, tmp_path, [image])

    verify("c", f"a/b:v1@{digest}")
    assert kind_images.versions(tmp_path) == {"envoy-gateway-image": f"sha256:{'d' * 12}"}
    verify("c", "")
    assert kind_images.versions(tmp_path) == {}
    with pytest.raises(WrongImage, match="gateway-1/envoy-gateway runs the image sha256:c, and sha256:d was loaded"):
        verify("d", "")
