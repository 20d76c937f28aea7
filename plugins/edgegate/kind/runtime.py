"""A wrapper around runc for machines whose capability bounding set lacks something.

Docker 20.10 asks for every capability that the kernel knows when a container is privileged, and runc then fails with
"unable to apply caps: operation not permitted". Later ones ask only for what they have (moby #42906). The wrapper
drops from each request what the machine does not have; it gives nothing.
"""

import sys
from pathlib import Path

_NAMES = (
    "CHOWN", "DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID", "SETPCAP",
    "LINUX_IMMUTABLE", "NET_BIND_SERVICE", "NET_BROADCAST", "NET_ADMIN", "NET_RAW", "IPC_LOCK", "IPC_OWNER",
    "SYS_MODULE", "SYS_RAWIO", "SYS_CHROOT", "SYS_PTRACE", "SYS_PACCT", "SYS_ADMIN", "SYS_BOOT", "SYS_NICE",
    "SYS_RESOURCE", "SYS_TIME", "SYS_TTY_CONFIG", "MKNOD", "LEASE", "AUDIT_WRITE", "AUDIT_CONTROL", "SETFCAP",
    "MAC_OVERRIDE", "MAC_ADMIN", "SYSLOG", "WAKE_ALARM", "BLOCK_SUSPEND", "AUDIT_READ", "PERFMON", "BPF",
    "CHECKPOINT_RESTORE",
)  # fmt: skip
"""Capabilities by their number in the kernel."""

_WRAPPER = '''#!{python} -IS
"""Drop from a container's capabilities what this machine does not have, then be runc."""
import json, os, sys

MISSING = {missing!r}
words = sys.argv[1:]


def strip(path, inner):
    with open(path) as file:
        spec = json.load(file)
    holder = spec["process"] if inner else spec
    sets = holder.get("capabilities") or {{}}
    for name, held in sets.items():
        sets[name] = [one for one in held if one not in MISSING]
    with open(path, "w") as file:
        json.dump(spec, file)


if any(word in ("create", "run", "exec") for word in words):
    for option, value in zip(words, words[1:]):
        if option in ("--bundle", "-b") and os.path.exists(value + "/config.json"):
            strip(value + "/config.json", True)
        elif option in ("--process", "-p"):
            strip(value, False)
os.execv({runc!r}, [{runc!r}, *words])
'''


def missing_capabilities(status: str) -> list[str]:
    """Return the capabilities that a bounding set lacks, given the text of /proc/self/status."""
    (line,) = [line for line in status.splitlines() if line.startswith("CapBnd:")]
    held = int(line.split()[1], 16)
    return [f"CAP_{name}" for number, name in enumerate(_NAMES) if not held >> number & 1]


def write_wrapper(place: Path, runc: Path, missing: list[str]) -> Path:
    """Write the wrapper and return its path."""
    place.write_text(_WRAPPER.format(python=sys.executable, missing=missing, runc=str(runc)))
    place.chmod(0o755)
    return place
