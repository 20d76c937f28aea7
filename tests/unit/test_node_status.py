"""A pod's status out of facts."""

from edgegate.lab.node.kube import Json
from edgegate.lab.node.lifecycle import Role, Waiting
from edgegate.lab.node.status import PodFacts, container_status, render
from node_parts import NOW, backing_off, end_of, ended, facts, pod, running

LATER = "2026-01-01T00:01:00Z"


def _facts(*containers: object, **more: str) -> PodFacts:
    return PodFacts(containers, "10.88.7.130", "10.88.7.129", NOW, **more)  # type: ignore[arg-type]


def _conditions(status: Json) -> dict[str, tuple[str, str | None, str | None]]:
    return {one["type"]: (one["status"], one["reason"], one["message"]) for one in status["conditions"]}


def test_a_pod_that_is_ready() -> None:
    status = render(pod(), _facts(running()), NOW)
    assert {kind: said[0] for kind, said in _conditions(status).items()} == dict.fromkeys(
        ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"), "True"
    )
    assert (status["phase"], status["startTime"], status["observedGeneration"]) == ("Running", NOW, 1)
    assert (status["podIPs"], status["hostIPs"]) == ([{"ip": "10.88.7.130"}], [{"ip": "10.88.7.129"}])
    assert "initContainerStatuses" not in status


def test_a_pod_that_is_being_set_up_has_no_address() -> None:
    status = render(pod(), PodFacts((facts(),), "", "10.88.7.129", NOW), NOW)
    assert "podIP" not in status
    assert _conditions(status)["PodReadyToStartContainers"][0] == "False"
    assert status["containerStatuses"][0]["state"] == {"waiting": {"reason": "ContainerCreating"}}


def test_unready_containers_are_named() -> None:
    status = render(
        pod(), _facts(running("a", ready=False), running("b"), running("s", Role.SIDECAR, ready=False)), NOW
    )
    expected = ("False", "ContainersNotReady", "containers with unready status: [a s]")
    assert _conditions(status)["Ready"] == _conditions(status)["ContainersReady"] == expected


def test_init_containers_that_are_not_done_are_named() -> None:
    status = render(pod(), _facts(running("i", Role.INIT), facts("m")), NOW)
    said = ("False", "ContainersNotInitialized", "containers with incomplete status: [i]")
    assert _conditions(status)["Initialized"] == said
    assert [one["name"] for one in status["initContainerStatuses"]] == ["i"]


def test_a_pod_that_is_done_is_not_ready() -> None:
    made = pod(restartPolicy="Never")
    done = _conditions(render(made, _facts(ended()), NOW))
    assert (done["Ready"][:2], done["Initialized"][:2]) == (("False", "PodCompleted"), ("True", "PodCompleted"))
    assert _conditions(render(made, _facts(ended(code=1)), NOW))["Ready"][:2] == ("False", "PodFailed")


def test_a_pod_that_took_too_long_has_failed_as_a_whole() -> None:
    status = render(pod(), _facts(running(), reason="DeadlineExceeded", message="too long"), NOW)
    assert (status["phase"], status["reason"], status["message"]) == ("Failed", "DeadlineExceeded", "too long")


def test_readiness_gates_are_waited_for() -> None:
    made = pod(readinessGates=[{"conditionType": "edge/ok"}])
    assert _conditions(render(made, _facts(running()), NOW))["Ready"] == (
        "False",
        "ReadinessGatesNotReady",
        'the status of pod readiness gate "edge/ok" is not "True", but absent',
    )
    made["status"] = {"conditions": [{"type": "edge/ok", "status": "True"}]}
    assert _conditions(render(made, _facts(running()), NOW))["Ready"][0] == "True"


def test_conditions_keep_their_time_until_they_change() -> None:
    made = pod()
    made["status"] = render(made, _facts(running(ready=False)), NOW)
    later = render(made, _facts(running()), LATER)
    times = {one["type"]: one["lastTransitionTime"] for one in later["conditions"]}
    assert times == {
        "PodReadyToStartContainers": NOW,
        "Initialized": NOW,
        "Ready": LATER,
        "ContainersReady": LATER,
        "PodScheduled": NOW,
    }


def test_a_container_that_backs_off_shows_how_it_ended() -> None:
    shown = container_status(backing_off(code=7))
    assert shown["state"] == {"waiting": {"reason": "CrashLoopBackOff"}}
    assert shown["lastState"]["terminated"]["exitCode"] == 7
    assert "message" not in shown["lastState"]["terminated"]


def test_a_container_status_is_complete() -> None:
    one = facts(state=Waiting("ErrImagePull", "no pin"), restarts=2, image_id="pin", container_id="edgegate://2")
    assert container_status(one) == {
        "name": "c",
        "image": "example/c:1",
        "imageID": "pin",
        "containerID": "edgegate://2",
        "ready": False,
        "started": False,
        "restartCount": 2,
        "state": {"waiting": {"reason": "ErrImagePull", "message": "no pin"}},
        "lastState": {},
    }
    assert end_of(1).reason == "Error"
