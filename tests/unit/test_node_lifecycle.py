"""What is to be done with a pod's containers, and its phase."""

import pytest

from edgegate.lab.node.lifecycle import ContainerFacts, Role, containers_of, finished, phase, plan, uninitialized
from node_parts import backing_off, ended, facts, pod, running


def test_roles_of_containers() -> None:
    made = pod({"name": "m"}, initContainers=[{"name": "i"}, {"name": "s", "restartPolicy": "Always"}])
    assert [(role, one["name"]) for role, one in containers_of(made)] == [
        (Role.INIT, "i"),
        (Role.SIDECAR, "s"),
        (Role.MAIN, "m"),
    ]


@pytest.mark.parametrize(
    ("containers", "policy", "start"),
    [
        pytest.param([facts("a"), facts("b")], "Always", ("a", "b"), id="all main containers together"),
        pytest.param([facts("i", Role.INIT), facts("m")], "Always", ("i",), id="init first"),
        pytest.param([running("i", Role.INIT), facts("m")], "Always", (), id="init still runs"),
        pytest.param([ended("i", Role.INIT), facts("j", Role.INIT), facts("m")], "Always", ("j",), id="next init"),
        pytest.param([ended("i", Role.INIT, 1), facts("m")], "Always", ("i",), id="failed init again"),
        pytest.param([ended("i", Role.INIT), facts("m")], "Always", ("m",), id="init done"),
        pytest.param([facts("s", Role.SIDECAR), facts("m")], "Never", ("s",), id="sidecar first"),
        pytest.param([running("s", Role.SIDECAR, ready=False), facts("m")], "Never", (), id="sidecar not started"),
        pytest.param([running("s", Role.SIDECAR), facts("m")], "Never", ("m",), id="sidecar started"),
        pytest.param([ended("s", Role.SIDECAR), running("m")], "Never", ("s",), id="sidecar restarts always"),
        pytest.param([ended("i", Role.INIT, 137), running("m")], "Always", (), id="no init once begun"),
        pytest.param([ended("m")], "Always", ("m",), id="Always restarts success"),
        pytest.param([ended("m", code=1), running("n")], "OnFailure", ("m",), id="OnFailure restarts failure"),
        pytest.param([ended("m"), running("n")], "OnFailure", (), id="OnFailure leaves success"),
        pytest.param([ended("m", code=1), running("n")], "Never", (), id="Never leaves failure"),
        pytest.param([backing_off("m")], "Always", ("m",), id="waits for its back-off"),
    ],
)
def test_plan(containers: list[ContainerFacts], policy: str, start: tuple[str, ...]) -> None:
    made = plan(containers, policy)
    assert (made.start, made.finished) == (start, False)


@pytest.mark.parametrize(
    ("containers", "policy", "over"),
    [
        pytest.param([ended("m")], "Never", True, id="done"),
        pytest.param([ended("m"), running("n")], "Never", False, id="one still runs"),
        pytest.param([running("s", Role.SIDECAR), ended("m")], "OnFailure", True, id="sidecars do not count"),
        pytest.param([ended("i", Role.INIT, 1), facts("m")], "Never", True, id="init failed for good"),
        pytest.param([ended("m", code=1)], "OnFailure", False, id="will be restarted"),
    ],
)
def test_finished(containers: list[ContainerFacts], policy: str, over: bool) -> None:
    assert finished(containers, policy) is over
    assert plan(containers, policy).finished is over


@pytest.mark.parametrize(
    ("containers", "policy", "expected"),
    [
        pytest.param([facts("m")], "Always", "Pending", id="new"),
        pytest.param([running("i", Role.INIT), facts("m")], "Always", "Pending", id="init runs"),
        pytest.param([ended("i", Role.INIT, 1), facts("m")], "Never", "Failed", id="init failed"),
        pytest.param([backing_off("i", Role.INIT), facts("m")], "Always", "Pending", id="init backs off"),
        pytest.param([running("s", Role.SIDECAR), facts("m")], "Always", "Pending", id="main not started"),
        pytest.param([running("m"), facts("n")], "Always", "Pending", id="one not started"),
        pytest.param([running("m")], "Always", "Running", id="runs"),
        pytest.param([backing_off("m")], "Always", "Running", id="crash loop"),
        pytest.param([ended("m")], "Always", "Running", id="about to restart"),
        pytest.param([ended("m")], "Never", "Succeeded", id="succeeded"),
        pytest.param([ended("m"), ended("n", code=2)], "Never", "Failed", id="one failed"),
        pytest.param([ended("m", code=1)], "OnFailure", "Running", id="will be restarted"),
        pytest.param([running("s", Role.SIDECAR), ended("m")], "Never", "Running", id="sidecar still runs"),
        pytest.param([ended("s", Role.SIDECAR, 137), ended("m")], "Never", "Succeeded", id="sidecar status is nothing"),
    ],
)
def test_phase(containers: list[ContainerFacts], policy: str, expected: str) -> None:
    assert phase(containers, policy) == expected


def test_a_pod_that_was_deleted_has_come_to_its_end() -> None:
    assert phase([ended("m")], "Always", terminal=True) == "Succeeded"
    assert phase([ended("m", code=137)], "Always", terminal=True) == "Failed"


def test_what_is_not_initialized_is_named() -> None:
    containers = [ended("a", Role.INIT), running("b", Role.SIDECAR, ready=False), facts("c", Role.INIT), facts("m")]
    assert uninitialized(containers) == ["b", "c"]
    assert uninitialized([facts("a", Role.INIT), running("m")]) == []
