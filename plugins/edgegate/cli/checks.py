"""What `edgegate doctor` checks, and what to do about each finding."""

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass

from edgegate.artifacts.toolchain import OLDEST, as_numbers
from edgegate.cli.machine import Machine
from edgegate.lab.memory import NEEDS_MIB, available_mib
from edgegate.lab.privileges import refused
from edgegate.pins import DebRecipe, GoRecipe, PypiRecipe

COMFORTABLE_MIB = 4096
"""An edge takes 2.2 to 3 GiB, measured; what tests it wants some too."""
FIRST_BUILD_MIB = 15 * 1024
"""Sources, compiled packages and artifacts of everything that an edge is made of."""
RUN_MIB = 1024
"""Logs and reports of runs, once everything is built."""


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at."""

    what: str
    """What was looked at."""
    ok: bool
    """It is as it should be."""
    seen: str
    """What is there."""
    fix: str = ""
    """What to do, where it is not as it should be."""
    stops: bool = True
    """A run cannot succeed as long as it is not as it should be."""


def architecture(machine: Machine) -> Finding:
    """The digests in pins.toml are those of one kind of machine."""
    ok = machine.architecture == "x86_64"
    return Finding("architecture", ok, machine.architecture, "All pins are for linux/amd64; use an x86_64 machine.")


def namespaces(machine: Machine) -> Finding:
    """A lab is a set of namespaces, which root may make, and others where the kernel allows user namespaces."""
    who = "as root" if machine.is_root else "as an ordinary user, in a user namespace"
    if machine.which("unshare") is None:
        return Finding("namespaces", False, "there is no unshare to try it with", _package("util-linux"))
    tried = machine.sandboxed("true")
    if tried.status == 0:
        return Finding("namespaces", True, f"pid, net and mount can be made {who}")
    reason = refused(tried.stderr or "unshare failed", root=machine.root)
    return Finding("namespaces", False, reason.reason, reason.fix)


def links(machine: Machine) -> list[Finding]:
    """Pods have veth pairs on a bridge."""
    found = []
    for kind in ("veth", "bridge"):
        tried = machine.sandboxed("ip", "link", "add", "name", "edgegate0", "type", kind)
        seen = "can be made" if tried.status == 0 else _last(tried.stderr)
        fix = f"Load the kernel module: `modprobe {kind}` as root, on the host where this is a container."
        found.append(Finding(f"kernel: {kind}", tried.status == 0, seen, fix))
    return found


def nf_tables(machine: Machine) -> Finding:
    """kube-proxy translates service addresses with nftables."""
    what, fix = "kernel: nf_tables", "Load the kernel module: `modprobe nf_tables` as root."
    nft = str(machine.nft) if machine.nft else machine.which("nft")
    if nft is not None:
        setting = [f"{key}={value}" for key, value in machine.nft_env.items()] if machine.nft else []
        tried = machine.sandboxed("env", *setting, nft, "add", "table", "ip", "edgegate")
        seen = "a table can be made" if tried.status == 0 else _last(tried.stderr)
        return Finding(what, tried.status == 0, seen, fix)
    release = machine.read("proc/sys/kernel/osrelease").strip()
    folder = f"lib/modules/{release}"
    known = "".join(
        machine.read(file) for file in ("proc/modules", f"{folder}/modules.builtin", f"{folder}/modules.dep")
    )
    if re.search(r"\bnf_tables\b", known):
        return Finding(what, True, f"kernel {release} has the module")
    fix = "Run `edgegate build nftables`, then `edgegate doctor` again: it tries it with the pinned nft."
    return Finding(what, False, "cannot be told without nft", fix, stops=False)


def tmpfs(machine: Machine) -> Finding:
    """What must go with a lab is on a tmpfs."""
    ok = "\ttmpfs\n" in machine.read("proc/filesystems")
    fix = "Use a kernel with CONFIG_TMPFS."
    return Finding("kernel: tmpfs", ok, "in /proc/filesystems" if ok else "not in /proc/filesystems", fix)


def memory(machine: Machine) -> Finding:
    """An edge needs memory, measured as `edgegate up` does: of the machine, and within our control group."""
    fix = f"End what uses it, or give the machine more; an edge needs {NEEDS_MIB} MiB, tests with it {COMFORTABLE_MIB}."
    try:
        free = available_mib(machine.root)
    except (OSError, StopIteration):
        return Finding("memory", False, "cannot be told", fix, stops=False)
    return Finding("memory", free >= COMFORTABLE_MIB, f"{free} MiB available", fix, stops=free < NEEDS_MIB)


def disk(machine: Machine) -> Finding:
    """A first build takes much disk, later ones little."""
    needs = FIRST_BUILD_MIB if machine.missing else RUN_MIB
    has = machine.free_mib(machine.cache)
    why = f"to build {', '.join(pin.name for pin in machine.missing)}" if machine.missing else "for logs and reports"
    fix = f"{needs} MiB are needed {why}. Free some, or set EDGEGATE_CACHE to a folder on a larger disk."
    return Finding("disk", has >= needs, f"{has} MiB free at {machine.cache}", fix)


def go(machine: Machine) -> Finding:
    """Go modules are compiled by the go on PATH, else by the pinned one."""
    version = machine.go()
    if version is not None and as_numbers(version) >= as_numbers(OLDEST):
        return Finding("tool: go", True, f"{version} on PATH; the pin 'go' is used where a module asks for a newer one")
    seen = f"{version} on PATH is too old" if version else "not on PATH"
    return Finding("tool: go", True, f"{seen}; the pin 'go' is used")


def tools(machine: Machine) -> list[Finding]:
    """Programs that the lab calls, and those that fetch what is still missing."""
    wanted = [("ip", "iproute2", True), *((name, "util-linux", True) for name in ("unshare", "setsid", "nsenter"))]
    fetches = any(isinstance(pin.recipe, DebRecipe) for pin in machine.missing)
    wanted += [("apt-get", "apt", fetches), ("dpkg", "dpkg", fetches)]
    return [_tool(machine, *one) for one in wanted]


def pip(machine: Machine) -> Finding:
    """Wheels are fetched by the pip of the Python that runs edgegate."""
    needed = any(isinstance(pin.recipe, PypiRecipe | GoRecipe) for pin in machine.missing)
    tried = machine.attempt([sys.executable, "-m", "pip", "--version"])
    fix = "Run edgegate from a virtual environment made by `python3 -m venv`, or install python3-pip."
    seen = " ".join(tried.stdout.split()[:2]) if tried.status == 0 else _last(tried.stderr)
    return Finding("tool: pip", tried.status == 0, seen, fix, stops=needed)


CHECKS: tuple[Callable[[Machine], Finding | list[Finding]], ...] = (
    architecture,
    namespaces,
    links,
    nf_tables,
    tmpfs,
    memory,
    disk,
    go,
    pip,
    tools,
)


def examine(machine: Machine) -> list[Finding]:
    """Return every finding, in the order in which they matter."""
    findings: list[Finding] = []
    for check in CHECKS:
        found = check(machine)
        findings += found if isinstance(found, list) else [found]
    return findings


def _tool(machine: Machine, program: str, package: str, stops: bool) -> Finding:
    path = machine.which(program)
    return Finding(f"tool: {program}", path is not None, path or "not found", _package(package), stops=stops)


def _package(name: str) -> str:
    return f"Install the package {name}: `apt-get install {name}` as root on Debian."


def _last(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines else "failed without a word"
