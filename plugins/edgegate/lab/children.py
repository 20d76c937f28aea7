"""Children of process 1: started, and reaped without taking anybody's exit status away."""

import os
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence


class Child:
    """A process that we started, which leads a process group of its own."""

    def __init__(self, popen: "subprocess.Popen[bytes]", on_end: Callable[["Child"], None] | None) -> None:
        self._popen = popen
        self._on_end = on_end
        self.pid = popen.pid
        """Process id, and the id of its group."""
        self.ended = threading.Event()
        """Set once the process has been reaped."""
        self.status: int | None = None
        """Exit status, negative when a signal ended it; None while it runs."""

    def signal_group(self, number: int) -> bool:
        """Send a signal to the whole group; return whether anybody was left to get it."""
        try:
            os.killpg(self.pid, number)
        except ProcessLookupError:
            return False
        return True

    def finish(self, wait_status: int) -> None:
        """Take note of how it ended."""
        self.status = os.waitstatus_to_exitcode(wait_status)
        self._popen.returncode = self.status  # so that subprocess never waits for it itself
        self.ended.set()
        if self._on_end is not None:
            self._on_end(self)


class Children:
    """All children of this process; the only place that waits for any.

    As process 1 we also inherit every orphan of the lab. Reaping with `waitpid(-1)` would take the exit status of our
    own children from those who want it, so everything goes through one table.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._table: dict[int, Child] = {}

    def spawn(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        stdout: int,
        stderr: int = subprocess.STDOUT,
        on_end: Callable[[Child], None] | None = None,
    ) -> Child:
        """Start a process in a session of its own; `on_end` is called by the thread that reaps.

        Raises:
            OSError: it cannot be executed.
        """
        with self._lock:  # reaping waits until the child is in the table
            popen = subprocess.Popen(
                list(argv),
                env=dict(env),
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
            )
            child = self._table[popen.pid] = Child(popen, on_end)
        return child

    def reap(self) -> None:
        """Reap every process that has ended, ours and orphans, without waiting for one."""
        while True:
            try:
                # Look only: a child that is just being started must not be reaped before it is in the table.
                found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                return
            if found is None:
                return
            with self._lock:
                child = self._table.pop(found.si_pid, None)
                try:
                    _, wait_status = os.waitpid(found.si_pid, 0)
                except ChildProcessError:  # a program that could not be executed: subprocess has waited for it
                    continue
            if child is not None:
                child.finish(wait_status)
