"""How a container is ended: its hook, its turn, SIGTERM, and SIGKILL when the grace is over."""

from enum import Enum
from threading import Event
from typing import Protocol

from edgegate.lab.node.actions import Outcome, Target, act
from edgegate.lab.node.actor import Actor, Timer
from edgegate.lab.node.kube import Json

MINIMUM = 2.0
"""Seconds between SIGTERM and SIGKILL at least, however long a hook took; a kubelet's number."""


class Killable(Protocol):
    """A process that can be ended."""

    def terminate(self) -> None:
        """Send SIGTERM."""
        ...

    def kill(self) -> None:
        """Send SIGKILL."""
        ...


class Stage(Enum):
    """How far it is."""

    HOOK = 1
    TURN = 2
    TERM = 3
    OVER = 4


class Ending:
    """The end of one run; every method is for the pod's own thread."""

    def __init__(self, actor: Actor, process: Killable, *, held: bool) -> None:
        self._actor, self._process, self._held = actor, process, held
        self._stage = Stage.HOOK
        self._deadline, self._timer = 0.0, Timer(lambda: None)
        self.trouble = ""
        """What went wrong with the hook; for an event."""

    def begin(self, grace: float, hook: Json | None, target: Target, over: Event) -> None:
        """Run the hook, if there is one and time for it, then go on; `held` waits for `release` before SIGTERM."""
        self._set_deadline(grace)
        if hook and grace > 0:
            self._actor.aside(lambda: act(hook, target, grace, over), self._hook_done)
        else:
            self._after_hook()

    def hasten(self, grace: float) -> None:
        """End within that many seconds, if that is sooner than planned."""
        if self._actor.clock.now() + grace < self._deadline:
            self._set_deadline(grace)

    def release(self) -> None:
        """Let a held container go on to SIGTERM."""
        self._held = False
        if self._stage is Stage.TURN:
            self._terminate()

    def finish(self) -> None:
        """The process has ended: there is nothing more to do."""
        self._stage = Stage.OVER
        self._timer.cancel()

    def _hook_done(self, done: Outcome) -> None:
        if self._stage is Stage.HOOK:
            self.trouble = "" if done.ok else done.text
            self._after_hook()

    def _after_hook(self) -> None:
        self._stage = Stage.TURN
        if not self._held:
            self._terminate()

    def _terminate(self) -> None:
        self._stage = Stage.TERM
        self._set_deadline(max(MINIMUM, self._deadline - self._actor.clock.now()))
        self._process.terminate()

    def _set_deadline(self, grace: float) -> None:
        self._deadline = self._actor.clock.now() + grace
        self._timer.cancel()
        self._timer = self._actor.later(grace, self._time_is_up)

    def _time_is_up(self) -> None:
        if self._stage is Stage.TERM:
            self._process.kill()
        elif self._stage is not Stage.OVER:
            self._terminate()
