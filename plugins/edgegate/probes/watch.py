"""Look at several targets all the time, and tell afterwards what went wrong, when, and how closely it was looked.

The watcher has a process of its own, because whoever computes keeps Python's lock. Measured on two saturated
processors with a test process that parses JSON all the time, 12 targets: as a thread of that process the gaps between
looks were 80 ms at the 95th percentile and 309 ms at the worst, as a real-time thread of its own process 19 and 28 ms.
It takes 11 % of one processor then (`python -m edgegate.probes.measure`).
"""

import pickle
import subprocess
import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Self

from edgegate.errors import WatchBroken
from edgegate.probes.target import Target
from edgegate.probes.watcher import TIMEOUT, Watcher
from edgegate.traffic import WatchReport

ENDS_WITHIN = 5.0
"""Seconds that the watcher's process may take to end after its last report; it takes some milliseconds."""


class Watch:
    """Looks from `start` to `stop`; as a context manager from its beginning to its end.

    `report` may be asked at any time while it looks, and afterwards for the whole.
    """

    def __init__(self, targets: Iterable[Target], *, timeout: float = TIMEOUT) -> None:
        """Prepare; nothing is started yet. `timeout` is the seconds after which a look has found `timeout`.

        Raises:
            ValueError: there is no target, two have the same name, or a host or path is not ASCII.
        """
        self._targets, self._timeout = tuple(targets), timeout
        Watcher(self._targets)  # says here and not over there what is wrong with them
        self._process: subprocess.Popen[bytes] | None = None
        self._result: WatchReport | WatchBroken = WatchBroken("it was not started")

    @property
    def pid(self) -> int | None:
        """The process that looks; None before the start and after the end."""
        return None if self._process is None else self._process.pid

    def __enter__(self) -> Self:
        """Start looking."""
        return self.start()

    def __exit__(self, *_: object) -> None:
        """Stop looking. That it broke is told by `report`, so that it hides no other error."""
        with suppress(WatchBroken):
            self.stop()

    def start(self) -> Self:
        """Start looking, and return the watch itself as soon as it looks; that takes about 0.2 s.

        Raises:
            WatchBroken: the watcher's process did not start.
        """
        # In a session of its own, so that Ctrl-C does not end it before the test that is interrupted asks for its
        # report. It ends when its standard input does, and the kernel sees to that when we are killed.
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "edgegate.probes.watch_process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self._ask((self._targets, self._timeout))
        return self

    def stop(self) -> WatchReport:
        """Begin no more looks, wait for those that are open (one time limit at most), and return the report.

        Raises:
            WatchBroken: as `report`.
        """
        if self._process is not None:
            self._result = self._ask("stop")
            self._end()
        return self.report()

    def report(self) -> WatchReport:
        """Return what has been seen so far, or in all once it has stopped.

        Raises:
            WatchBroken: the watcher could not go on, or was never started; what it saw proves nothing.
        """
        result: WatchReport | WatchBroken = self._result if self._process is None else self._ask("report")
        if isinstance(result, WatchBroken):
            raise result
        return result

    def _ask(self, what: object) -> Any:
        """Send a word to the watcher's process and return its answer."""
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(pickle.dumps(what))
            process.stdin.flush()
            answer = pickle.load(process.stdout)  # noqa: S301 - what our own process writes
        except (OSError, EOFError, pickle.UnpicklingError) as gone:
            answer = f"its process ended ({self._end()})"
            self._result = WatchBroken(answer)
            raise self._result from gone
        if isinstance(answer, str):
            self._end()
            self._result = WatchBroken(answer)
            raise self._result
        return answer

    def _end(self) -> str:
        """End the process, and return the last line that it wrote to standard error."""
        process, self._process = self._process, None
        assert process is not None
        try:
            _, said = process.communicate(timeout=ENDS_WITHIN)
        except subprocess.TimeoutExpired:
            process.kill()
            _, said = process.communicate()
        lines = said.decode("utf-8", errors="replace").strip().splitlines()
        return lines[-1] if lines else f"status {process.returncode}"
