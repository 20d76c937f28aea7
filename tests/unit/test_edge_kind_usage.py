"""What containers use, and which one was killed for its memory, as kubelets and pods tell it."""

from pathlib import Path
from typing import Any

from edgegate.clusters.kinds import Kind
from edgegate.clusters.plane import ControlPlane
from edgegate.edge.backends.kind_usage import out_of_memory, told, usage


class Plane(ControlPlane):
    """A control plane that knows one node."""

    def __init__(self) -> None:
        super().__init__("downstream", Path("none"))

    def list(self, kind: Kind, namespace: str = "", *, labels: str = "") -> list[dict[str, Any]]:
        return [{"metadata": {"name": "node"}}]

    def request(self, method: str, path: str, **more: Any) -> dict[str, Any]:
        assert path == "/api/v1/nodes/node/proxy/stats/summary"
        containers = [
            {"name": "small", "memory": {"workingSetBytes": 1 << 20}, "cpu": {"usageCoreNanoSeconds": 5_000_000_000}},
            {"name": "large", "memory": {"workingSetBytes": 9 << 20}, "cpu": {}},
        ]
        return {"pods": [{"podRef": {"namespace": "n", "name": "p"}, "containers": containers}]}


def _pod(state: dict[str, Any], last: dict[str, Any]) -> dict[str, Any]:
    container = {"name": "envoy", "resources": {"limits": {"memory": "512Mi"}}}
    statuses = [{"name": "envoy", "restartCount": 1, "state": state, "lastState": last}]
    return {
        "metadata": {"name": "p", "uid": "u"},
        "spec": {"containers": [container]},
        "status": {"containerStatuses": statuses},
    }


def test_the_largest_comes_first() -> None:
    assert told(usage(Plane())).splitlines() == [
        "     9.0 MiB      0.0 s  n/p/large",
        "     1.0 MiB      5.0 s  n/p/small",
    ]


def test_a_container_that_was_killed_for_its_memory_is_named_with_its_limit() -> None:
    killed = {"terminated": {"reason": "OOMKilled", "exitCode": 137}}
    assert out_of_memory([_pod({"running": {}}, killed)], {}) == ("p/envoy", "512Mi")
    assert out_of_memory([_pod(killed, {})], {}) == ("p/envoy", "512Mi")


def test_what_was_known_before_is_not() -> None:
    killed = {"terminated": {"reason": "OOMKilled", "exitCode": 137}}
    assert out_of_memory([_pod({"running": {}}, killed)], {"u/envoy": 1}) == ("", "")


def test_one_that_ended_otherwise_is_not() -> None:
    ended = {"terminated": {"reason": "Error", "exitCode": 137}}
    assert out_of_memory([_pod({"running": {}}, ended)], {}) == ("", "")
