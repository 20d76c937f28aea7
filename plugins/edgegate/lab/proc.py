"""What /proc tells about the processes of the namespace that we are in."""

import os
from dataclasses import dataclass
from pathlib import Path


def runs(pid: int, start: int | None) -> bool:
    """Return whether the process that started at `start` still runs; a zombie does not."""
    return start is not None and started(pid) == start


def started(pid: int) -> int | None:
    """Return when a process started, in clock ticks since boot; None when it has ended."""
    try:
        fields = _stat(pid)
    except OSError:
        return None
    return None if fields[0] in "ZX" else int(fields[19])


def parent(pid: int) -> int:
    """Return the parent of a process. Raises OSError when it has ended."""
    return int(_stat(pid)[1])


def group(pid: int) -> int:
    """Return the process group of a process. Raises OSError when it has ended."""
    return int(_stat(pid)[2])


def command(pid: int) -> str:
    """Return the command line of a process, shortened to 200 characters. Raises OSError when it has ended."""
    return " ".join(Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ").split())[:200]


@dataclass
class GroupUsage:
    """What a process group uses."""

    resident: int = 0
    """Bytes of memory."""
    cpu_seconds: float = 0.0
    """Processor time of those that run, and of their children that have ended."""
    program: str = ""
    """Name of its largest process, as the kernel has it: 15 characters at most."""
    largest: int = 0
    """Resident bytes of that one."""


def usage_by_group() -> dict[int, GroupUsage]:
    """Return what each process group uses."""
    total: dict[int, GroupUsage] = {}
    page, tick = os.sysconf("SC_PAGE_SIZE"), os.sysconf("SC_CLK_TCK")
    for pid in _pids():
        try:
            name, fields = Path(f"/proc/{pid}/comm").read_text().strip(), _stat(pid)
        except OSError:  # it ended while we looked
            continue
        found, resident = total.setdefault(int(fields[2]), GroupUsage()), int(fields[21]) * page
        found.resident += resident
        found.cpu_seconds += sum(map(int, fields[11:15])) / tick
        if resident >= found.largest:
            found.program, found.largest = name, resident
    return total


def listener(port: int) -> int | None:
    """Return the process that listens on a TCP port, on whatever address."""
    inodes = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == _LISTEN and int(words[1].rsplit(":", 1)[1], 16) == port:
                inodes.add(f"socket:[{words[9]}]")
    return next((pid for pid in _pids() if inodes & _descriptors(pid)), None)


_LISTEN = "0A"


def _pids() -> list[int]:
    return sorted(int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal())


def _descriptors(pid: int) -> set[str]:
    try:
        return {str(entry.readlink()) for entry in Path(f"/proc/{pid}/fd").iterdir()}
    except OSError:  # it ended, or one of its descriptors was closed, while we looked
        return set()


def _stat(pid: int) -> list[str]:
    """Return the fields of a process's stat after its name: state, parent, group, session and so on."""
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
