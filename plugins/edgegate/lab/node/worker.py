"""One pod, from its binding to its last trace."""

import logging
from collections.abc import Callable
from pathlib import Path

from edgegate.errors import PlaneRefused, PlaneUnreachable, PodTrouble
from edgegate.lab.node.actor import Actor, Timer
from edgegate.lab.node.box import Box
from edgegate.lab.node.config import Image
from edgegate.lab.node.container import Launch, Process
from edgegate.lab.node.ground import Ground
from edgegate.lab.node.kube import Json
from edgegate.lab.node.lifecycle import ContainerFacts, Role, finished, plan
from edgegate.lab.node.restore import restored
from edgegate.lab.node.shared import Node
from edgegate.lab.node.status import PodFacts, render, timestamp

LOG = logging.getLogger("edgegate.lab.node")
PUBLISH_AGAIN = 0.3
"""Seconds until a request that the control plane did not take is sent again."""
SETUP_AGAIN = (0.5, 30.0)
"""Seconds until a set-up that failed is tried again: first, and at most after doubling."""


class PodWorker(Actor):
    """The thread of one pod, and what its containers need of it (`box.Host`)."""

    def __init__(self, node: Node, pod: Json, done: Callable[[str], None]) -> None:
        metadata = pod["metadata"]
        super().__init__(name=f"pod {metadata['namespace']}/{metadata['name']}")
        self.actor: Actor = self
        self.eager = node.config.eager_first_probe
        self.uid: str = metadata["uid"]
        """The pod's uid."""
        self.space: str = metadata["namespace"]
        """The pod's namespace."""
        self._node, self._pod, self._done = node, pod, done
        self._path = f"/api/v1/namespaces/{self.space}/pods/{metadata['name']}"
        self._ground = Ground(node, pod, self.clock.now)
        self._boxes = [Box(self, spec, facts) for spec, facts in restored(pod)]
        self._since = (pod.get("status") or {}).get("startTime") or timestamp()
        self._shown: Json | None = None
        self._stopping = self._vanished = False
        self._done_before = (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")
        self._failure = ("", "")
        self._setup_wait = SETUP_AGAIN[0]
        self._setup_timer: Timer | None = None
        self._renewal: Timer | None = None

    # --- messages ---

    def begin(self) -> None:
        """Take the pod on."""
        deadline = self._pod["spec"].get("activeDeadlineSeconds")
        if deadline is not None:
            self.later(float(deadline), self._too_long)
        self.updated(self._pod)

    def updated(self, pod: Json) -> None:
        """Take a newer version of the pod over; a deletion begins its end, or makes it quicker."""
        before, self._pod = self._pod["metadata"], pod
        if pod["metadata"].get("deletionTimestamp"):
            self._stop(float(pod["metadata"].get("deletionGracePeriodSeconds") or 0))
        elif any(before.get(word) != pod["metadata"].get(word) for word in ("labels", "annotations")):
            self._refresh()

    def gone(self) -> None:
        """End the pod at once: the control plane does not have it any more."""
        self._vanished = True
        self._stop(0)

    def changed(self, kind: str, name: str) -> None:
        """Show the new content of a Secret or ConfigMap, and try again what lacked it."""
        if self._setup_timer:
            self._setup_timer.cancel()
            self._prepare()
            return
        for box in self._boxes:
            box.retry()
        if self._ground.shows(kind, name):
            self._refresh()

    # --- what containers ask for (box.Host) ---

    def launch(self, container: Json) -> tuple[Launch, Image, Path]:
        """Return how a container is started, what it really is, and its message file; raises PodTrouble."""
        return self._ground.launch(self._pod, container)

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
        return self._ground.address

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

    def _prepare(self) -> None:
        """Make what the pod stands on; what fails is said in an event and tried again."""
        self._setup_timer = None
        try:
            self._ground.make(self._pod)
        except PodTrouble as trouble:
            self._prepare_later(trouble.reason, trouble.text)
        except (PlaneRefused, PlaneUnreachable) as trouble:
            self._prepare_later("FailedMount", str(trouble))
        else:
            self._renew_tokens()

    def _prepare_later(self, reason: str, text: str) -> None:
        self.note(reason, text, warning=True)
        self._setup_timer = self.later(self._setup_wait, self._prepare)
        self._setup_wait = min(self._setup_wait * 2, SETUP_AGAIN[1])

    def _refresh(self) -> None:
        """Bring volumes of running containers up to date; what cannot be had leaves them as they are."""
        if not self._ground.made or self._ground.removed:
            return
        try:
            self._ground.fill(self._pod)
        except PodTrouble as trouble:
            self.note(trouble.reason, trouble.text, warning=True)
        except (PlaneRefused, PlaneUnreachable) as trouble:
            LOG.info("%s: volumes not refreshed: %s", self.name, trouble)
            self.later(SETUP_AGAIN[0], self._refresh)
            return
        self._renew_tokens()

    def _renew_tokens(self) -> None:
        if self._renewal:
            self._renewal.cancel()
        wait = self._ground.renew_in()
        self._renewal = None if wait is None else self.later(wait, self._refresh)

    # --- end ---

    def _stop(self, grace: float) -> None:
        self._stopping = True
        if self._setup_timer:
            self._setup_timer.cancel()
        self._stop_boxes(grace)

    def _stop_boxes(self, grace: float) -> None:
        for box in self._boxes:
            box.stop(grace, held=box.facts.role is Role.SIDECAR)

    def _too_long(self) -> None:
        if not self._stopping and not self._is_over():
            self._failure = ("DeadlineExceeded", "Pod was active on the node longer than the specified deadline")
            self.note(*self._failure, warning=True)

    def _release_sidecars(self) -> None:
        """Let the last sidecar go, once everything that started after it has ended."""
        last = [box for box in self._boxes if box.alive][-1]
        if last.facts.role is Role.SIDECAR:
            last.release()

    # --- after each message ---

    def settle(self) -> None:
        """Do what the state asks for, then show the state."""
        if self._is_over():
            self._end()
        else:
            self._advance()
        if self._publish() and self._stopping and self._ground.removed:
            self._delete()

    def _is_over(self) -> bool:
        return self._stopping or self._done_before or bool(self._failure[0]) or finished(self._facts(), self._policy())

    def _end(self) -> None:
        if not self._stopping:
            self._stop_boxes(self.grace())
        if any(box.alive for box in self._boxes):
            self._release_sidecars()
        else:
            self._ground.remove()

    def _advance(self) -> None:
        if not self._ground.made and self._setup_timer is None:
            self._prepare()
        if self._ground.made:
            wanted = plan(self._facts(), self._policy()).start
            for box in self._boxes:
                if box.facts.name in wanted:
                    box.start()

    def _facts(self) -> list[ContainerFacts]:
        return [box.facts for box in self._boxes]

    def _policy(self) -> str:
        return str(self._pod["spec"].get("restartPolicy") or "Always")

    def _publish(self) -> bool:
        """Show the status if it differs from what was shown; return whether the control plane has it."""
        if self._vanished or self._done_before:  # a phase that is final stays as it is
            return True
        status = self._status()
        if status == self._shown:
            return True
        change = {"metadata": {"uid": self.uid}, "status": status}
        try:
            self._node.api.patch(f"{self._path}/status", change, within=3)
        except PlaneRefused as refusal:
            LOG.info("%s: status refused: %s", self.name, refusal)
            self._vanished = refusal.status in (404, 409)  # gone, or another pod of that name
            if not self._vanished:
                self.later(PUBLISH_AGAIN, lambda: None)
            return self._vanished
        except PlaneUnreachable:
            self.later(PUBLISH_AGAIN, lambda: None)
            return False
        self._shown = status
        return True

    def _status(self) -> Json:
        """Return the status as it is now; conditions go on from those that were shown, and those of others."""
        known = {one["type"]: one for one in (self._pod.get("status") or {}).get("conditions") or []}
        known |= {one["type"]: one for one in (self._shown or {}).get("conditions", [])}
        facts = PodFacts(
            containers=tuple(self._facts()),
            pod_ip=self._ground.address,
            host_ip=self._node.config.net.bridge_ip,
            started=self._since,
            reason=self._failure[0],
            message=self._failure[1],
            terminal=self._ground.removed,
        )
        return render({**self._pod, "status": {"conditions": list(known.values())}}, facts, timestamp())

    def _delete(self) -> None:
        try:
            if not self._vanished:
                self._node.api.delete(self._path, grace=0, uid=self.uid)
        except (PlaneRefused, PlaneUnreachable):
            self.later(PUBLISH_AGAIN, lambda: None)
            return
        self.finish()
        self._done(self.uid)
