"""How API servers and controllers are run: every flag, and kubeconfigs for inside and outside."""

from pathlib import Path

import pytest
import yaml

from edgegate.components import control_plane, etcd
from edgegate.components.control_plane import DOWNSTREAM, UPSTREAM, PlaneSpec
from edgegate.components.launch import TRUST, Launch
from edgegate.lab import Ready
from fakes import FakeLab, launch

SECRETS = "/run/edgegate/data/secrets"


@pytest.fixture
def lab(tmp_path: Path) -> FakeLab:
    return FakeLab(tmp_path)


@pytest.fixture
def made(lab: FakeLab) -> Launch:
    return launch(lab)


def test_etcd(made: Launch) -> None:
    spec = etcd.spec(made)
    assert spec.argv == (
        "/store/etcd/bin/etcd",
        "--data-dir=/run/edgegate/data/etcd",
        "--listen-client-urls=http://127.0.0.1:2379",
        "--advertise-client-urls=http://127.0.0.1:2379",
        "--listen-peer-urls=http://127.0.0.1:2380",
        "--initial-advertise-peer-urls=http://127.0.0.1:2380",
        "--initial-cluster=default=http://127.0.0.1:2380",
        "--unsafe-no-fsync",
        "--auto-compaction-retention=5m",
        "--log-level=warn",
    )
    assert (spec.name, spec.env["GOMEMLIMIT"]) == ("etcd", "400MiB")
    assert spec.ready == Ready("http", "http://127.0.0.1:2379/readyz", limit=30)


def test_api_server(made: Launch) -> None:
    spec = control_plane.api_server(made, UPSTREAM)
    assert spec.argv == (
        "/store/kubernetes/bin/kube-apiserver",
        "--etcd-servers=http://127.0.0.1:2379",
        "--etcd-prefix=/upstream",
        "--secure-port=6444",
        "--advertise-address=10.88.7.1",
        f"--tls-cert-file={SECRETS}/upstream.crt",
        f"--tls-private-key-file={SECRETS}/upstream.key",
        f"--token-auth-file={SECRETS}/tokens.csv",
        "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
        f"--service-account-key-file={SECRETS}/sa.pub",
        f"--service-account-signing-key-file={SECRETS}/sa.key",
        "--service-cluster-ip-range=10.97.0.0/16",
        "--authorization-mode=RBAC",
        "--allow-privileged",
        "--profiling=false",
        "--max-requests-inflight=2000",
        "--max-mutating-requests-inflight=1000",
    )
    assert (spec.name, spec.env["GOMEMLIMIT"], spec.env["GOGC"]) == ("kube-apiserver-upstream", "800MiB", "200")


def test_an_api_server_is_ready_when_its_administrator_is_told_so(made: Launch) -> None:
    ready = control_plane.api_server(made, DOWNSTREAM).ready
    header = {"Authorization": f"Bearer {made.token}"}
    assert ready == Ready("http", "https://127.0.0.1:6443/readyz", header=header, limit=90)


def test_the_token_is_an_administrators_and_in_no_command_line(lab: FakeLab, made: Launch) -> None:
    spec = control_plane.api_server(made, DOWNSTREAM)
    line = f"{made.token},edgegate-admin,edgegate-admin,system:masters"
    assert lab.files[f"{SECRETS}/tokens.csv"].decode() == line
    assert made.token not in " ".join([*spec.argv, *spec.env.values()])


def test_planes_sign_tokens_with_the_keys_of_the_lab(lab: FakeLab, made: Launch) -> None:
    control_plane.api_server(made, DOWNSTREAM)
    assert (lab.files[f"{SECRETS}/sa.key"], lab.files[f"{SECRETS}/sa.pub"]) == made.service_account_keys


def test_controller_manager(made: Launch) -> None:
    spec = control_plane.controller_manager(made, UPSTREAM)
    assert spec.argv == (
        "/store/kubernetes/bin/kube-controller-manager",
        f"--kubeconfig={SECRETS}/upstream.kubeconfig",
        "--controllers=garbage-collector-controller,namespace-controller",
        f"--root-ca-file={SECRETS}/ca.crt",
        f"--service-account-private-key-file={SECRETS}/sa.key",
        "--leader-elect=false",
        "--use-service-account-credentials=false",
        "--secure-port=0",
        "--kube-api-qps=200",
        "--kube-api-burst=400",
    )
    assert (spec.name, spec.ready) == ("kube-controller-manager-upstream", None)


def test_only_the_downstream_plane_runs_workloads(made: Launch) -> None:
    (flag,) = [word for word in control_plane.controller_manager(made, DOWNSTREAM).argv if "--controllers" in word]
    assert "deployment-controller" in flag
    assert "deployment-controller" not in UPSTREAM.controllers


def test_further_projects_share_no_port_range_or_prefix() -> None:
    planes = [DOWNSTREAM, UPSTREAM, control_plane.project("a", 0), control_plane.project("b", 1)]
    assert planes[2:] == [PlaneSpec("a", 6445, "10.98.0.0/16"), PlaneSpec("b", 6446, "10.99.0.0/16")]
    for part in ("name", "port", "services", "prefix"):
        assert len({getattr(plane, part) for plane in planes}) == 4


def test_a_kubeconfig_leads_to_the_plane_with_the_labs_own_trust_and_token(lab: FakeLab, made: Launch) -> None:
    path = control_plane.outer_kubeconfig(made, DOWNSTREAM)
    content = yaml.safe_load(path.read_text())
    assert content["clusters"][0]["cluster"] == {
        "server": "https://10.88.7.1:6443",
        "certificate-authority": str(lab.folder / "ca.crt"),
    }
    assert content["users"][0]["user"] == {"token": made.token}
    assert content["contexts"] == [
        {"name": "downstream", "context": {"cluster": "downstream", "user": "edgegate-admin"}}
    ]
    assert (path, path.stat().st_mode & 0o777) == (lab.folder / "downstream.kubeconfig", 0o600)


def test_the_inner_kubeconfig_says_the_same(lab: FakeLab, made: Launch) -> None:
    inner = lab.files[control_plane.inner_kubeconfig(made, DOWNSTREAM)].decode()
    outer = control_plane.outer_kubeconfig(made, DOWNSTREAM).read_text()
    assert inner == outer.replace(str(lab.folder / "ca.crt"), TRUST)
