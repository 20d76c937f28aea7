"""The agent: registers the node, binds pods, and gives each its worker."""

import logging
import threading
from functools import partial

from edgegate.errors import PlaneRefused, PlaneUnreachable
from edgegate.lab.node.actor import Actor
from edgegate.lab.node.addresses import AddressBook
from edgegate.lab.node.balancer import Balancer
from edgegate.lab.node.config import Images, NodeConfig
from edgegate.lab.node.container import Runtime
from edgegate.lab.node.events import Recorder
from edgegate.lab.node.kube import Api, Json, Reflector
from edgegate.lab.node.leftovers import Table
from edgegate.lab.node.netns import Namespaces
from edgegate.lab.node.objects import Objects
from edgegate.lab.node.scheduling import (
    is_ours,
    misfit,
    node_capacity,
    node_labels,
    node_manifest,
    node_status,
    wants_binding,
)
from edgegate.lab.node.shared import Node
from edgegate.lab.node.status import timestamp
from edgegate.lab.node.worker import PodWorker

LOG = logging.getLogger("edgegate.lab.node")
AGAIN = 0.2
"""Seconds until a request that the control plane did not take is sent again."""


class Agent(Actor):
    """Scheduler and kubelet of one node."""

    def __init__(self, config: NodeConfig, images: Images) -> None:
        super().__init__(name="agent")
        self._config = config
        self._stopping = threading.Event()
        self._api = Api(config.kubeconfig)
        self._namespaces = Namespaces(config.net, config.tools)
        self._recorder = Recorder(self._api, config.node)
        self._objects = Objects(self._api, self._object_changed, self._stopping)
        self._pods = Reflector(self._api, "/api/v1/pods", self._pod_seen, self._stopping)
        self._balancer = Balancer(self._api, config.net, self._namespaces, self._recorder, self._stopping)
        self._reflectors = (self._pods, self._balancer.reflector, *self._objects.reflectors)
        self._workers: dict[str, PodWorker] = {}
        self._registered = False
        self._labels = node_labels(config)
        self._node = Node(
            config=config,
            images=images,
            api=self._api,
            objects=self._objects,
            recorder=self._recorder,
            namespaces=self._namespaces,
            runtime=Runtime(config.tools),
            table=Table(config.root / "processes"),
            addresses=AddressBook(config.net.pod_addresses()),
            lock=threading.Lock(),
            capacity=node_capacity(config),
        )

    def begin(self) -> None:
        """Clear what an earlier agent left, then start everything; returns at once."""
        if killed := self._node.table.clear():
            LOG.warning("killed %d processes of an earlier agent: %s", len(killed), killed)
        self._namespaces.prepare()
        self._recorder.start()
        self.post(self._register)
        self.post(self._recall)
        for reflector in self._reflectors:
            reflector.start()
        self._balancer.start()
        self.start()

    def missing(self) -> str:
        """Return what has not come about yet; empty when the agent is ready."""
        if not self._registered:
            return "the node is not registered yet"
        waiting = [reflector.name for reflector in self._reflectors if not reflector.synced.is_set()]
        return f"not listed yet: {', '.join(waiting)}" if waiting else ""

    def _register(self) -> None:
        """Make the Node what it is to be; an existing one is brought to that state."""
        manifest, path = node_manifest(self._config), f"/api/v1/nodes/{self._config.node}"
        try:
            try:
                self._api.create("/api/v1/nodes", manifest)
            except PlaneRefused as refusal:
                if refusal.status != 409:
                    raise
                self._api.patch(path, {"metadata": {"labels": self._labels}}, kind="merge")
            self._api.patch(f"{path}/status", {"status": node_status(self._config, timestamp())})
        except (PlaneRefused, PlaneUnreachable) as trouble:
            LOG.info("node not registered yet: %s", trouble)
            self.later(AGAIN, self._register)
            return
        self._registered = True
        LOG.info("node %s is registered", self._config.node)

    # --- pods ---

    def _recall(self) -> None:
        """Note the addresses that pods have already, all of them before the first new one is given."""
        self._pods.synced.wait()
        for pod in self._pods.known():
            status = pod.get("status") or {}
            if status.get("podIP") and status.get("phase") not in ("Succeeded", "Failed"):
                self._node.addresses.hold(pod["metadata"]["uid"], status["podIP"])

    def _pod_seen(self, event: str, pod: Json) -> None:
        self.post(partial(self._take, event, pod))

    def _take(self, event: str, pod: Json) -> None:
        uid = pod["metadata"]["uid"]
        if worker := self._workers.get(uid):
            worker.post(worker.gone if event == "DELETED" else partial(worker.updated, pod))
        elif event != "DELETED" and is_ours(pod, self._config.node):
            self._adopt(pod)
        elif event != "DELETED" and wants_binding(pod):
            self._bind(pod)

    def _adopt(self, pod: Json) -> None:
        """Give a pod its worker."""
        uid = pod["metadata"]["uid"]
        worker = PodWorker(self._node, pod, lambda done: self.post(partial(self._forget, done)))
        self._workers[uid] = worker
        worker.post(worker.begin)
        worker.start()

    def _forget(self, uid: str) -> None:
        self._workers.pop(uid, None)

    def _bind(self, pod: Json) -> None:
        metadata = pod["metadata"]
        if reason := misfit(pod, self._labels):
            self._unschedulable(pod, f"0/1 nodes are available: 1 {reason}.")
            return
        path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}/binding"
        target = {"apiVersion": "v1", "kind": "Node", "name": self._config.node}
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": metadata["name"], "uid": metadata["uid"]},
        }
        try:
            self._api.create(path, {**binding, "target": target})
        except (PlaneRefused, PlaneUnreachable) as trouble:
            if isinstance(trouble, PlaneRefused) and trouble.status in (404, 409):
                return  # gone, or bound meanwhile: the watch tells
            LOG.info("pod %s not bound yet: %s", metadata["name"], trouble)
            self.later(AGAIN, partial(self._bind, pod))
            return
        self._adopt({**pod, "spec": {**pod["spec"], "nodeName": self._config.node}})

    def _unschedulable(self, pod: Json, text: str) -> None:
        shown = {one["type"]: one for one in (pod.get("status") or {}).get("conditions") or []}
        if shown.get("PodScheduled", {}).get("message") == text:
            return
        self._recorder.note({**pod, "kind": "Pod"}, "FailedScheduling", text, warning=True)
        metadata = pod["metadata"]
        condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": text}
        change = {"metadata": {"uid": metadata["uid"]}, "status": {"conditions": [condition]}}
        self._api.patch(f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}/status", change)

    def _object_changed(self, kind: str, space: str, name: str) -> None:
        def tell() -> None:
            for worker in self._workers.values():
                if worker.space == space:
                    worker.post(partial(worker.changed, kind, name))

        self.post(tell)
