"""Events, so that `kubectl describe` tells what a kubelet would tell."""

import logging
import queue
import threading
import time
from dataclasses import dataclass

from edgegate.errors import PlaneRefused, PlaneUnreachable
from edgegate.lab.node.kube import Api, Json
from edgegate.lab.node.status import timestamp

LOG = logging.getLogger("edgegate.lab.node")
COMPONENT = "edgegate-node"


@dataclass
class _Seen:
    name: str
    count: int


class Recorder(threading.Thread):
    """Writes events in the background; the same one again only raises its count."""

    def __init__(self, api: Api, node: str) -> None:
        super().__init__(name="events", daemon=True)
        self._api, self._node = api, node
        self._queue: queue.SimpleQueue[tuple[Json, str, str, str, str]] = queue.SimpleQueue()
        self._seen: dict[tuple[str, str, str], _Seen] = {}

    def note(self, about: Json, reason: str, message: str, *, warning: bool = False, container: str = "") -> None:
        """Record an event about an object; returns at once."""
        kind = "Warning" if warning else "Normal"
        LOG.info("%s %s: %s: %s", about["kind"], about["metadata"]["name"], reason, message)
        self._queue.put((about, kind, reason, message, container))

    def run(self) -> None:
        """Write what is noted, for as long as the agent lives."""
        while True:
            entry = self._queue.get()
            try:
                self._write(*entry)
            except (PlaneRefused, PlaneUnreachable) as trouble:  # events are no reason to stop
                LOG.warning("event not written: %s", trouble)

    def _write(self, about: Json, kind: str, reason: str, message: str, container: str) -> None:
        metadata = about["metadata"]
        space = metadata.get("namespace") or "default"
        path = f"/api/v1/namespaces/{space}/events"
        now, key = timestamp(), (metadata["uid"], reason, message)
        if seen := self._seen.get(key):
            seen.count += 1
            self._api.patch(f"{path}/{seen.name}", {"count": seen.count, "lastTimestamp": now})
            return
        name = f"{metadata['name']}.{time.time_ns():x}"
        involved = {"apiVersion": about.get("apiVersion", "v1"), "kind": about["kind"], "name": metadata["name"]}
        involved |= {"uid": metadata["uid"]} | ({"namespace": space} if metadata.get("namespace") else {})
        if container:
            involved["fieldPath"] = f"spec.containers{{{container}}}"
        event: Json = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": name, "namespace": space}}
        event |= {"involvedObject": involved, "type": kind, "reason": reason, "message": message[:1024], "count": 1}
        event |= {"firstTimestamp": now, "lastTimestamp": now, "source": {"component": COMPONENT, "host": self._node}}
        self._api.create(path, event)
        self._seen[key] = _Seen(name, 1)
