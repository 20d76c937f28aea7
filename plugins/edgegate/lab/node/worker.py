"""One pod, from its binding to its last trace: network, volumes, containers, status, end."""

import contextlib
import logging
import shutil
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from edgegate.errors import PlaneRefused, PlaneUnreachable, PodTrouble
from edgegate.lab.node import volumes
from edgegate.lab.node.actor import Actor, Timer
from edgegate.lab.node.addresses import AddressBook
from edgegate.lab.node.box import Box
from edgegate.lab.node.config import Image, NodeConfig
from edgegate.lab.node.container import Launch, Process, Runtime
from edgegate.lab.node.environment import Facts
from edgegate.lab.node.events import Recorder
from edgegate.lab.node.kube import Api, Json
from edgegate.lab.node.launching import Places, image_of, launch, pod_files
from edgegate.lab.node.leftovers import Table
from edgegate.lab.node.lifecycle import Role, finished, plan
from edgegate.lab.node.netns import Namespaces
from edgegate.lab.node.objects import Objects
from edgegate.lab.node.restore import restored
from edgegate.lab.node.status import PodFacts, render, timestamp

LOG = logging.getLogger("edgegate.lab.node")
PUBLISH_AGAIN = 0.3
"""Seconds until a status that the control plane did not take is sent again."""
SETUP_AGAIN = (0.5, 30.0)
"""Seconds until a set-up that failed is tried again: first, and at most after doubling."""


@dataclass(frozen=True)
class Node:
    """What all pods of the node share."""

    config: NodeConfig
    """What the agent was told."""
    api: Api
    """The control plane."""
    objects: Objects
    """Secrets and ConfigMaps."""
    recorder: Recorder
    """Where events go."""
    namespaces: Namespaces
    """Networks."""
    runtime: Runtime
    """Containers."""
    table: Table
    """Processes that run."""
    addresses: AddressBook
    """Who has which address; guarded by `lock`."""
    lock: threading.Lock
    """Held while the book is used."""
    capacity: dict[str, str]
    """What the node has."""


class PodWorker(Actor):
    """The thread of one pod."""

    def __init__(self, node: Node, pod: Json, done: Callable[[str], None]) -> None:
        metadata = pod["metadata"]
        super().__init__(name=f"pod {metadata['namespace']}/{metadata['name']}")
        self.actor: Actor = self
        self.eager = node.config.eager_first_probe
        self.uid: str = metadata["uid"]
        self.space: str = metadata["namespace"]
        self._node, self._pod, self._done = node, pod, done
        self._path = f"/api/v1/namespaces/{self.space}/pods/{metadata['name']}"
        host_network = bool(pod["spec"].get("hostNetwork"))
        self._places = Places(
            root=node.config.root / "pods" / self.uid,
            logs=node.config.logs / "pods" / f"{self.space}_{metadata['name']}",
            netns=None if host_network else node.namespaces.path(self.uid),
        )
        self._boxes = [Box(self, spec, facts) for spec, facts in restored(pod)]
        self._seen_first = (pod.get("status") or {}).get("startTime") or timestamp()
        self._shown: Json | None = None
        self._address = ""
        self._set_up = self._stopping = self._ended = self._vanished = False
        self._failure = ("", "")
        self._setup_wait = SETUP_AGAIN[0]
        self._setup_timer: Timer | None = None
        self._tokens: dict[tuple[str, int], tuple[str, float]] = {}
        self._references = volumes.references(pod["spec"].get("volumes") or [])

    # --- messages ---

    def begin(self) -> None:
        """Take the pod on."""
        deadline = self._pod["spec"].get("activeDeadlineSeconds")
        if deadline is not None:
            self.later(float(deadline), self._too_long)
        self.updated(self._pod)

    def updated(self, pod: Json) -> None:
        """Take a newer version of the pod over; a deletion begins its end, or makes it quicker."""
        self._pod = pod
        if pod["metadata"].get("deletionTimestamp"):
            self._stop(float(pod["metadata"].get("deletionGracePeriodSeconds") or 0))

    def gone(self) -> None:
        """End the pod at once: the control plane does not have it any more."""
        self._vanished = True
        self._stop(0)

    def changed(self, kind: str, name: str) -> None:
        """Show the new content of a Secret or ConfigMap, and try again what lacked it."""
        if not self._set_up:
            self._retry_setup()
            return
        for box in self._boxes:
            box.retry()
        if (kind, name) in self._references and not self._ended:
            self._refresh()

    # --- what containers ask for (box.Host) ---

    def launch(self, container: Json) -> tuple[Launch, Image, Path]:
        """Return how a container is started, what it really is, and its message file; raises PodTrouble."""
        image = image_of(self._node.config, container["image"])
        message = self._places.message(container["name"])
        message.parent.mkdir(parents=True, exist_ok=True)
        message.write_bytes(b"")
        net = self._node.config.net
        try:
            made = launch(self._pod, container, image, self._places, self._facts(), self._lookup, net)
        except (PlaneRefused, PlaneUnreachable) as trouble:
            raise PodTrouble("CreateContainerConfigError", str(trouble)) from trouble
        return made, image, message

    def execute(self, launch: Launch) -> Process:
        """Start a container; raises PodTrouble."""
        process = self._node.runtime.start(launch)
        self._node.table.add(process.pid)
        return process

    def ended(self, process: Process) -> None:
        """Note that a process is gone."""
        self._node.table.drop(process.pid)

    def address(self) -> str:
        """Return the pod's address."""
        return self._address

    def title(self) -> str:
        """Return the pod's name as messages have it."""
        return f"{self._pod['metadata']['name']}_{self.space}({self.uid})"

    def grace(self) -> float:
        """Return the pod's own termination grace, in seconds."""
        return float(self._pod["spec"].get("terminationGracePeriodSeconds", 30))

    def note(self, reason: str, message: str, *, warning: bool = False, container: str = "") -> None:
        """Record an event about the pod."""
        about = {"apiVersion": "v1", "kind": "Pod", "metadata": self._pod["metadata"]}
        self._node.recorder.note(about, reason, message, warning=warning, container=container)

    # --- set-up ---

    def _facts(self) -> Facts:
        config = self._node.config
        return Facts(self._address, config.net.bridge_ip, config.node, self._node.capacity)

    def _lookup(self, kind: str, name: str) -> Json | None:
        return self._node.objects.get(kind, self.space, name)

    def _token(self, audience: str, seconds: int) -> str:
        """Return a token, the same one until 80 % of its life are over, when a kubelet renews it too."""
        text, until = self._tokens.get((audience, seconds), ("", 0.0))
        if self.clock.now() >= until:
            text = self._node.objects.token(self._pod, audience, seconds)
            self._tokens[audience, seconds] = (text, self.clock.now() + seconds * 0.8)
            self.later(seconds * 0.8, self._refresh)
        return text

    def _prepare(self) -> None:
        """Make network, files and volumes; what fails is said in an event and tried again."""
        self._setup_timer = None
        try:
            self._connect()
            self._places.logs.mkdir(parents=True, exist_ok=True)
            own = Path("/etc/resolv.conf").read_text()
            for name, text in pod_files(self._pod, self._node.config.net, self._address, own).items():
                (self._places.root / name).write_text(text)
            self._fill()
            self._set_up = True
        except (PodTrouble, PlaneRefused, PlaneUnreachable) as trouble:
            reason, text = (
                (trouble.reason, trouble.text) if isinstance(trouble, PodTrouble) else ("FailedMount", str(trouble))
            )
            self.note(reason, text, warning=True)
            self._setup_timer = self.later(self._setup_wait, self._prepare)
            self._setup_wait = min(self._setup_wait * 2, SETUP_AGAIN[1])

    def _retry_setup(self) -> None:
        if self._setup_timer:
            self._setup_timer.cancel()
            self._prepare()

    def _connect(self) -> None:
        self._places.root.mkdir(parents=True, exist_ok=True)
        if self._address:
            return
        if self._places.netns is None:
            self._address = self._node.config.net.bridge_ip
            return
        with self._node.lock:
            address = self._node.addresses.take(self.uid)
        if address is None:
            raise PodTrouble("FailedCreatePodSandBox", "all pod addresses of the lab are taken; delete pods")
        self._node.namespaces.create(self.uid, address)
        self._address = address

    def _fill(self) -> None:
        """Bring the content of all volumes up to date."""
        sources = volumes.Sources(self._pod, self._facts(), self._lookup, self._token)
        for volume in self._pod["spec"].get("volumes") or []:
            folder = self._places.volume(volume["name"])
            if volumes.kind_of(volume) == "emptyDir":
                folder.mkdir(parents=True, exist_ok=True)
                folder.chmod(0o777)
                continue
            volumes.write(folder, volumes.files_of(volume, sources))

    def _refresh(self) -> None:
        """Bring volumes of running containers up to date; what cannot be had leaves them as they are."""
        if self._ended:
            return
        try:
            self._fill()
        except PodTrouble as trouble:
            self.note(trouble.reason, trouble.text, warning=True)
        except (PlaneRefused, PlaneUnreachable) as trouble:
            LOG.info("%s: volumes not refreshed: %s", self.name, trouble)
            self.later(SETUP_AGAIN[0], self._refresh)

    # --- end ---

    def _stop(self, grace: float) -> None:
        self._stopping = True
        if self._setup_timer:
            self._setup_timer.cancel()
        ordered = any(box.facts.role is Role.SIDECAR for box in self._boxes)
        for box in self._boxes:
            box.stop(grace, held=ordered and box.facts.role is Role.SIDECAR)

    def _too_long(self) -> None:
        if not self._stopping:
            self._failure = ("DeadlineExceeded", "Pod was active on the node longer than the specified deadline")
            self.note(*self._failure, warning=True)
            for box in self._boxes:
                box.stop(self.grace())

    def _release_sidecars(self) -> None:
        """Let sidecars go, last one first, each once everything that started after it has ended."""
        for box in reversed(self._boxes):
            if box.alive:
                if box.facts.role is Role.SIDECAR:
                    box.release()
                return

    def _clean(self) -> None:
        """Take everything of the pod away; its logs stay."""
        if self._ended:
            return
        self._ended = True
        if self._places.netns is not None:
            self._node.namespaces.remove(self.uid)
            with self._node.lock:
                self._node.addresses.free(self.uid)
        shutil.rmtree(self._places.root, ignore_errors=True)

    # --- after each message ---

    def settle(self) -> None:
        """Do what the state asks for, then show the state."""
        policy = self._pod["spec"].get("restartPolicy", "Always")
        facts = [box.facts for box in self._boxes]
        over = self._stopping or bool(self._failure[0]) or finished(facts, policy)
        if not over:
            self._advance(policy)
        elif not self._stopping:
            for box in self._boxes:
                box.stop(self.grace())
        alive = any(box.alive for box in self._boxes)
        if over and alive:
            self._release_sidecars()
        if over and not alive:
            self._clean()
        published = self._publish()
        if self._stopping and self._ended and published:
            self._delete()

    def _advance(self, policy: str) -> None:
        if not self._set_up:
            if self._setup_timer is None:
                self._prepare()
            if not self._set_up:
                return
        for name in plan([box.facts for box in self._boxes], policy).start:
            next(box for box in self._boxes if box.facts.name == name).start()

    def _publish(self) -> bool:
        """Show the status if it differs from what was shown; return whether the control plane has it."""
        if self._vanished:
            return True
        facts = PodFacts(
            containers=tuple(box.facts for box in self._boxes),
            pod_ip=self._address,
            host_ip=self._node.config.net.bridge_ip,
            started=self._seen_first,
            reason=self._failure[0],
            message=self._failure[1],
        )
        status = render(self._with_conditions(), facts, timestamp())
        if status == self._shown:
            return True
        try:
            self._node.api.patch(f"{self._path}/status", {"metadata": {"uid": self.uid}, "status": status})
        except PlaneRefused as refusal:
            LOG.info("%s: status refused: %s", self.name, refusal)
            self._vanished = refusal.status in (404, 409)
            return self._vanished
        except PlaneUnreachable:
            self.later(PUBLISH_AGAIN, lambda: None)
            return False
        self._shown = status
        return True

    def _with_conditions(self) -> Json:
        """Return the pod with the conditions that were shown last, and whatever others have added."""
        known = {one["type"]: one for one in (self._pod.get("status") or {}).get("conditions") or []}
        known |= {one["type"]: one for one in (self._shown or {}).get("conditions", [])}
        return {**self._pod, "status": {"conditions": list(known.values())}}

    def _delete(self) -> None:
        try:
            if not self._vanished:
                self._node.api.delete(self._path, grace=0, uid=self.uid)
        except (PlaneRefused, PlaneUnreachable):
            self.later(PUBLISH_AGAIN, lambda: None)
            return
        with contextlib.suppress(OSError):
            self._places.root.rmdir()
        self.finish()
        self._done(self.uid)
