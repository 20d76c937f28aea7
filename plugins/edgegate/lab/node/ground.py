"""What a pod stands on: its address and network namespace, the files that a kubelet writes, and its volumes."""

import shutil
from collections.abc import Callable
from pathlib import Path

from edgegate.errors import PlaneRefused, PlaneUnreachable, PodTrouble
from edgegate.lab.node import volumes
from edgegate.lab.node.config import Image
from edgegate.lab.node.container import Launch
from edgegate.lab.node.environment import Facts
from edgegate.lab.node.kube import Json
from edgegate.lab.node.launching import Places, image_of, launch, pod_files
from edgegate.lab.node.shared import Node

RENEW = 0.8
"""Part of its life after which a token is renewed; a kubelet's number."""


class Ground:
    """Made once for a pod, kept up to date, and taken away with it."""

    def __init__(self, node: Node, pod: Json, now: Callable[[], float]) -> None:
        metadata = pod["metadata"]
        self._node, self._now, self._uid = node, now, str(metadata["uid"])
        self._space = str(metadata["namespace"])
        self._tokens: dict[tuple[str, int], tuple[str, float]] = {}
        self._shows = volumes.references(pod["spec"].get("volumes") or [])
        self._places = Places(
            root=node.config.root / "pods" / self._uid,
            logs=node.config.logs / f"{self._space}_{metadata['name']}",
            netns=None if pod["spec"].get("hostNetwork") else node.namespaces.path(self._uid),
        )
        self.address = ""
        """The pod's address; empty before it has one."""
        self.made = False
        """Whether containers can be started."""
        self.removed = False
        """Whether it is gone."""

    def make(self, pod: Json) -> None:
        """Make network, files and volumes; may be called again after it failed.

        Raises:
            PodTrouble: something is missing or failed; `reason` is the event's.
            PlaneRefused, PlaneUnreachable: the control plane did not give what volumes show.
        """
        self._places.root.mkdir(parents=True, exist_ok=True)
        self._places.logs.mkdir(parents=True, exist_ok=True)
        self._connect()
        for name, text in pod_files(pod, self._node.config.net, self.address, _own_resolver()).items():
            (self._places.root / name).write_text(text)
        self.fill(pod)
        self.made = True

    def _connect(self) -> None:
        if self.address:
            return
        if self._places.netns is None:
            self.address = self._node.config.net.bridge_ip
            return
        with self._node.lock:
            address = self._node.addresses.take(self._uid)
        if address is None:
            raise PodTrouble("FailedCreatePodSandBox", "all pod addresses of the lab are taken; delete pods")
        self._node.namespaces.create(self._uid, address)
        self.address = address

    def shows(self, kind: str, name: str) -> bool:
        """Tell whether a volume shows that Secret or ConfigMap."""
        return (kind, name) in self._shows

    def fill(self, pod: Json) -> None:
        """Bring the content of all volumes up to date; raises as `make` does, and then leaves the rest as it was."""
        sources = volumes.Sources(pod, self._facts(), self._lookup, lambda *what: self._token(pod, *what))
        for volume in pod["spec"].get("volumes") or []:
            folder = self._places.volume(volume["name"])
            if volumes.kind_of(volume) == "emptyDir":
                folder.mkdir(parents=True, exist_ok=True)
                folder.chmod(0o777)
            else:
                volumes.write(folder, volumes.files_of(volume, sources))

    def renew_in(self) -> float | None:
        """Return the seconds until a token is to be renewed by filling again; None when there is none."""
        if not self._tokens:
            return None
        return max(0.0, min(until for _, until in self._tokens.values()) - self._now())

    def launch(self, pod: Json, container: Json) -> tuple[Launch, Image, Path]:
        """Return how a container is started, what it really is, and its termination message file.

        Raises:
            PodTrouble: ErrImagePull or CreateContainerConfigError.
        """
        image = image_of(self._node.images, container["image"])
        try:
            made = launch(pod, container, image, self._places, self._facts(), self._lookup, self._node.config.net)
        except (PlaneRefused, PlaneUnreachable) as trouble:
            raise PodTrouble("CreateContainerConfigError", str(trouble)) from trouble
        message = self._places.message(container["name"])
        message.parent.mkdir(parents=True, exist_ok=True)
        message.write_bytes(b"")
        for mount in made.mounts:
            if not mount.read_only and not Path(mount.source).exists():  # a subPath of an emptyDir
                Path(mount.source).mkdir(parents=True)
        return made, image, message

    def remove(self) -> None:
        """Take everything away except the logs; the address may go to another pod."""
        if self.removed:
            return
        self.removed = True
        if self._places.netns is not None and self.address:
            self._node.namespaces.remove(self._uid)
        with self._node.lock:
            self._node.addresses.free(self._uid)
        shutil.rmtree(self._places.root, ignore_errors=True)

    def _facts(self) -> Facts:
        config = self._node.config
        return Facts(self.address, config.net.bridge_ip, config.node, self._node.capacity)

    def _lookup(self, kind: str, name: str) -> Json | None:
        return self._node.objects.get(kind, self._space, name)

    def _token(self, pod: Json, audience: str, seconds: int) -> str:
        """Return a token, the same one until it is to be renewed."""
        text, until = self._tokens.get((audience, seconds), ("", 0.0))
        if self._now() >= until:
            text = self._node.objects.token(pod, audience, seconds)
            self._tokens[audience, seconds] = (text, self._now() + seconds * RENEW)
        return text


def _own_resolver() -> str:
    try:
        return Path("/etc/resolv.conf").read_text()
    except FileNotFoundError:
        return ""
