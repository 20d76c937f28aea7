"""Where a pod's containers are when an agent takes it on."""

from edgegate.lab.node.lifecycle import ContainerFacts, Ended, Waiting
from edgegate.lab.node.restore import restored
from node_parts import NOW, pod


def _restored(**shown: object) -> ContainerFacts:
    made = pod()
    made["status"] = {"containerStatuses": [{"name": "c", "restartCount": 2, **shown}]}
    return restored(made)[0][1]


def test_a_new_pod_waits() -> None:
    made = restored(pod(initContainers=[{"name": "i", "image": "x"}]))
    assert [(facts.name, facts.state) for _, facts in made] == [
        ("i", Waiting("ContainerCreating")),
        ("c", Waiting("PodInitializing")),
    ]


def test_what_ran_died_with_the_agent() -> None:
    facts = _restored(state={"running": {"startedAt": NOW}}, containerID="edgegate://9")
    assert isinstance(facts.state, Ended)
    assert (facts.state.code, facts.state.reason, facts.state.started) == (137, "ContainerStatusUnknown", NOW)
    assert (facts.restarts, facts.state.container_id) == (2, "edgegate://9")


def test_what_had_ended_stays_ended() -> None:
    facts = _restored(state={"terminated": {"exitCode": 3, "reason": "Error", "startedAt": NOW, "finishedAt": NOW}})
    assert facts.state == Ended(3, "Error", "", NOW, NOW, "")


def test_what_waited_waits_again_and_remembers_its_last_run() -> None:
    last = {"terminated": {"exitCode": 1, "reason": "Error", "message": "m", "startedAt": NOW, "finishedAt": NOW}}
    facts = _restored(state={"waiting": {"reason": "CrashLoopBackOff"}}, lastState=last)
    assert (facts.state, facts.last) == (Waiting("PodInitializing"), Ended(1, "Error", "m", NOW, NOW, ""))


def test_an_init_container_that_is_done_is_not_run_again() -> None:
    made = pod(initContainers=[{"name": "i", "image": "x"}])
    ended = {"exitCode": 0, "reason": "Completed", "startedAt": NOW, "finishedAt": NOW}
    made["status"] = {"initContainerStatuses": [{"name": "i", "state": {"terminated": ended}}]}
    facts = restored(made)[0][1]
    assert facts.ended
    assert facts.ready
