"""The node agent: how it is run, and what its configuration says; images and the binaries that stand for them."""

import json
import sys
from pathlib import Path

import pytest

from edgegate import pins as pin_files
from edgegate.components import node
from edgegate.components.images import image_table
from edgegate.lab import Ready
from edgegate.lab.node.config import NodeConfig
from edgegate.resources import resource
from fakes import FakeLab, artifact, launch

CONFIG = "/run/edgegate/data/config/node-agent.json"


@pytest.fixture
def lab(tmp_path: Path) -> FakeLab:
    return FakeLab(tmp_path)


def test_how_it_is_run(lab: FakeLab) -> None:
    spec = node.spec(launch(lab), {})
    assert (spec.name, spec.argv) == ("node-agent", (sys.executable, "-m", "edgegate.lab.node", "--config", CONFIG))
    assert spec.ready == Ready("http", "http://127.0.0.1:10248/healthz", limit=60)


def test_its_configuration(lab: FakeLab) -> None:
    images: dict[str, object] = {"docker.io/envoyproxy/envoy:v1.38.3": {"binary": "/store/envoy/bin/envoy"}}
    node.spec(launch(lab), images)
    assert json.loads(lab.files[CONFIG]) == {
        "kubeconfig": "/run/edgegate/data/secrets/downstream.kubeconfig",
        "node": "edge-node",
        "net": {
            "bridge": "pods",
            "bridge_ip": "10.88.7.129",
            "pod_cidr": "10.88.7.128/25",
            "dns_ip": "10.96.0.10",
            "lb_first": "10.88.7.8",
            "lb_last": "10.88.7.30",
        },
        "logs": f"{lab.folder}/logs/pods",
        "root": "/run/edgegate/data/pods",
        "images": images,
        "tools": {"bwrap": "/store/bubblewrap/bin/bwrap", "env": {"LD_LIBRARY_PATH": "/store/bubblewrap/lib"}},
        "eager_first_probe": True,
    }


def test_the_agent_can_read_it(lab: FakeLab, tmp_path: Path) -> None:
    node.spec(launch(lab), {})
    (tmp_path / "agent.json").write_bytes(lab.files[CONFIG])
    assert NodeConfig.load(tmp_path / "agent.json").node == "edge-node"


def test_images_that_pods_can_run_are_known_by_every_name_and_tag() -> None:
    pins = pin_files.load(resource("pins.toml"))
    table = image_table(pins, [artifact("envoy", "1.38.3"), artifact("etcd", "3.6.16")])
    assert {image.partition("@")[0] for image in table} == {
        f"{repository}:{tag}" for repository in pins.pin("envoy").images for tag in ("v1.38.3", "distroless-v1.38.3")
    }
    assert "docker.io/envoyproxy/envoy:distroless-v1.38.3" in table


def test_what_stands_for_an_image() -> None:
    pins = pin_files.load(resource("pins.toml"))
    table = image_table(pins, [artifact("envoy-gateway", "1.8.3", path=Path("/store/eg-1.8.3"), libraries=("lib",))])
    image = table["docker.io/envoyproxy/gateway:v1.8.3"]
    assert image["binary"] == "/store/eg-1.8.3/bin/envoy-gateway"
    assert image["entry"] == ["envoy-gateway"]
    assert image["env"] == {"LD_LIBRARY_PATH": "/store/eg-1.8.3/lib"}
    assert image["id"] == "envoy-gateway@eg-1.8.3"
