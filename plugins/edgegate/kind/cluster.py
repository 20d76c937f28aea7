"""Make and delete the kind clusters of one edge. Nothing of the user's is read or written: no ~/.kube, no names."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from edgegate import command
from edgegate.artifacts.process import tied
from edgegate.clock import wait_until
from edgegate.errors import ClusterNotGone, ClusterNotMade, CommandFailed, NeverReady
from edgegate.kind.engine import ROLE_LABEL, Engine
from edgegate.kind.network import KindNet

NAME_LABEL, ALIVE_LABEL = "edgegate.edge", "edgegate.alive"
"""Labels of a network of ours: the edge's name, and the file that somebody holds locked while the edge is used."""
RECORD = "kind.json"
"""File in an edge's folder that names its clusters."""
_CREATE_WITHIN, _DELETE_WITHIN = 240.0, 60.0


@dataclass(frozen=True)
class Wish:
    """One cluster as it is to be."""

    name: str
    """Its whole name."""
    image: str
    """The node image, by its reference."""
    cgroups: int
    """Version of the machine's control groups."""
    pods: str = ""
    """The range of its pods; empty for kind's own."""
    services: str = ""
    """The range of its service addresses; empty for kind's own."""
    node_bits: int = 24
    """Length of the prefix of one node's pods."""
    workers: int = 0
    """Nodes beside the one with the control plane."""

    def config(self) -> str:
        """Return what kind is told."""
        networking: dict[str, object] = {"disableDefaultCNI": True, "kubeProxyMode": "nftables"}
        networking |= {"podSubnet": self.pods} if self.pods else {}
        networking |= {"serviceSubnet": self.services} if self.services else {}
        nodes = [{"role": role, "image": self.image} for role in ("control-plane", *["worker"] * self.workers)]
        content = {
            "kind": "Cluster",
            "apiVersion": "kind.x-k8s.io/v1alpha4",
            "networking": networking,
            "kubeadmConfigPatches": [yaml.safe_dump(patch) for patch in self._patches()],
            "nodes": nodes,
        }
        return yaml.safe_dump(content, sort_keys=False)

    def _patches(self) -> list[dict[str, object]]:
        # Cluster DNS is ours: the one in the store has no more plugins than an edge uses, and asks the lab's resolver.
        skipped = ["preflight", "addon/coredns"]
        patches: list[dict[str, object]] = [
            {"kind": "InitConfiguration", "skipPhases": skipped},
            {
                "kind": "ClusterConfiguration",
                "controllerManager": {"extraArgs": {"node-cidr-mask-size": str(self.node_bits)}},
            },
        ]
        if self.cgroups == 1:
            patches.append({"kind": "KubeletConfiguration", "failCgroupV1": False})
        return patches


@dataclass(frozen=True)
class Clusters:
    """The clusters of one edge, and what they share."""

    engine: Engine
    """Where they run."""
    kind: Path
    """kind's program."""
    name: str
    """The edge's name; that of every cluster and of the network begins with it."""
    folder: Path
    """A private folder for kubeconfigs and logs; it exists as long as the edge."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """What kind gets beside the engine's environment."""

    def full_name(self, cluster: str) -> str:
        """Return the whole name of a cluster."""
        return f"{self.name}-{cluster}"

    def make_network(self, net: KindNet, alive: Path) -> None:
        """Make the Docker network; whoever holds `alive` locked keeps it, and the clusters, from being reaped."""
        labels = {NAME_LABEL: self.name, ALIVE_LABEL: str(alive)}
        self.engine.make_network(self.name, subnet=net.subnet, nodes=net.nodes, labels=labels)

    def create(self, cluster: str, wish: Wish) -> Path:
        """Make a cluster and return its kubeconfig, which leads to the node itself; the node need not be ready yet.

        Raises:
            ClusterNotMade: kind failed; nothing of it is left.
        """
        config, log = self.folder / f"{cluster}.kind.yaml", self.folder / "logs" / f"kind-{cluster}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        config.write_text(wish.config())
        words = [
            str(self.kind), "create", "cluster", "--name", wish.name, "--config", str(config),
            "--kubeconfig", str(self._kubeconfig(cluster)), "--verbosity", "1", "--retain",
        ]  # fmt: skip
        try:
            # A kind that outlives us would go on making what the next start has just removed.
            done = command.run(tied(words), env=self._environment(), timeout=_CREATE_WITHIN)
        except CommandFailed as failed:
            log.write_text(failed.output + self._told(wish.name))
            self.delete(cluster)
            tail = "\n".join(failed.output.splitlines()[-20:])
            raise ClusterNotMade(wish.name, tail=tail, log=log) from failed
        log.write_text(done.stdout + done.stderr)
        return self._direct(cluster, wish.name)

    def delete(self, cluster: str) -> None:
        """Delete a cluster and return when nothing of it is there.

        Raises:
            ClusterNotGone: something is there still; says what.
        """
        name = self.full_name(cluster)
        words = [str(self.kind), "delete", "cluster", "--name", name, "--kubeconfig", str(self._kubeconfig(cluster))]
        command.run(words, env=self._environment(), timeout=_DELETE_WITHIN, check=False)
        see_gone(self.engine, name)

    def address(self, cluster: str, node: str = "control-plane") -> str:
        """Return the address of a node on the edge's network."""
        (found,) = self.engine.inspect([f"{self.full_name(cluster)}-{node}"])
        address: str = found["NetworkSettings"]["Networks"][self.name]["IPAddress"]
        return address

    def addresses(self, cluster: str, role: str) -> list[str]:
        """Return the addresses of a cluster's nodes with a role, `worker` for instance, in the order of their names."""
        found = self.engine.inspect(self.engine.containers(self.full_name(cluster)))
        nodes = {node["Name"]: node for node in found if node["Config"]["Labels"].get(ROLE_LABEL) == role}
        return [nodes[name]["NetworkSettings"]["Networks"][self.name]["IPAddress"] for name in sorted(nodes)]

    def running_image(self, cluster: str) -> str:
        """Return the id of the image that a cluster's first node really runs."""
        (found,) = self.engine.inspect([f"{self.full_name(cluster)}-control-plane"])
        return str(found["Image"])

    def load(self, cluster: str, archive: Path) -> None:
        """Load an image into every node of a cluster. Raises CommandFailed."""
        words = [str(self.kind), "load", "image-archive", str(archive), "--name", self.full_name(cluster)]
        command.run(words, env=self._environment(), timeout=120)

    def _direct(self, cluster: str, name: str) -> Path:
        """Write a kubeconfig that names the node's address, so that the lab reaches the API server too."""
        content = yaml.safe_load(self._kubeconfig(cluster).read_text())
        (server,), (user,) = content["clusters"], content["users"]
        server["cluster"]["server"] = f"https://{self.address(cluster)}:6443"
        # Files of their own: what is inside a kubeconfig the Python client copies to temporary files, and leaves there.
        both = (user["user"], "client-certificate"), (user["user"], "client-key")
        for holder, key in ((server["cluster"], "certificate-authority"), *both):
            data = base64.b64decode(holder.pop(f"{key}-data"))
            holder[key] = str(_private(self.folder / f"{cluster}.{key}", data))
        return _private(self.folder / f"{cluster}.kubeconfig", yaml.safe_dump(content, sort_keys=False).encode())

    def _told(self, name: str) -> str:
        """Return the end of what the nodes of a cluster that failed have written."""
        parts = []
        for container in self.engine.containers(name):
            done = self.engine.run("logs", "--tail", "60", container, check=False)
            units = self.engine.run(
                "exec", container, "journalctl", "--no-pager", "-n", "80", "-u", "kubelet", "-u", "containerd",
                check=False,
            )  # fmt: skip
            parts.append(f"\n--- {container[:12]}\n{done.stdout}{done.stderr}\n--- its units\n{units.stdout}")
        return "".join(parts)

    def _kubeconfig(self, cluster: str) -> Path:
        """Return kind's own kubeconfig of a cluster, given for create *and* delete: else kind would edit ~/.kube."""
        return self.folder / f"{cluster}.kind.kubeconfig"

    def _environment(self) -> dict[str, str]:
        kept = {key: value for key, value in self.engine.environment.items() if not key.startswith("KIND_")}
        ours = {"KUBECONFIG": str(self.folder / "none.kubeconfig"), "KIND_EXPERIMENTAL_DOCKER_NETWORK": self.name}
        return {**kept, **self.environment, **ours}


def _private(place: Path, content: bytes) -> Path:
    place.touch(mode=0o600)
    place.write_bytes(content)
    return place


def see_gone(engine: Engine, name: str) -> None:
    """Return once an engine has no container of a cluster; what kind left is removed first.

    Raises:
        ClusterNotGone: a container cannot be removed.
    """
    left = engine.containers(name)

    def gone() -> bool:
        engine.remove_containers(left)
        left[:] = engine.containers(name)
        return not left

    try:
        wait_until(f"{name} deleted", gone, deadline=_DELETE_WITHIN, every=0.3)
    except NeverReady as late:
        raise ClusterNotGone(name, left) from late
