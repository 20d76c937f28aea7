"""The versions that really run: each asked from the process, never taken from the pin."""

import re
from pathlib import Path

from edgegate.clusters.plane import ControlPlane
from edgegate.edge.proxies import Proxies, Proxy
from edgegate.lab import Lab
from edgegate.records import Versions

# The program that a process executes is asked, through /proc, so that a file swapped on disk cannot answer for it.
_ASK = {
    "etcd": "--version",
    "envoy-gateway": "version",
    "coredns": "-version",
    "kube-proxy": "--version",
    "kube-controller-manager-downstream": "--version",
    "powerdns": "--version",
    "pdns-recursor": "--version",
    "external-dns": "--version",
    "pebble": "-version",
    "cert-manager": "-version",
}
# The real operators have no such flag. What each was linked as stands in the first line that it writes.
_LOGGED = {"operator": "network-services-operator", "dns-agent": "dns-operator"}
_STARTING = re.compile(rb'starting [a-z-]+operator.*?"version":\s*"v?([^"]+)",\s*"gitCommit":\s*"([^"]+)"')
_HEAD = 16 * 1024
"""Bytes of a log in which the first line is found, whatever its libraries say before it."""
_BUBBLEWRAP = b"bwrap"
_PATIENCE = 5.0
"""Seconds for a proxy that has its listeners; a running edge has one all the time."""
_VERSION = re.compile(r"\bv?(\d+\.\d+\.\d+)\b")


def versions_in(lab: Lab) -> Versions:
    """Return what runs in a lab that somebody else has started."""
    plane = ControlPlane("downstream", lab.folder / "downstream.kubeconfig")
    return running_versions(lab, plane, Proxies(plane).one(within=_PATIENCE))


def running_versions(lab: Lab, plane: ControlPlane, proxy: Proxy) -> Versions:
    """Return component name to running version; a part that does not run is left out."""
    running = {"kubernetes": plane.version()}
    with proxy.admin() as admin:
        running["envoy"] = admin.version()
    for status in lab.status():
        if status.name in _ASK and status.pid:
            pid = _innermost(lab, status.pid)
            said = lab.run([f"/proc/{pid}/exe", _ASK[status.name]], env=_libraries(lab, pid), check=False)
            found = _VERSION.search(said.stdout + said.stderr)
            running[status.name] = found[1] if found else "unknown"
        elif status.name in _LOGGED and (linked := _logged(lab.log(status.name))):
            running[_LOGGED[status.name]] = linked
    return Versions(dict(sorted(running.items())))


def _logged(log: Path) -> str:
    if not log.is_file():
        return ""
    with log.open("rb") as head:
        return linked(head.read(_HEAD))


def linked(head: bytes) -> str:
    """Return version and commit as a real operator's log begins with, `0.26.1+41b6db2`; empty for ours."""
    said = _STARTING.search(head)
    return f"{said[1].decode()}+{said[2].decode()[:7]}" if said else ""


def _innermost(lab: Lab, pid: int) -> int:
    """Return the process that bubblewrap, where a component has private mounts, has started for it.

    Other parents are not followed: kube-proxy starts an `nft` again and again, which is gone a moment later.
    """
    while lab.get(f"/proc/{pid}/comm").strip() == _BUBBLEWRAP:
        pid = int(lab.get(f"/proc/{pid}/task/{pid}/children").split()[0])
    return pid


def _libraries(lab: Lab, pid: int) -> dict[str, str]:
    """Return where the process found its libraries, which an unpacked package brings along."""
    pairs = (line.partition("=") for line in lab.get(f"/proc/{pid}/environ").decode().split("\0"))
    return {name: value for name, _, value in pairs if name == "LD_LIBRARY_PATH"}


def release(version: str) -> tuple[int, ...]:
    """Return a version such as `1.8.3` as numbers, so that versions can be compared."""
    return tuple(int(part) for part in version.split("."))
