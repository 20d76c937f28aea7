"""One container of a pod over all its runs: start, hooks, probes, stop, and the facts that status is made of."""

import uuid
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Protocol

from edgegate.errors import PodTrouble
from edgegate.lab.node.actions import Outcome, Target, act
from edgegate.lab.node.actor import Actor, Timer
from edgegate.lab.node.backoff import Backoff
from edgegate.lab.node.config import Image
from edgegate.lab.node.container import Launch, Process, tail
from edgegate.lab.node.ending import Ending
from edgegate.lab.node.kube import Json
from edgegate.lab.node.lifecycle import ContainerFacts, Ended, Role, Running, Waiting
from edgegate.lab.node.prober import Prober
from edgegate.lab.node.probes import Kind, Probe
from edgegate.lab.node.status import timestamp

RETRY = 10.0
"""Seconds until a container that could not be made is tried again; a change of what it lacked comes first."""
MESSAGE = 4096
"""Bytes of a termination message."""


class Host(Protocol):
    """What a container needs of its pod."""

    actor: Actor
    """The thread that owns it."""
    eager: bool
    """Whether probes hurry until they pass."""

    def launch(self, container: Json) -> tuple[Launch, Image, Path]:
        """Return how it is started, what it really is, and its termination message file; raises PodTrouble."""
        ...

    def execute(self, launch: Launch) -> Process:
        """Start it; raises PodTrouble."""
        ...

    def ended(self, process: Process) -> None:
        """Note that a process is gone."""
        ...

    def address(self) -> str:
        """Return the pod's address."""
        ...

    def title(self) -> str:
        """Return the pod's name as messages have it."""
        ...

    def grace(self) -> float:
        """Return the pod's own termination grace, in seconds."""
        ...

    def note(self, reason: str, message: str, *, warning: bool = False, container: str = "") -> None:
        """Record an event."""
        ...


class Box:
    """One container; every method is for the pod's own thread."""

    def __init__(self, host: Host, spec: Json, facts: ContainerFacts) -> None:
        self._host, self.spec, self.facts = host, spec, facts
        self._process: Process | None = None
        self._launch: Launch | None = None
        self._message_file: Path | None = None
        self._backoff = Backoff()
        self._ended_at = 0.0
        self._pending: Timer | None = None
        self._prober: Prober | None = None
        self._ending: Ending | None = None
        self._over = Event()

    @property
    def alive(self) -> bool:
        """Tell whether it has a process."""
        return self._process is not None

    # --- start ---

    def start(self) -> None:
        """Start it, now or when its back-off allows; does nothing while it runs or is about to."""
        if self.alive or self._pending:
            return
        ended, now = self.facts.ended, self._host.actor.clock.now()
        if ended and (left := self._backoff.left(self._ended_at, now)) > 0:
            self._back_off(ended, left)
            return
        try:
            self._launch, image, self._message_file = self._host.launch(self.spec)
        except PodTrouble as trouble:
            self._blocked(trouble, ended)
            return
        if ended:
            self._backoff = self._backoff.after(self._ended_at, now)
        self._run(self._launch, image, ended)

    def retry(self) -> None:
        """Try again at once what was put off for want of something that may be there now."""
        if isinstance(self.facts.state, Waiting) and self.facts.state.reason != "CrashLoopBackOff":
            self._put_off(None)

    def _back_off(self, ended: Ended, left: float) -> None:
        delay, name = f"{self._backoff.delay:.0f}s", self.facts.name
        message = f"back-off {delay} restarting failed container={name} pod={self._host.title()}"
        self.facts = replace(self.facts, state=Waiting("CrashLoopBackOff", message), last=ended)
        text = f"Back-off restarting failed container {name} in pod {self._host.title()}"
        self._host.note("BackOff", text, warning=True, container=name)
        self._put_off(left)

    def _blocked(self, trouble: PodTrouble, ended: Ended | None) -> None:
        first = self.facts.state != Waiting(trouble.reason, trouble.text)
        reason = trouble.reason
        if reason == "ErrImagePull" and isinstance(self.facts.state, Waiting):
            again = self.facts.state.reason in ("ErrImagePull", "ImagePullBackOff")
            reason = "ImagePullBackOff" if again else reason
        self.facts = replace(self.facts, state=Waiting(reason, trouble.text), last=ended or self.facts.last)
        if first:
            self._host.note("Failed", f"Error: {reason}: {trouble.text}", warning=True, container=self.facts.name)
        self._put_off(RETRY)

    def _put_off(self, seconds: float | None) -> None:
        if self._pending:
            self._pending.cancel()
            self._pending = None
        if seconds is not None:
            self._pending = self._host.actor.later(seconds, self._come_back)

    def _come_back(self) -> None:
        self._pending = None
        self.start()

    def _run(self, launch: Launch, image: Image, ended: Ended | None) -> None:
        restarts = self.facts.restarts + (1 if ended else 0)
        self.facts = replace(
            self.facts,
            image_id=image.id or image.binary,
            container_id=f"edgegate://{uuid.uuid4().hex}",
            restarts=restarts,
            last=ended or self.facts.last,
        )
        self._over = Event()
        began = timestamp()
        try:
            process = self._host.execute(launch)
        except PodTrouble as trouble:
            self._host.note("Failed", f"Error: {trouble.text}", warning=True, container=self.facts.name)
            self._finished(Ended(128, "StartError", trouble.text, began, timestamp(), self.facts.container_id))
            return
        self._process = process
        self._host.note("Started", f"Container started: {self.facts.name}", container=self.facts.name)
        self._host.actor.aside(process.wait, lambda code: self._exited(process, code, began))
        hook = (self.spec.get("lifecycle") or {}).get("postStart")
        if hook:
            target, over = self._target(process), self._over
            self._host.actor.aside(
                lambda: act(hook, target, None, over), lambda done: self._post_started(process, done, began)
            )
        else:
            self._is_running(process, began)

    def _post_started(self, process: Process, done: Outcome, began: str) -> None:
        if process is not self._process:
            return
        if done.ok:
            self._is_running(process, began)
            return
        self._host.note("FailedPostStartHook", done.text, warning=True, container=self.facts.name)
        self.facts = replace(self.facts, state=Running(began))
        self.stop(self._host.grace(), "FailedPostStartHook")

    def _is_running(self, process: Process, began: str) -> None:
        self.facts = replace(self.facts, state=Running(began))
        probes = {kind: probe for kind in Kind if (probe := Probe.of(self.spec, kind))}
        self._prober = Prober(self._host.actor, probes, self._target(process), self, eager=self._host.eager)
        self._prober.begin()

    def _target(self, process: Process) -> Target:
        return Target(self._host.address(), self.spec, process.execute)

    # --- what probes say ---

    def judged(self, *, started: bool, ready: bool) -> None:
        """Take over what the probes have found."""
        self.facts = replace(self.facts, started=started, ready=ready)

    def unhealthy(self, kind: Kind, text: str) -> None:
        """Record a look that failed."""
        message = f"{kind.capitalize()} probe failed: {text}"
        self._host.note("Unhealthy", message, warning=True, container=self.facts.name)

    def condemned(self, probe: Probe) -> None:
        """End the run, because its startup or liveness probe has failed."""
        name = self.facts.name
        grace = self._host.grace() if probe.grace is None else float(probe.grace)
        self.stop(grace, f"Container {name} failed {probe.kind} probe, will be restarted")

    # --- stop ---

    def stop(self, grace: float, message: str = "", *, held: bool = False) -> None:
        """Begin the end of the run; asked again, it can only become quicker. `held` waits for `release`."""
        self._put_off(None)
        if self._process is None:
            return
        if self._ending:
            self._ending.hasten(grace)
            return
        self._host.note("Killing", message or f"Stopping container {self.facts.name}", container=self.facts.name)
        if self._prober:
            self._prober.ending()
        self._ending = Ending(self._host.actor, self._process, held=held)
        hook = (self.spec.get("lifecycle") or {}).get("preStop")
        self._ending.begin(grace, hook, self._target(self._process), self._over)

    def release(self) -> None:
        """Let a held container go on to SIGTERM."""
        if self._ending:
            self._ending.release()

    def _exited(self, process: Process, code: int, began: str) -> None:
        self._host.ended(process)
        if process is not self._process:
            return
        self._process = None
        message = self._left_message(code)
        reason = "Completed" if code == 0 else "Error"
        self._finished(Ended(code, reason, message, began, timestamp(), self.facts.container_id))

    def _finished(self, ended: Ended) -> None:
        self._over.set()
        if self._ending:
            self._ending.finish()
            if self._ending.trouble:
                self._host.note("FailedPreStopHook", self._ending.trouble, warning=True, container=self.facts.name)
        if self._prober:
            self._prober.end()
        self._ending = self._prober = None
        self._ended_at = self._host.actor.clock.now()
        ready = self.facts.role is Role.INIT and ended.code == 0
        self.facts = replace(self.facts, state=ended, started=False, ready=ready)

    def _left_message(self, code: int) -> str:
        said = tail(self._message_file, MESSAGE) if self._message_file else ""
        if not said and code and self.spec.get("terminationMessagePolicy") == "FallbackToLogsOnError" and self._launch:
            return "\n".join(tail(self._launch.log, 2048).splitlines()[-80:])
        return said
