"""Whether a pod may run on the node, and what the Node object says. Pure."""

import os
import platform
from collections.abc import Mapping

from edgegate.lab.node.config import NodeConfig
from edgegate.lab.node.kube import Json

VERSION = "v1.35.4"
"""What the Node shows as its kubelet's version: whose behaviour this agent follows."""
GATED = "SchedulingGated"


def is_ours(pod: Json, node: str) -> bool:
    """Tell whether a pod is bound to the node."""
    return bool(pod["spec"].get("nodeName") == node)


def wants_binding(pod: Json) -> bool:
    """Tell whether a pod waits for the default scheduler, which the agent stands in for."""
    spec, metadata = pod["spec"], pod["metadata"]
    theirs = spec.get("schedulerName", "default-scheduler") != "default-scheduler"
    return not bool(spec.get("nodeName") or metadata.get("deletionTimestamp") or theirs or spec.get("schedulingGates"))


def misfit(pod: Json, labels: Mapping[str, str]) -> str | None:
    """Return why a pod may not run on a node with these labels; None when it may.

    Of a scheduler's rules, those that depend on the node's labels are kept. There is one node, so spreading and
    pod affinity have nothing to choose from, and resources are not reserved.
    """
    spec = pod["spec"]
    for key, value in (spec.get("nodeSelector") or {}).items():
        if labels.get(key) != value:
            return "node(s) didn't match Pod's node affinity/selector"
    required = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(
        "requiredDuringSchedulingIgnoredDuringExecution"
    )
    terms = (required or {}).get("nodeSelectorTerms") or []
    if required and not any(_term(term, labels) for term in terms):
        return "node(s) didn't match Pod's node affinity/selector"
    return None


def _term(term: Json, labels: Mapping[str, str]) -> bool:
    expressions = term.get("matchExpressions") or []
    return bool(expressions) and all(_matches(one, labels) for one in expressions)


def _matches(expression: Json, labels: Mapping[str, str]) -> bool:
    value, operator = labels.get(expression["key"]), str(expression["operator"])
    values: list[str] = expression.get("values") or []
    if operator == "In":
        return value in values
    if operator == "NotIn":
        return value not in values
    if operator in ("Gt", "Lt"):
        if value is None or not value.lstrip("-").isdigit():
            return False
        difference = int(value) - int(values[0])
        return difference > 0 if operator == "Gt" else difference < 0
    return (value is not None) == (operator == "Exists")


def node_labels(config: NodeConfig) -> dict[str, str]:
    """Return the labels of the Node."""
    return {
        "kubernetes.io/hostname": config.node,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": _architecture(),
        **config.labels,
    }


def node_capacity(config: NodeConfig) -> dict[str, str]:
    """Return what the node has: the machine's processors and memory, and one pod for each address."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 1024
    return {
        "cpu": str(os.cpu_count() or 1),
        "memory": f"{memory}Ki",
        "ephemeral-storage": f"{memory // 2}Ki",
        "pods": str(len(config.net.pod_addresses())),
    }


def node_manifest(config: NodeConfig) -> Json:
    """Return the Node as it is registered, without its status."""
    cidr = config.net.pod_cidr
    metadata = {"name": config.node, "labels": node_labels(config)}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": {"podCIDR": cidr, "podCIDRs": [cidr]}}


def node_status(config: NodeConfig, now: str) -> Json:
    """Return the status of the Node: ready, with the addresses that kube-proxy waits for.

    It is written once. No controller of the lab judges heartbeats (a node that is gone takes the lab with it), so
    there is neither a Lease nor a renewed condition: they would be requests that nobody reads.
    """
    condition = {
        "type": "Ready",
        "status": "True",
        "reason": "KubeletReady",
        "message": "the edgegate node agent is ready",
        "lastHeartbeatTime": now,
        "lastTransitionTime": now,
    }
    capacity = node_capacity(config)
    return {
        "addresses": [
            {"type": "InternalIP", "address": config.net.bridge_ip},
            {"type": "Hostname", "address": config.node},
        ],
        "capacity": capacity,
        "allocatable": capacity,
        "conditions": [condition],
        "nodeInfo": {
            "machineID": "",
            "systemUUID": "",
            "bootID": "",
            "kernelVersion": platform.release(),
            "osImage": "edgegate lab",
            "containerRuntimeVersion": "edgegate://0",
            "kubeletVersion": VERSION,
            "kubeProxyVersion": "",
            "operatingSystem": "linux",
            "architecture": _architecture(),
        },
    }


def _architecture() -> str:
    machine = platform.machine()
    return {"x86_64": "amd64", "aarch64": "arm64"}.get(machine, machine)
