"""How much memory a lab could have: of the machine, and of the control group that we are in."""

from pathlib import Path

from edgegate.errors import NotEnoughMemory

NEEDS_MIB = 3072
"""MiB that an entire edge takes when it idles."""


def require(needs_mib: int) -> None:
    """Return if that much is available.

    Raises:
        NotEnoughMemory: less is available.
    """
    has_mib = available_mib()
    if has_mib < needs_mib:
        raise NotEnoughMemory(needs_mib=needs_mib, has_mib=has_mib)


def available_mib(root: Path = Path("/")) -> int:
    """Return the MiB that can be had without swapping, and without exceeding a control group's limit."""
    left = [_machine(root)]
    for line in (root / "proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            left += _groups(root / "sys/fs/cgroup", path, "memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
            left += _groups(root / "sys/fs/cgroup/memory", path, *names)
    return max(0, min(left)) >> 20


def _machine(root: Path) -> int:
    lines = (root / "proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:"))


def _groups(top: Path, path: str, limit: str, usage: str, cache: str) -> list[int]:
    """Return what is left in our control group and in each one around it that has a limit."""
    own = top / path.strip("/")
    left = []
    for group in (own, *own.parents):
        if group.is_relative_to(top) and (group / limit).exists() and (group / limit).read_text().strip() != "max":
            used = int((group / usage).read_text()) - _reclaimable(group, cache)
            left.append(int((group / limit).read_text()) - used)
    return left


def _reclaimable(group: Path, name: str) -> int:
    """Return the bytes of files that the kernel would drop first; they count as used otherwise."""
    lines = (line.split() for line in (group / "memory.stat").read_text().splitlines())
    return next((int(words[1]) for words in lines if words[0] == name), 0)
