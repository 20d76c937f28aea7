"""kube-proxy: how it is run, and that it touches nothing which belongs to the whole machine."""

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from edgegate import command
from edgegate.components import kube_proxy
from edgegate.components.launch import Launch
from edgegate.lab import Ready
from fakes import FakeLab, artifact, launch


@pytest.fixture
def lab(tmp_path: Path) -> FakeLab:
    return FakeLab(tmp_path)


@pytest.fixture
def made(lab: FakeLab, tmp_path: Path) -> Launch:
    """Return the launch of a lab whose nftables has its folder."""
    tools = artifact("nftables", path=tmp_path / "nftables", libraries=("lib",))
    (tools.path / "files/usr/sbin").mkdir(parents=True)
    whole = launch(lab)
    return replace(whole, artifacts={**whole.artifacts, "nftables": tools})


def test_it_runs_with_the_pinned_nftables(made: Launch) -> None:
    spec, tools = kube_proxy.spec(made), made.artifacts["nftables"].path
    assert spec.name == "kube-proxy"
    assert spec.argv == ("/store/kubernetes/bin/kube-proxy", "--config=/run/edgegate/data/config/kube-proxy.yaml")
    assert spec.env == {
        "PATH": f"{tools}/files/usr/sbin:/usr/sbin:/usr/bin:/sbin:/bin",
        "LANG": "C.UTF-8",
        "LD_LIBRARY_PATH": f"{tools}/lib",
        "GOMEMLIMIT": "100MiB",
    }
    assert spec.ready == Ready("http", "http://127.0.0.1:10256/healthz", limit=60)


def test_its_configuration(lab: FakeLab, made: Launch) -> None:
    kube_proxy.spec(made)
    assert yaml.safe_load(lab.files["/run/edgegate/data/config/kube-proxy.yaml"]) == {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "nftables",
        "hostnameOverride": "edge-node",
        "clientConnection": {"kubeconfig": "/run/edgegate/data/secrets/downstream.kubeconfig"},
        "clusterCIDR": "10.88.7.128/25",
        "detectLocalMode": "ClusterCIDR",
        "healthzBindAddress": "127.0.0.1:10256",
        "metricsBindAddress": "127.0.0.1:10249",
        "conntrack": {"maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},
        "nftables": {"minSyncPeriod": "0s", "syncPeriod": "30s"},
    }


def test_dead_connections_are_forgotten_after_a_second(lab: FakeLab, made: Launch) -> None:
    kube_proxy.start(made)
    assert lab.asked == [("start", "kube-proxy")]
    assert tuple(lab.commands[0]) == kube_proxy.FORGET_SOON


def test_the_kernel_is_told_both_states_or_it_fails(tmp_path: Path) -> None:
    shell, option, script = kube_proxy.FORGET_SOON
    there = script.replace("/proc/sys/net/netfilter", str(tmp_path))
    assert command.run([shell, option, there.replace(str(tmp_path), "/nowhere")], check=False).status == 1
    command.run([shell, option, there])
    written = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert written == {f"nf_conntrack_tcp_timeout_{state}": "1\n" for state in ("syn_sent", "close")}
