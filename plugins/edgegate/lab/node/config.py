"""What the node agent is told when it starts: one JSON file."""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from typing import Any

from edgegate.errors import NodeConfigFault

_TAG = re.compile(r":[\w][\w.-]*$")


@dataclass(frozen=True)
class Image:
    """What stands for a container image: a pinned binary and how it is started."""

    binary: str
    """Path of the binary inside the lab."""
    entry: tuple[str, ...] = ()
    """The image's entry point, used when a container has no `command`; empty means the binary itself."""
    at: str = ""
    """Where a container sees the binary; empty means `/usr/local/bin/<its name>`."""
    env: dict[str, str] = field(default_factory=dict)
    """The image's own environment."""
    files: dict[str, str] = field(default_factory=dict)
    """Further files or folders: path in the container to path in the lab; read-only."""
    id: str = ""
    """What pod status shows as `imageID`: the pin and its digest."""

    @property
    def target(self) -> str:
        """Return the path of the binary in a container."""
        return self.at or f"/usr/local/bin/{Path(self.binary).name}"


@dataclass(frozen=True)
class Tools:
    """Programs that the agent starts containers with."""

    bwrap: str = "bwrap"
    """bubblewrap."""
    ip: str = "ip"
    """iproute2."""
    nsenter: str = "nsenter"
    """util-linux."""
    env: dict[str, str] = field(default_factory=dict)
    """What they need in their environment, such as LD_LIBRARY_PATH of an unpacked package."""


@dataclass(frozen=True)
class Network:
    """The lab's addresses, as the agent needs them."""

    bridge: str
    """Interface that pods are attached to."""
    bridge_ip: str
    """Its address: each pod's gateway, and the node's own address."""
    pod_cidr: str
    """Pod addresses; the first usable one is the bridge's."""
    dns_ip: str
    """Address of the cluster's DNS service."""
    service_ip: str = "10.96.0.1"
    """Address of the Service `kubernetes`."""
    uplink: str = "uplink"
    """Interface that load-balancer addresses are added to."""
    lb_first: str = ""
    """First load-balancer address; empty switches the controller off."""
    lb_last: str = ""
    """Last one."""
    domain: str = "cluster.local"
    """The cluster's DNS domain."""

    def pod_addresses(self) -> list[str]:
        """Return every address a pod may get, lowest first."""
        return [str(host) for host in IPv4Network(self.pod_cidr).hosts() if str(host) != self.bridge_ip]

    def balancer_addresses(self) -> list[str]:
        """Return every address a load-balancer Service may get, lowest first."""
        if not self.lb_first:
            return []
        first, last = int(IPv4Address(self.lb_first)), int(IPv4Address(self.lb_last))
        return [str(IPv4Address(number)) for number in range(first, last + 1)]


@dataclass(frozen=True)
class NodeConfig:
    """Everything the agent is told."""

    kubeconfig: Path
    """How to reach the control plane."""
    node: str
    """Name of the Node."""
    net: Network
    """Addresses and interfaces."""
    logs: Path
    """Folder of the pods' logs; a container's is `<namespace>_<pod>/<container>.log`."""
    root: Path
    """Folder for volumes and the process table; on a tmpfs of the lab."""
    images: dict[str, Image]
    """Image reference (`repository:tag`, or `repository:*` for any tag) to what stands for it."""
    tools: Tools = Tools()
    """Programs it starts."""
    health: str = "127.0.0.1:10248"
    """Where `/healthz` is served."""
    eager_first_probe: bool = False
    """Look every 50 ms until a startup or readiness probe succeeds for the first time, whatever its period is.

    A kubelet looks at once and then once a period: with the 10 s that Envoy Gateway sets, a proxy that is ready
    after 0.5 s is seen ready after 10 s. The lab switches this on to start quickly."""
    labels: dict[str, str] = field(default_factory=dict)
    """Further labels of the Node."""

    @classmethod
    def load(cls, path: Path) -> "NodeConfig":
        """Read the configuration.

        Raises:
            NodeConfigFault: the file cannot be read, or a key is missing, unknown or malformed.
        """
        try:
            return cls.from_json(json.loads(path.read_text()))
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as trouble:
            raise NodeConfigFault(path, f"{type(trouble).__name__}: {trouble}") from trouble

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "NodeConfig":
        """Return the configuration that a parsed file describes; raises TypeError or KeyError where it cannot."""
        words = dict(data)
        for name in ("kubeconfig", "logs", "root"):
            words[name] = Path(words[name])
        words["net"] = Network(**words["net"])
        words["tools"] = Tools(**words.get("tools", {}))
        words["images"] = {normalized(name): _image(what) for name, what in words["images"].items()}
        return cls(**words)

    def image(self, reference: str) -> Image | None:
        """Return what stands for an image, or None when nothing does."""
        name = normalized(reference)
        return self.images.get(name) or self.images.get(_TAG.sub("", name) + ":*")


class Images:
    """The image table of a configuration file, read again whenever the file has changed.

    So a component's version can be swapped while the agent runs: containers that start from then on get it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read: tuple[int, int] = (0, 0)
        self._config: NodeConfig | None = None

    def find(self, reference: str) -> Image | None:
        """Return what stands for an image, or None when nothing does; a broken file leaves the table as it was.

        Raises:
            NodeConfigFault: the file was never a configuration.
        """
        stat = self._path.stat()
        if self._config is None or (stat.st_mtime_ns, stat.st_ino) != self._read:
            try:
                self._config = NodeConfig.load(self._path)
            except NodeConfigFault:
                if self._config is None:
                    raise
            self._read = (stat.st_mtime_ns, stat.st_ino)
        return self._config.image(reference)


def _image(data: Mapping[str, Any]) -> Image:
    known = {one.name for one in fields(Image)}
    if unknown := set(data) - known:
        raise TypeError(f"image has no key {', '.join(sorted(unknown))}; known: {', '.join(sorted(known))}")
    return Image(**{**data, "entry": tuple(data.get("entry", ()))})


def normalized(reference: str) -> str:
    """Return an image reference as `repository:tag` with its registry, as a container runtime understands it.

    A digest beside a tag is dropped: the lab runs what `pins.toml` says, and has no registry to compare with.
    """
    name = reference.partition("@")[0]
    first, slash, _ = name.partition("/")
    if not slash:
        name = f"docker.io/library/{name}"
    elif not ("." in first or ":" in first or first == "localhost"):
        name = f"docker.io/{name}"
    return name if _TAG.search(name) or name.endswith(":*") else f"{name}:latest"


def base_path() -> str:
    """Return the PATH that images have by convention."""
    return os.pathsep.join(f"{prefix}/{name}" for prefix in ("/usr/local", "/usr", "") for name in ("sbin", "bin"))
