"""An Envoy that has ended by itself is counted by its pod's status, whether or not it runs again."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from edgegate.clusters.kinds import POD, Ref
from edgegate.edge.crashes import Crashes
from edgegate.edge.proxies import LABELS, Proxies
from edgegate.errors import PlaneUnreachable
from edgegate.records import Finding, Source
from kube_api import KubeApi, serve

RUNS: dict[str, Any] = {"running": {}}
SEGFAULT = {"terminated": {"exitCode": 139, "reason": "Error"}}


class Node:
    """Writes the status of a proxy's pod."""

    def __init__(self, api: KubeApi) -> None:
        self.api = api

    def tells(self, pod: str = "envoy-1", *, container: str = "envoy", restarts: int, **states: Any) -> None:
        made = Ref(POD, pod, "envoy-gateway-system").manifest()
        labels = dict(pair.split("=") for pair in LABELS.split(","))
        made["metadata"] |= {"labels": labels, "uid": f"uid-of-{pod}"}
        status = {"name": container, "restartCount": restarts, **states}
        self.api.write({**made, "status": {"podIP": "10.88.7.140", "containerStatuses": [status]}})


@pytest.fixture
def seen(tmp_path: Path) -> Iterator[tuple[Node, Crashes]]:
    """Return a node, and who looks at it: its proxy had crashed once before the first look."""
    with serve(tmp_path) as (api, plane):
        node, crashes = Node(api), Crashes(Proxies(plane))
        node.tells(restarts=1, state=RUNS, lastState=SEGFAULT)
        assert crashes.take() == []
        yield node, crashes


def _found(how: str) -> list[Finding]:
    return [Finding(Source.DATA_PLANE, "Envoy of envoy-1", "runs on", f"ended by itself {how}")]


def test_what_was_before_the_first_look_does_not_count(seen: tuple[Node, Crashes]) -> None:
    assert seen[1].take() == []


@pytest.mark.parametrize(
    ("end", "how"),
    [
        (SEGFAULT, "once: status 139, SIGSEGV"),
        ({"terminated": {"exitCode": 137, "reason": "OOMKilled"}}, "once: status 137, OOMKilled"),
        ({"terminated": {"exitCode": 3, "reason": "Error"}}, "once: status 3"),
    ],
)
def test_one_that_runs_again_is_told_once(seen: tuple[Node, Crashes], end: object, how: str) -> None:
    node, crashes = seen
    node.tells(restarts=2, state=RUNS, lastState=end)
    assert crashes.take() == _found(how)
    assert crashes.take() == []


def test_one_that_does_not_run_yet_is_not_told_again_when_it_does(seen: tuple[Node, Crashes]) -> None:
    node, crashes = seen
    node.tells(restarts=1, state={"waiting": {"reason": "CrashLoopBackOff"}}, lastState=SEGFAULT)
    assert crashes.take() == _found("once: status 139, SIGSEGV")
    node.tells(restarts=2, state=RUNS, lastState=SEGFAULT)
    assert crashes.take() == []


def test_several_times(seen: tuple[Node, Crashes]) -> None:
    node, crashes = seen
    node.tells(restarts=3, state=SEGFAULT)
    assert crashes.take() == _found("3 times: status 139, SIGSEGV")


def test_what_was_seen_before_a_pod_was_thrown_away_is_told(seen: tuple[Node, Crashes]) -> None:
    node, crashes = seen
    node.tells(restarts=2, state=RUNS, lastState=SEGFAULT)
    crashes.look()
    node.api.objects.clear()
    node.tells("envoy-2", restarts=0, state=RUNS)
    assert crashes.take() == _found("once: status 139, SIGSEGV")


def test_a_pod_that_came_later_counts_from_its_start(seen: tuple[Node, Crashes]) -> None:
    node, crashes = seen
    node.tells("envoy-2", restarts=1, state=RUNS, lastState=SEGFAULT)
    assert [one.subject for one in crashes.take()] == ["Envoy of envoy-2"]


def test_another_container_is_none(seen: tuple[Node, Crashes]) -> None:
    """The manager of its shutdown serves nobody."""
    node, crashes = seen
    node.tells(container="shutdown-manager", restarts=4, state=RUNS, lastState=SEGFAULT)
    assert crashes.take() == []


def test_a_control_plane_that_does_not_answer_loses_nothing(
    seen: tuple[Node, Crashes], monkeypatch: pytest.MonkeyPatch
) -> None:
    node, crashes = seen
    node.tells(restarts=2, state=RUNS, lastState=SEGFAULT)
    with monkeypatch.context() as patch:

        def gone(self: Proxies) -> None:
            raise PlaneUnreachable("downstream", "GET /api/v1/pods", text="refused")

        patch.setattr(Proxies, "all", gone)
        assert crashes.take() == []
    assert crashes.take() == _found("once: status 139, SIGSEGV")
