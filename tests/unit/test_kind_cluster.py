"""Clusters: what kind is told, that kubeconfigs are private, and that leftovers of the dead alone are removed."""

import fcntl
import ipaddress
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from edgegate.command import Completed
from edgegate.kind import leftovers
from edgegate.kind.cluster import ALIVE_LABEL, NAME_LABEL, Clusters, Wish
from edgegate.kind.engine import Engine
from edgegate.kind.network import KindNet


@dataclass
class Docker:
    """What a docker command would know, and what it was told."""

    networks: list[dict[str, Any]] = field(default_factory=list)
    clusters: dict[str, list[str]] = field(default_factory=dict)
    told: list[tuple[str, ...]] = field(default_factory=list)

    def run(self, *words: str) -> str:
        self.told.append(words)
        match words:
            case ("network", "ls", *_):
                return "\n".join(network["Name"] for network in self.networks)
            case ("network", "inspect", *_):
                return json.dumps(self.networks)
            case ("ps", "--all", "--filter", *_):
                return "\n".join(self.clusters)
            case ("ps", *_):
                return "\n".join(self.clusters.get(words[-1].rpartition("=")[2], []))
            case ("rm", *_):
                self.clusters = {name: [] for name in self.clusters}
        return ""


class FakeEngine(Engine):
    """An engine without Docker."""

    def __init__(self, docker: Docker) -> None:
        super().__init__("docker", {})
        object.__setattr__(self, "fake", docker)

    def run(self, *words: str, check: bool = True, within: float = 60.0) -> Completed:
        fake: Docker = vars(self)["fake"]
        return Completed(words, 0, fake.run(*words), "")


def _network(name: str, alive: Path) -> dict[str, Any]:
    return {"Name": name, "Labels": {NAME_LABEL: name, ALIVE_LABEL: str(alive)}}


def test_kind_is_told_what_this_machine_needs() -> None:
    net = KindNet(7)
    wish = Wish("e-down", "node:v1", 1, pods=net.pods, services=net.services, node_bits=net.node_bits, workers=1)
    config = yaml.safe_load(wish.config())
    patches = [yaml.safe_load(patch) for patch in config["kubeadmConfigPatches"]]
    assert [node["role"] for node in config["nodes"]] == ["control-plane", "worker"]
    assert config["networking"]["podSubnet"] == "10.128.112.0/20"
    assert {"kind": "KubeletConfiguration", "failCgroupV1": False} in patches
    assert patches[0]["skipPhases"] == ["preflight", "addon/coredns"]


def test_a_modern_machine_needs_no_exception() -> None:
    assert "failCgroupV1" not in Wish("e-up", "node:v1", 2).config()


def test_addresses_of_an_edge_do_not_overlap() -> None:
    net = KindNet(9)
    inside = ipaddress.IPv4Network(net.subnet)
    nodes, balancers = ipaddress.IPv4Network(net.nodes), ipaddress.IPv4Network(net.balancers)
    assert nodes.subnet_of(inside)
    assert balancers.subnet_of(inside)
    assert not nodes.overlaps(balancers)
    assert ipaddress.IPv4Address(net.dns_ip) in ipaddress.IPv4Network(net.services)
    assert net.balancer_addresses == ("10.89.9.129", "10.89.9.158")


def test_the_network_says_whose_it_is(tmp_path: Path) -> None:
    docker = Docker()
    clusters = Clusters(FakeEngine(docker), Path("kind"), "edgegate-ab", tmp_path)
    clusters.make_network(KindNet(7), tmp_path / "alive")
    (words,) = docker.told
    assert words[:2] == ("network", "create")
    assert f"{ALIVE_LABEL}={tmp_path}/alive" in words
    assert words[-1] == "edgegate-ab"


def test_kind_never_sees_the_users_kubeconfig(tmp_path: Path) -> None:
    engine = Engine("docker", {"HOME": "/home/me", "KUBECONFIG": "/home/me/.kube/config", "KIND_CLUSTER_NAME": "mine"})
    environment = Clusters(engine, Path("kind"), "edgegate-ab", tmp_path)._environment()
    assert environment["KUBECONFIG"] == f"{tmp_path}/none.kubeconfig"
    assert "KIND_CLUSTER_NAME" not in environment


_LIKE_KIND = """#!/bin/sh
# Writes where kind does: to the file that it is told, else to that of the environment, else to the user's own.
place=${KUBECONFIG:-$HOME/.kube/config}
while [ $# -gt 0 ]; do [ "$1" = --kubeconfig ] && place=$2; shift; done
cat > "$place" <<END
clusters: [{cluster: {server: https://127.0.0.1:4, certificate-authority-data: YQ==}}]
users: [{user: {client-certificate-data: Yg==, client-key-data: Yw==}}]
END
"""


class OneNode(FakeEngine):
    """An engine with one node, which has an address."""

    def inspect(self, names: Sequence[str], *, kind: str = "container") -> list[dict[str, Any]]:
        return [{"NetworkSettings": {"Networks": {"edgegate-ab": {"IPAddress": "10.89.7.2"}}}}]


def test_the_users_kubeconfig_stays_as_it_is(tmp_path: Path) -> None:
    kind, mine, folder = tmp_path / "kind", tmp_path / "home/.kube/config", tmp_path / "edge"
    kind.write_text(_LIKE_KIND)
    kind.chmod(0o700)
    mine.parent.mkdir(parents=True)
    mine.write_text("# mine\n")
    folder.mkdir()
    engine = OneNode(Docker())
    object.__setattr__(engine, "environment", {"PATH": os.defpath, "HOME": f"{tmp_path}/home", "KUBECONFIG": str(mine)})
    clusters = Clusters(engine, kind, "edgegate-ab", folder)
    config = clusters.create("upstream", Wish("edgegate-ab-upstream", "node:v1", 2))
    assert "https://10.89.7.2:6443" in config.read_text()
    clusters.delete("upstream")
    assert mine.read_text() == "# mine\n"
    assert [one.name for one in mine.parent.iterdir()] == ["config"]


def test_only_what_a_dead_edge_left_is_removed(tmp_path: Path) -> None:
    dead, living = tmp_path / "dead", tmp_path / "living"
    dead.write_text("")
    docker = Docker(
        [_network("edgegate-aa", dead), _network("edgegate-bb", living)], {"edgegate-aa-up": ["1"], "x": []}
    )
    with living.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert leftovers.reap(FakeEngine(docker)) == ["edgegate-aa"]
    removed = [words for words in docker.told if words[0] == "rm" or words[:2] == ("network", "rm")]
    assert removed == [("rm", "--force", "--volumes", "1"), ("network", "rm", "edgegate-aa")]


def test_an_edge_whose_folder_is_gone_is_dead(tmp_path: Path) -> None:
    assert leftovers.is_dead(tmp_path / "nowhere" / "alive")
    assert leftovers.is_dead(Path())


def test_a_cluster_of_ours_without_its_network_is_removed_and_others_stay() -> None:
    clusters = {"edgegate-0a1b2c-upstream": ["1"], "kind": ["2"], "edgegate-mine": ["3"]}
    docker = Docker([], clusters)
    assert leftovers.reap(FakeEngine(docker)) == ["edgegate-0a1b2c"]
    assert [words for words in docker.told if words[0] == "rm"] == [("rm", "--force", "--volumes", "1")]
