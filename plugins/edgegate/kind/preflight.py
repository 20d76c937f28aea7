"""Whether this machine can run kind clusters: asked in a second, before anything is made."""

import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from edgegate import command
from edgegate.artifacts.store import free_disk_mib
from edgegate.errors import KindNotPossible
from edgegate.kind.engine import Engine, Facts

OLDEST_ENGINE = (20, 10)
"""The first one with private control groups for a container, which kind asks for."""
NEEDS_DISK_MIB, NEEDS_MEMORY_MIB = 6000, 4000
"""Measured: the node image is 0.9 GB on the engine's disk, each running node 1 GB more; two nodes use 1.5 GiB."""
_LABS = "10.88.0.0/16"
"""Where every lab is, see the addresses in docs/architecture.md."""
_LETS_THROUGH = (f"-A DOCKER-USER -s {_LABS} -j ACCEPT", f"-A DOCKER-USER -d {_LABS} -j ACCEPT")
NEEDS_WATCHES, NEEDS_INSTANCES = 65536, 256
"""inotify: a node has some 60 instances; too few show as a kubelet or a kube-proxy that ends at once."""


@dataclass(frozen=True)
class Machine:
    """What is known of the machine."""

    root: bool
    """Whether we are root, which routes to pods and load balancers need."""
    memory_mib: int
    """Memory that is available."""
    disk_mib: int
    """Free disk where the engine keeps images and containers."""
    watches: int
    """fs.inotify.max_user_watches."""
    instances: int
    """fs.inotify.max_user_instances."""
    forwards: bool
    """Whether the machine forwards between its networks."""
    firewall: str = ""
    """Its rules for what it forwards, as `iptables -S` shows them; empty where there is no iptables."""


def look(engine: Facts, *, root: bool) -> Machine:
    """Return what is known of this machine."""
    available = re.search(r"^MemAvailable:\s+(\d+)", Path("/proc/meminfo").read_text(), re.MULTILINE)
    return Machine(
        root=root,
        memory_mib=int(available[1]) // 1024 if available else 0,
        disk_mib=free_disk_mib(engine.root),
        watches=_number("fs/inotify/max_user_watches"),
        instances=_number("fs/inotify/max_user_instances"),
        forwards=_number("net/ipv4/ip_forward") == 1,
        firewall=_firewall(),
    )


def _firewall() -> str:
    iptables = shutil.which("iptables", path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin")
    if iptables is None or os.geteuid() != 0:
        return ""
    chains = ("FORWARD", "DOCKER-USER")
    return "\n".join(command.run([iptables, "-S", chain], check=False).stdout for chain in chains)


def _number(path: str) -> int:
    return int((Path("/proc/sys") / path).read_text())


def reasons(engine: Facts, machine: Machine) -> list[str]:
    """Return every reason why kind clusters cannot run, each a sentence with what to do."""
    found = []
    if _release(engine.version) < OLDEST_ENGINE:
        found.append(
            f"Docker {engine.version} is too old: 20.10 or newer is needed. "
            "Upgrade it, or let edgegate run one of its own: edgegate engine start."
        )
    if not machine.root:
        found.append("the routes to pods and load balancers need root. Run as root, or use the backend 'host'.")
    if machine.memory_mib < NEEDS_MEMORY_MIB:
        found.append(
            f"{machine.memory_mib} MiB of memory are available, {NEEDS_MEMORY_MIB} MiB are needed. End something."
        )
    if machine.disk_mib < NEEDS_DISK_MIB:
        found.append(
            f"{machine.disk_mib} MiB of disk are free at {engine.root}, {NEEDS_DISK_MIB} MiB are needed. "
            "Free some: docker system prune."
        )
    for name, has, needs in (
        ("fs.inotify.max_user_watches", machine.watches, NEEDS_WATCHES),
        ("fs.inotify.max_user_instances", machine.instances, NEEDS_INSTANCES),
    ):
        if has < needs:
            found.append(f"{name} is {has}, nodes need {needs}. Raise it: sysctl -w {name}={needs}")
    return [*found, *_forwarding(machine)]


def _forwarding(machine: Machine) -> list[str]:
    """Return what keeps packets from going between labs, nodes and pods."""
    found = []
    if not machine.forwards:
        found.append("net.ipv4.ip_forward is 0, so pods reach nothing. Switch it on: sysctl -w net.ipv4.ip_forward=1")
    if "-P FORWARD DROP" in machine.firewall and not all(rule in machine.firewall for rule in _LETS_THROUGH):
        rules = "; ".join(f"iptables -I DOCKER-USER {rule.removeprefix('-A DOCKER-USER ')}" for rule in _LETS_THROUGH)
        found.append(
            f"the machine drops what it forwards, as an engine with firewall rules has it, and labs are in {_LABS}. "
            f"Let them through: {rules}"
        )
    return found


def notes(engine: Facts) -> list[str]:
    """Return what a user should know though it stops nothing."""
    if engine.cgroups == 2:
        return []
    return ["control groups are version 1, which the kubelet refuses by default: nodes get failCgroupV1: false."]


def check(engine: Engine, *, root: bool) -> tuple[Facts, list[str]]:
    """Return what the engine is, and notes; asks for everything that has to be true before a cluster is made.

    Raises:
        EngineSilent: the engine does not answer.
        KindNotPossible: something keeps clusters from running; has every reason.
    """
    facts = engine.facts()
    found: Sequence[str] = reasons(facts, look(facts, root=root))
    if found:
        raise KindNotPossible(found)
    return facts, notes(facts)


def _release(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2])
