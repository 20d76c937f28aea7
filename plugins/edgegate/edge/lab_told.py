"""What a lab tells when a test fails: its processes, and the end of every log."""

from collections import deque
from collections.abc import Callable
from pathlib import Path

from edgegate.lab import Lab

LOG_LINES = 400
"""Last lines of each log, of components and of pods, that a bundle has; the whole log is in the lab's folder."""


def processes(lab: Lab) -> str:
    """Return one line a process."""
    return "".join(
        f"{one.name:<28} {one.state:<9} pid {one.pid or '-':<7} up {one.uptime:8.1f} s  {one.rss_bytes >> 20:5} MiB"
        f"  restarts {one.restarts}  status {one.status}\n"
        for one in lab.status()
    )


def logs(lab: Lab) -> str:
    """Return the end of what each process wrote."""
    return "".join(_end_of(one.name, lab.log(one.name)) for one in lab.status())


def pod_logs(folder: Path) -> str:
    """Return the end of what each container of a pod wrote, pods that are gone included: Envoy tells there.

    Requests are told apart from the rest, because four hundred of them are two seconds of a watch.
    """
    return "".join(
        _end_of(f"{log.parent.name}/{log.stem}", log, lambda line: not line.startswith("{"))
        + _end_of(f"{log.parent.name}/{log.stem}, requests", log, lambda line: line.startswith("{"))
        for log in sorted(folder.glob("*/*.log"))
    )


def _end_of(name: str, log: Path, wanted: Callable[[str], bool] = bool) -> str:
    """Return the last lines of a log that are wanted, under a heading; empty when there are none."""
    if not log.exists():
        return ""
    with log.open(errors="replace") as lines:
        last = deque(filter(wanted, lines), LOG_LINES)
    return f"===== {name} ({log})\n{''.join(last)}\n" if last else ""
