"""The process table of a lab: what runs in it, by name."""

import os
import re
import threading
from dataclasses import asdict
from pathlib import Path
from typing import Any

from edgegate.errors import LabRequestFailed, UnknownProcess
from edgegate.lab.children import Children
from edgegate.lab.proc import usage_by_group
from edgegate.lab.process import Managed
from edgegate.lab.spec import ProcessSpec, ProcessStatus, Tools
from edgegate.records import Usage

_NAME = re.compile(r"[a-z0-9][a-z0-9.-]*")


class ProcessTable:
    """All processes of a lab; each method may be called from several threads at once."""

    def __init__(self, children: Children, logs: Path, tools: Tools) -> None:
        self._children, self._logs, self._tools = children, logs, tools
        self._lock = threading.Lock()
        self._table: dict[str, Managed] = {}

    def find(self, name: str) -> Managed:
        """Return a process by its name.

        Raises:
            UnknownProcess: there is none of that name.
        """
        found = self._table.get(name)
        if found is None:
            raise UnknownProcess(name, known=sorted(self._table))
        return found

    def start(self, spec: ProcessSpec) -> None:
        """Start a process; one of the same name that does not run any more gives way to it.

        Raises:
            LabRequestFailed: the name cannot be a file name.
            AlreadyRunning, PortTaken, ComponentExited, NeverReady: as `Managed.start` does.
        """
        if not _NAME.fullmatch(spec.name):
            raise LabRequestFailed("start", reason=f"'{spec.name}' is no name; accepted: {_NAME.pattern}")
        with self._lock:
            managed = self._table.get(spec.name)
            if managed is None or managed.pid is None:
                managed = Managed(spec, self._children, self._logs / f"{spec.name}.log", self._tools)
                self._table[spec.name] = managed
        managed.start(self._name_of_group)

    def restart(self, name: str) -> None:
        """Stop a process and start it again; raises what `start` does."""
        managed = self.find(name)
        managed.stop()
        managed.restarts += 1
        managed.start(self._name_of_group)

    def remove(self, name: str) -> None:
        """Stop a process and forget it; its log stays."""
        self.find(name).stop()
        with self._lock:
            self._table.pop(name, None)

    def status(self) -> list[dict[str, Any]]:
        """Return a `ProcessStatus` of each process, in the order of their first start."""
        resident = {group: used.resident for group, used in usage_by_group().items()}
        return [asdict(_line(managed, resident)) for managed in list(self._table.values())]

    def usage(self) -> list[dict[str, Any]]:
        """Return a `Usage` of each process; what runs beside the table, as containers of pods do, by its program."""
        names = {managed.pid: name for name, managed in list(self._table.items())} | {os.getpgrp(): "(supervisor)"}
        return [
            asdict(Usage(names.get(group, f"({used.program})"), used.resident / 2**20, used.cpu_seconds))
            for group, used in usage_by_group().items()
        ]

    def _name_of_group(self, group: int) -> str | None:
        return next((name for name, managed in list(self._table.items()) if managed.pid == group), None)


def _line(managed: Managed, resident: dict[int, int]) -> ProcessStatus:
    pid, state = managed.pid, managed.state
    return ProcessStatus(
        name=managed.spec.name,
        pid=pid,
        state=state,
        uptime=managed.uptime,
        rss_bytes=0 if pid is None else resident.get(pid, 0),
        restarts=managed.restarts,
        status=managed.status,
        tail=managed.tail() if state in ("exited", "restarting") else "",
    )
