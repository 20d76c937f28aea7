"""A pod's status out of facts. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from edgegate.lab.node.kube import Json
from edgegate.lab.node.lifecycle import ContainerFacts, Ended, Role, Running, State, initialized, phase, uninitialized


@dataclass(frozen=True)
class PodFacts:
    """One pod as it is now."""

    containers: tuple[ContainerFacts, ...]
    """Its containers, init containers first."""
    pod_ip: str
    """Its address; empty before it has one."""
    host_ip: str
    """The node's address."""
    started: str
    """When the agent took it on."""
    reason: str = ""
    """Why it failed as a whole, as `DeadlineExceeded`."""
    message: str = ""
    """The same for people."""
    terminal: bool = False
    """Whether nothing of it will run again, whatever its restart policy is."""


def timestamp(moment: datetime | None = None) -> str:
    """Return a moment (now, if none is given) as the API writes it."""
    return (moment or datetime.now(UTC)).strftime("%Y-%m-%dT%H:%M:%SZ")


def render(pod: Json, facts: PodFacts, now: str) -> Json:
    """Return the status of a pod; conditions that have not changed keep their time."""
    policy = pod["spec"].get("restartPolicy", "Always")
    said = "Failed" if facts.reason else phase(facts.containers, policy, terminal=facts.terminal)
    before = [one for one in facts.containers if one.role is not Role.MAIN]
    mains = [one for one in facts.containers if one.role is Role.MAIN]
    status: Json = {
        "phase": said,
        "startTime": facts.started,
        "hostIP": facts.host_ip,
        "hostIPs": [{"ip": facts.host_ip}],
        "conditions": conditions(pod, facts, said, now),
        "containerStatuses": [container_status(one) for one in mains],
    }
    if "generation" in pod["metadata"]:
        status["observedGeneration"] = pod["metadata"]["generation"]
    if before:
        status["initContainerStatuses"] = [container_status(one) for one in before]
    if facts.pod_ip:
        status |= {"podIP": facts.pod_ip, "podIPs": [{"ip": facts.pod_ip}]}
    if facts.reason:
        status |= {"reason": facts.reason, "message": facts.message}
    return status


def container_status(one: ContainerFacts) -> Json:
    """Return the status of one container."""
    status: Json = {
        "name": one.name,
        "image": one.image,
        "imageID": one.image_id,
        "ready": one.ready,
        "started": one.started,
        "restartCount": one.restarts,
        "state": _state(one.state),
        "lastState": _state(one.last) if one.last else {},
    }
    if one.container_id:
        status["containerID"] = one.container_id
    return status


def _state(state: State) -> Json:
    if isinstance(state, Running):
        return {"running": {"startedAt": state.since}}
    if isinstance(state, Ended):
        shown = {"exitCode": state.code, "reason": state.reason, "startedAt": state.started}
        shown |= {"finishedAt": state.finished, "containerID": state.container_id}
        return {"terminated": shown | ({"message": state.message} if state.message else {})}
    return {"waiting": {"reason": state.reason} | ({"message": state.message} if state.message else {})}


def conditions(pod: Json, facts: PodFacts, said: str, now: str) -> list[Json]:
    """Return the five conditions that a kubelet keeps."""
    old = {one["type"]: one for one in (pod.get("status") or {}).get("conditions") or []}
    wanted = [
        _condition("PodReadyToStartContainers", bool(facts.pod_ip)),
        _initialized(facts.containers, said),
        _ready(pod, facts, said, old),
        _containers_ready(facts.containers, said),
        _condition("PodScheduled", True),
    ]
    return [_with_time(one, old.get(one["type"]), now) for one in wanted]


def _condition(kind: str, true: bool, reason: str = "", message: str = "") -> Json:
    shown = {"type": kind, "status": "True" if true else "False"}
    return shown | ({"reason": reason} if reason else {}) | ({"message": message} if message else {})


def _initialized(containers: Sequence[ContainerFacts], said: str) -> Json:
    if said == "Succeeded":
        return _condition("Initialized", True, "PodCompleted")
    if initialized(containers):
        return _condition("Initialized", True)
    missing = _names(uninitialized(containers))
    return _condition("Initialized", False, "ContainersNotInitialized", f"containers with incomplete status: {missing}")


def _containers_ready(containers: Sequence[ContainerFacts], said: str) -> Json:
    if said in ("Succeeded", "Failed"):
        return _condition("ContainersReady", False, "PodCompleted" if said == "Succeeded" else "PodFailed")
    unready = [one.name for one in containers if one.role is not Role.INIT and not one.ready]
    if unready:
        message = f"containers with unready status: {_names(unready)}"
        return _condition("ContainersReady", False, "ContainersNotReady", message)
    return _condition("ContainersReady", True)


def _ready(pod: Json, facts: PodFacts, said: str, old: dict[str, Json]) -> Json:
    containers = {**_containers_ready(facts.containers, said), "type": "Ready"}
    if containers["status"] == "False":
        return containers
    gates = [gate["conditionType"] for gate in pod["spec"].get("readinessGates") or []]
    closed = [gate for gate in gates if old.get(gate, {}).get("status") != "True"]
    if not closed:
        return containers
    text = "; ".join(
        f'the status of pod readiness gate "{gate}" is not "True", but {old.get(gate, {}).get("status", "absent")}'
        for gate in closed
    )
    return _condition("Ready", False, "ReadinessGatesNotReady", text)


def _names(names: Iterable[str]) -> str:
    return f"[{' '.join(names)}]"


def _with_time(wanted: Json, old: Json | None, now: str) -> Json:
    same = old is not None and old.get("status") == wanted["status"]
    since = old["lastTransitionTime"] if same and old and old.get("lastTransitionTime") else now
    # null removes a reason or message that a merge would keep
    return {"reason": None, "message": None, **wanted, "lastTransitionTime": since, "lastProbeTime": None}
