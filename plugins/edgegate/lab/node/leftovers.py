"""The table of containers that run, so that a restarted agent never runs beside what an earlier one left.

Containers die with the agent (`--die-with-parent`), but the kernel does that in its own time. A second Envoy that
starts a moment before the first one is gone would fight over its addresses.
"""

import contextlib
import os
import signal
from pathlib import Path

from edgegate.clock import wait_until


class Table:
    """One file a process in a folder that lives as long as the lab; its text is when the process started."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def add(self, pid: int) -> None:
        """Note a process; one that has ended already is not noted."""
        if since := started(pid):
            (self._folder / str(pid)).write_text(since)

    def drop(self, pid: int) -> None:
        """Forget a process."""
        (self._folder / str(pid)).unlink(missing_ok=True)

    def clear(self, within: float = 5.0) -> list[int]:
        """Kill every noted process that still runs, wait until it is gone, and return their pids.

        Raises:
            NeverReady: one is still there after that many seconds.
        """
        found = {int(path.name): path.read_text() for path in self._folder.iterdir()}
        alive = [pid for pid, since in found.items() if started(pid) == since]
        for pid in alive:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        wait_until(
            "containers of an earlier node agent end",
            lambda: not any(started(pid) == found[pid] for pid in alive),
            deadline=within,
            last=lambda: [pid for pid in alive if started(pid) == found[pid]],
        )
        for pid in found:
            self.drop(pid)
        return alive


def started(pid: int) -> str:
    """Return when a process started, in the kernel's ticks; empty when there is none, or only its remains."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return ""
    return "" if fields[0] == "Z" else fields[19]
