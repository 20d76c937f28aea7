"""Looks at one run of a container as its probes say, and tells the container what they found."""

import math
import threading
from collections.abc import Mapping
from typing import Protocol

from edgegate.errors import PodTrouble
from edgegate.lab.node.actions import Outcome, Target, perform
from edgegate.lab.node.actor import Actor
from edgegate.lab.node.probes import Kind, Looks, Probe, counts, first_look, next_look


class Listener(Protocol):
    """Who is told what the probes find."""

    def judged(self, *, started: bool, ready: bool) -> None:
        """Take over what the probes have found."""
        ...

    def unhealthy(self, kind: Kind, text: str) -> None:
        """Record a look that failed."""
        ...

    def condemned(self, probe: Probe) -> None:
        """End the run."""
        ...


class Prober:
    """The probes of one run; every method is for the pod's own thread."""

    def __init__(
        self, actor: Actor, probes: Mapping[Kind, Probe], target: Target, listener: Listener, *, eager: bool
    ) -> None:
        self._actor, self._probes, self._target, self._listener = actor, dict(probes), target, listener
        self._eager = eager
        self._looks = {kind: Looks() for kind in probes}
        self._counted = dict.fromkeys(probes, -math.inf)
        self._began = actor.clock.now()
        self._over = threading.Event()
        self._ending = False

    def begin(self) -> None:
        """Begin to look: with the startup probe, or with the others where there is none."""
        self._tell()
        if Kind.STARTUP in self._probes:
            self._first(Kind.STARTUP)
        else:
            self._begin_others()

    def ending(self) -> None:
        """Let only readiness go on, because the run is being ended: it still decides about traffic."""
        self._ending = True

    def end(self) -> None:
        """Stop looking."""
        self._over.set()

    def _begin_others(self) -> None:
        for kind in (Kind.READINESS, Kind.LIVENESS):
            if kind in self._probes:
                self._first(kind)

    def _first(self, kind: Kind) -> None:
        since = self._actor.clock.now() - self._began
        self._actor.later(first_look(self._probes[kind], since, eager=self._eager), lambda: self._look(kind))

    def _look(self, kind: Kind) -> None:
        if self._over.is_set() or (self._ending and kind is not Kind.READINESS):
            return
        probe, began = self._probes[kind], self._actor.clock.now()

        def work() -> Outcome | PodTrouble:
            try:
                return perform(probe.action, self._target, probe.timeout, self._over)
            except PodTrouble as trouble:
                return trouble

        self._actor.aside(work, lambda outcome: self._looked(kind, began, outcome))

    def _looked(self, kind: Kind, began: float, outcome: Outcome | PodTrouble) -> None:
        if self._over.is_set() or (self._ending and kind is not Kind.READINESS):
            return
        if isinstance(outcome, PodTrouble):  # it will never be able to look; a kubelet throws such results away too
            self._listener.unhealthy(kind, outcome.text)
            return
        self._take(kind, outcome)
        probe, looks = self._probes[kind], self._looks[kind]
        if kind is not Kind.READINESS and looks.verdict is False:
            self._listener.condemned(probe)
        elif kind is Kind.STARTUP and looks.verdict:
            self._begin_others()
        else:
            wait = next_look(probe, looks, began - self._began, eager=self._eager)
            self._actor.later(max(0.0, began + wait - self._actor.clock.now()), lambda: self._look(kind))

    def _take(self, kind: Kind, outcome: Outcome) -> None:
        probe, looks, now = self._probes[kind], self._looks[kind], self._actor.clock.now()
        since = {"since_start": now - self._began, "since_counted": now - self._counted[kind]}
        if not counts(probe, looks, outcome.ok, **since, eager=self._eager):
            return
        self._counted[kind] = now
        self._looks[kind] = looks.after(probe, outcome.ok)
        if not outcome.ok:
            self._listener.unhealthy(kind, outcome.text)
        self._tell()

    def _tell(self) -> None:
        started = Kind.STARTUP not in self._looks or self._looks[Kind.STARTUP].verdict is True
        ready = Kind.READINESS not in self._looks or self._looks[Kind.READINESS].verdict is True
        self._listener.judged(started=started, ready=started and ready)
