"""What the node agent is told."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from edgegate.errors import NodeConfigFault
from edgegate.lab.node.config import Image, Images, NodeConfig, normalized

NET = {"bridge": "pods", "bridge_ip": "10.88.7.129", "pod_cidr": "10.88.7.128/25", "dns_ip": "10.96.0.10"}


def _config(**more: Any) -> dict[str, Any]:
    images = {"envoyproxy/envoy:v1": {"binary": "/store/envoy", "entry": ["envoy"]}, "any:*": {"binary": "/store/any"}}
    return {"kubeconfig": "/k", "node": "lab", "net": NET, "logs": "/l", "root": "/r", "images": images, **more}


def _written(path: Path, **more: Any) -> Path:
    path.write_text(json.dumps(_config(**more)))
    return path


@pytest.mark.parametrize(
    ("reference", "name"),
    [
        ("busybox", "docker.io/library/busybox:latest"),
        ("envoyproxy/envoy:v1.38.3", "docker.io/envoyproxy/envoy:v1.38.3"),
        ("docker.io/envoyproxy/envoy:distroless-v1.39.1@sha256:eb2c", "docker.io/envoyproxy/envoy:distroless-v1.39.1"),
        ("localhost:5000/team/x", "localhost:5000/team/x:latest"),
        ("gcr.io/k8s-staging-gateway-api/echo-basic:v1", "gcr.io/k8s-staging-gateway-api/echo-basic:v1"),
        ("envoyproxy/gateway:*", "docker.io/envoyproxy/gateway:*"),
    ],
)
def test_image_references_are_spelt_out(reference: str, name: str) -> None:
    assert normalized(reference) == name


def test_images_are_found_by_tag_or_for_any_tag(tmp_path: Path) -> None:
    config = NodeConfig.load(_written(tmp_path / "c"))
    assert config.image("docker.io/envoyproxy/envoy:v1@sha256:1") == Image("/store/envoy", entry=("envoy",))
    assert config.image("envoyproxy/envoy:v2") is None
    assert config.image("any:thing") == Image("/store/any")


def test_a_binary_is_seen_where_images_have_theirs() -> None:
    assert Image("/store/envoy-1.38/envoy").target == "/usr/local/bin/envoy"
    assert Image("/store/x", at="/echo-basic").target == "/echo-basic"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("{", "JSONDecodeError"),
        ("[]", "is no configuration"),
        (json.dumps({}), "KeyError: 'kubeconfig'"),
        (json.dumps(_config(colour="red")), "unexpected keyword argument 'colour'"),
        (
            json.dumps(_config(images={"x:1": {"binary": "/x", "path": "/y"}})),
            "image has no key path; known: at, binary",
        ),
    ],
)
def test_a_file_that_is_no_configuration_is_refused(tmp_path: Path, content: str, text: str) -> None:
    path = tmp_path / "node.json"
    path.write_text(content)
    with pytest.raises(NodeConfigFault) as caught:
        NodeConfig.load(path)
    assert text in str(caught.value)
    assert str(caught.value).startswith(f"node agent: {path} is no configuration: ")
    assert str(caught.value).endswith("It is written by `edgegate up`; run it again.")


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NodeConfigFault, match="FileNotFoundError"):
        NodeConfig.load(tmp_path / "none")


def test_the_image_table_follows_its_file_and_survives_a_broken_one(tmp_path: Path) -> None:
    path = _written(tmp_path / "c")
    images = Images(path)
    assert images.find("any:1") == Image("/store/any")
    _written(path, images={"any:*": {"binary": "/store/new"}})
    os.utime(path, ns=(1, 1))
    assert images.find("any:1") == Image("/store/new")
    path.write_text("{")
    os.utime(path, ns=(2, 2))
    assert images.find("any:1") == Image("/store/new")


def test_an_image_table_that_was_never_one_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "c"
    path.write_text("{")
    with pytest.raises(NodeConfigFault):
        Images(path).find("any:1")
