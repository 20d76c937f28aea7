"""Whether a pod may run on the node, and what the Node says."""

from pathlib import Path
from typing import Any

import pytest

from edgegate.lab.node.config import Network, NodeConfig
from edgegate.lab.node.kube import Json
from edgegate.lab.node.scheduling import is_ours, misfit, node_labels, node_manifest, node_status, wants_binding
from node_parts import NOW, pod

NET = Network("pods", "10.88.7.129", "10.88.7.128/25", "10.96.0.10")
CONFIG = NodeConfig(Path("/k"), "lab", NET, Path("/l"), Path("/r"), {}, labels={"zone": "a", "size": "3"})
TEXT = "node(s) didn't match Pod's node affinity/selector"


def test_only_pods_of_the_default_scheduler_are_bound() -> None:
    assert wants_binding(pod())
    assert not wants_binding(pod(nodeName="lab"))
    assert not wants_binding(pod(schedulerName="other"))
    assert not wants_binding(pod(schedulingGates=[{"name": "wait"}]))
    going = pod()
    going["metadata"]["deletionTimestamp"] = NOW
    assert not wants_binding(going)
    assert is_ours(pod(nodeName="lab"), "lab")
    assert not is_ours(pod(), "lab")


def test_a_node_selector_is_kept_to() -> None:
    assert misfit(pod(nodeSelector={"zone": "a"}), CONFIG.labels) is None
    assert misfit(pod(nodeSelector={"zone": "b"}), CONFIG.labels) == TEXT


@pytest.mark.parametrize(
    ("expression", "fits"),
    [
        ({"key": "zone", "operator": "In", "values": ["a", "b"]}, True),
        ({"key": "zone", "operator": "NotIn", "values": ["a"]}, False),
        ({"key": "none", "operator": "NotIn", "values": ["a"]}, True),
        ({"key": "zone", "operator": "Exists"}, True),
        ({"key": "none", "operator": "Exists"}, False),
        ({"key": "none", "operator": "DoesNotExist"}, True),
        ({"key": "size", "operator": "Gt", "values": ["2"]}, True),
        ({"key": "size", "operator": "Lt", "values": ["2"]}, False),
        ({"key": "zone", "operator": "Gt", "values": ["2"]}, False),
    ],
)
def test_required_node_affinity_is_kept_to(expression: Json, fits: bool) -> None:
    required = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    assert (misfit(pod(affinity=affinity), CONFIG.labels) is None) is fits


def test_one_term_is_enough_and_none_is_not() -> None:
    def affine(*terms: Json) -> Any:
        required = {"nodeSelectorTerms": list(terms)}
        return pod(affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}})

    there = {"matchExpressions": [{"key": "zone", "operator": "Exists"}]}
    assert misfit(affine({"matchExpressions": []}, there), CONFIG.labels) is None
    assert misfit(affine({"matchExpressions": []}), CONFIG.labels) == TEXT


def test_the_node_has_what_kube_proxy_waits_for() -> None:
    assert node_manifest(CONFIG)["spec"] == {"podCIDR": "10.88.7.128/25", "podCIDRs": ["10.88.7.128/25"]}
    status = node_status(CONFIG, NOW)
    assert status["addresses"][0] == {"type": "InternalIP", "address": "10.88.7.129"}
    assert [(one["type"], one["status"]) for one in status["conditions"]] == [("Ready", "True")]
    assert status["capacity"]["pods"] == "125"
    assert node_labels(CONFIG)["kubernetes.io/hostname"] == "lab"
