"""One process of a lab through its life: started, ready, paused, stopped, or ended by itself."""

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

from edgegate.clock import wait_until
from edgegate.errors import AlreadyRunning, ComponentExited, NeverReady, PortTaken
from edgegate.lab.binds import wrapped
from edgegate.lab.children import Child, Children
from edgegate.lab.looks import Look, holder
from edgegate.lab.spec import ProcessSpec, Tools

TAIL_LINES = 20
_TAIL_BYTES = 8192
_GONE_WITHIN = 5.0
"""Seconds for the kernel to end a killed group; more means that it hangs in the kernel."""
_BACKOFF_FIRST, _BACKOFF_MOST = 0.1, 5.0


class Managed:
    """A process under its name.

    The lock guards the fields only. It is never held during a wait: the reaper takes it too, and waits would not end.
    """

    def __init__(self, spec: ProcessSpec, children: Children, log: Path, tools: Tools) -> None:
        self.spec = spec
        """What it runs."""
        self.state = "stopped"
        """One of the states of `ProcessStatus`, or `stopping`."""
        self.restarts = 0
        """How often it was started again."""
        self.status: int | None = None
        """Exit status of the last process that ended."""
        self._children, self._log, self._tools = children, log, tools
        self._lock = threading.Lock()
        self._child: Child | None = None
        self._since = 0.0
        self._offset = 0
        self._failures = 0

    @property
    def pid(self) -> int | None:
        """The id of the process and of its group; None when nothing runs."""
        child = self._child
        return None if child is None else child.pid

    @property
    def uptime(self) -> float:
        """Seconds since the start; 0 when nothing runs."""
        return 0.0 if self._child is None else time.monotonic() - self._since

    def tail(self) -> str:
        """Return the last log lines of the last start."""
        try:
            with self._log.open("rb") as log:
                end = log.seek(0, os.SEEK_END)
                log.seek(max(self._offset, end - _TAIL_BYTES))
                text = log.read().decode(errors="replace")
        except FileNotFoundError:
            return ""
        return "\n".join(text.splitlines()[-TAIL_LINES:])

    def start(self, name_of_group: Callable[[int], str | None]) -> None:
        """Start it and return when it is ready; a start that fails leaves nothing running.

        Raises:
            AlreadyRunning: it runs.
            PortTaken: somebody else listens at its address.
            ComponentExited: it ended first.
            NeverReady: its limit passed.
        """
        ready = self.spec.ready
        if self._child is None and ready is not None and ready.kind != "none":
            other = holder(ready, name_of_group)
            if other is not None:
                raise PortTaken(self.spec.name, address=ready.address, holder=other)
        self._await_ready(self._spawn())

    def stop(self, grace: float | None = None) -> None:
        """End it and wait until its whole group is gone; nothing happens when it does not run."""
        with self._lock:
            child = self._child
            self.state = "stopped" if child is None else "stopping"
        if child is None:
            return
        self._end(child, self.spec.stop_grace if grace is None else grace)
        with self._lock:
            self._child, self.state = None, "stopped"

    def kill(self) -> None:
        """Kill its group as a crash would; its restart policy applies."""
        child = self._child
        if child is not None:
            child.signal_group(signal.SIGKILL)
            self._await_gone(child)

    def pause(self) -> None:
        """Freeze its group."""
        self._freeze(signal.SIGSTOP, "paused")

    def look(self) -> str:
        """Look once whether it is ready, as at its start; return what is wrong, nothing when it is."""
        ready = self.spec.ready
        if ready is None or ready.kind == "none":
            return ""
        look = Look(ready)
        try:
            return "" if look() else look.last
        finally:
            look.close()

    def resume(self) -> None:
        """Let its group go on."""
        self._freeze(signal.SIGCONT, "running")

    def _freeze(self, number: int, state: str) -> None:
        with self._lock:
            if self._child is not None:
                self._child.signal_group(number)
                self.state = state

    def _spawn(self) -> Child:
        spec = self.spec
        argv, env = wrapped(spec, self._tools) if spec.binds else (spec.argv, spec.env)
        with self._lock, self._log.open("ab") as log:
            if self._child is not None:
                raise AlreadyRunning(spec.name, pid=self._child.pid)
            self._offset = log.tell()
            try:
                child = self._children.spawn(argv, env=env, stdout=log.fileno(), on_end=self._ended)
            except OSError as refused:
                raise ComponentExited(spec.name, status=127, log=self._log, tail=str(refused)) from refused
            self._child, self._since, self.state = child, time.monotonic(), "starting"
        return child

    def _await_ready(self, child: Child) -> None:
        ready = self.spec.ready
        if ready is not None and ready.kind != "none":
            look = Look(ready)
            try:
                wait_until(
                    f"{self.spec.name} ready",
                    look,
                    deadline=ready.limit,
                    failed=lambda: self._exited(child),
                    last=lambda: f"{look.last}. The end of its log ({self._log}):\n{self.tail()}",
                )
            except NeverReady:
                self.stop(grace=0)
                raise
            finally:
                look.close()
        with self._lock:
            if self.state == "starting":
                self.state, self._failures = "running", 0

    def _exited(self, child: Child) -> ComponentExited | None:
        if not child.ended.is_set():
            return None
        return ComponentExited(self.spec.name, status=child.status, log=self._log, tail=self.tail())

    def _end(self, child: Child, grace: float) -> None:
        if grace > 0:
            child.signal_group(signal.SIGTERM)
            child.signal_group(signal.SIGCONT)  # a frozen process gets SIGTERM when it goes on
            try:
                self._await_gone(child, grace)
            except NeverReady:
                pass
            else:
                return
        child.signal_group(signal.SIGKILL)
        self._await_gone(child)

    def _await_gone(self, child: Child, limit: float = _GONE_WITHIN) -> None:
        wait_until(f"{self.spec.name} gone", lambda: not child.signal_group(0), deadline=limit, every=0.005)

    def _ended(self, child: Child) -> None:
        """Take note that the leader of the group has ended; runs in the thread that reaps."""
        with self._lock:
            self.status = child.status
            if self.state == "stopping" or child is not self._child:
                return
            was, self.state, self._child = self.state, "exited", None
            # Whoever is left of its group holds its ports. The id cannot have been given to others this soon.
            child.signal_group(signal.SIGKILL)
            if self.spec.restart == "always" and was != "starting":
                self.state = "restarting"
                self._again_later()

    def _again_later(self) -> None:
        pause = min(_BACKOFF_MOST, _BACKOFF_FIRST * 2**self._failures)
        self._failures += 1
        timer = threading.Timer(pause, self._again)
        timer.daemon = True
        timer.start()

    def _again(self) -> None:
        if self.state != "restarting":
            return
        self.restarts += 1
        try:
            self._spawn()
        except ComponentExited:
            self._again_later()
            return
        with self._lock:
            self.state = "running" if self.state == "starting" else self.state
