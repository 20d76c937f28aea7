"""CoreDNS: how it is run, what its file says, and the Services that lead to addresses which no pod has."""

from pathlib import Path

import pytest

from edgegate.components import cluster_dns
from edgegate.components.launch import Launch
from edgegate.lab import LabNet, Ready
from fakes import FakeLab, launch


@pytest.fixture
def lab(tmp_path: Path) -> FakeLab:
    return FakeLab(tmp_path)


@pytest.fixture
def made(lab: FakeLab) -> Launch:
    return launch(lab)


def test_how_it_is_run(made: Launch) -> None:
    spec = cluster_dns.spec(made)
    assert (spec.name, spec.argv) == (
        "coredns",
        ("/store/coredns/bin/coredns", "-conf", "/run/edgegate/data/config/Corefile"),
    )
    assert spec.ready == Ready("http", "http://127.0.0.1:8181/ready", limit=60)
    assert spec.env["GOMEMLIMIT"] == "100MiB"


def test_its_file(lab: FakeLab, made: Launch) -> None:
    cluster_dns.spec(made)
    assert lab.files["/run/edgegate/data/config/Corefile"].decode() == (
        ".:53 {\n"
        "    bind 10.88.7.129\n"
        "    errors\n"
        "    ready 127.0.0.1:8181\n"
        "    kubernetes cluster.local in-addr.arpa ip6.arpa {\n"
        "        kubeconfig /run/edgegate/data/secrets/downstream.kubeconfig\n"
        "        pods insecure\n"
        "        ttl 1\n"
        "    }\n"
        "}\n"
    )


def test_pods_find_it_at_the_usual_address() -> None:
    service, endpoints = cluster_dns.service(LabNet(7))
    assert service["metadata"] == {"name": "kube-dns", "namespace": "kube-system"}
    assert service["spec"]["clusterIP"] == "10.96.0.10"
    assert [(port["port"], port["protocol"]) for port in service["spec"]["ports"]] == [(53, "UDP"), (53, "TCP")]
    assert endpoints["endpoints"] == [{"addresses": ["10.88.7.129"], "conditions": {"ready": True}}]


def test_a_service_without_selector_leads_to_one_address() -> None:
    ports = [{"name": "http", "port": 80, "protocol": "TCP"}]
    service, endpoints = cluster_dns.without_selector("a", "origin", "10.88.7.1", ports)
    assert service["spec"] == {"ports": ports}
    assert endpoints["metadata"] == {
        "name": "origin",
        "namespace": "a",
        "labels": {"kubernetes.io/service-name": "origin", "endpointslice.kubernetes.io/managed-by": "edgegate"},
    }
    assert (endpoints["addressType"], endpoints["ports"]) == ("IPv4", ports)


def test_its_endpoint_may_listen_on_another_port() -> None:
    ports = [{"name": "http", "port": 80, "protocol": "TCP"}]
    service, endpoints = cluster_dns.without_selector("a", "origin", "10.88.7.1", ports, target_port=20001)
    assert service["spec"]["ports"] == ports
    assert endpoints["ports"] == [{"name": "http", "port": 20001, "protocol": "TCP"}]
