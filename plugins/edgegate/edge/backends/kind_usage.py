"""What the containers of a cluster use, and whether one was killed because it wanted more than it may have."""

from collections.abc import Iterable, Iterator, Mapping

from edgegate.clusters.kinds import NODE
from edgegate.clusters.plane import ControlPlane, Manifest
from edgegate.clusters.status import ends_of
from edgegate.components import pod_trouble
from edgegate.records import Usage


def usage(plane: ControlPlane) -> list[Usage]:
    """Return what every container of a cluster uses, as its kubelets say; the largest first."""
    found = []
    for node in plane.list(NODE):
        name = node["metadata"]["name"]
        summary = plane.request("GET", f"/api/v1/nodes/{name}/proxy/stats/summary", within=10)
        found += [one for pod in summary.get("pods", ()) for one in _of_pod(pod)]
    return sorted(found, key=lambda one: -one.memory_mib)


def _of_pod(pod: Manifest) -> Iterator[Usage]:
    place = f"{pod['podRef']['namespace']}/{pod['podRef']['name']}"
    for container in pod.get("containers", ()):
        memory = container.get("memory", {}).get("workingSetBytes", 0) / 2**20
        cpu = container.get("cpu", {}).get("usageCoreNanoSeconds", 0) / 1e9
        yield Usage(f"{place}/{container['name']}", memory, cpu)


def told(found: Iterable[Usage]) -> str:
    """Return it as lines."""
    return "".join(f"{one.memory_mib:8.1f} MiB {one.cpu_seconds:8.1f} s  {one.name}\n" for one in found)


def out_of_memory(found: Iterable[Manifest], before: Mapping[str, int]) -> tuple[str, str]:
    """Return the first container of these pods that was killed for its memory since `before`, and its limit.

    Empty when none was.
    """
    for pod, status in pod_trouble.news(found, before):
        if any(end.get("reason") == "OOMKilled" for end in ends_of(status)):
            limits = {one["name"]: one.get("resources", {}).get("limits", {}) for one in pod["spec"]["containers"]}
            limit = limits.get(status["name"], {}).get("memory", "its node's")
            return f"{pod['metadata']['name']}/{status['name']}", limit
    return "", ""
