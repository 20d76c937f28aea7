"""Where a pod's containers are when an agent takes it on: new, or as an earlier agent left them. Pure."""

from dataclasses import replace

from edgegate.lab.node.kube import Json
from edgegate.lab.node.lifecycle import ContainerFacts, Ended, Role, Waiting, containers_of
from edgegate.lab.node.status import timestamp

LOST = "The container could not be located when the node agent was restarted"


def restored(pod: Json) -> list[tuple[Json, ContainerFacts]]:
    """Return each container with its facts, init containers first.

    What ran under an earlier agent died with it; a kubelet calls that exit status 137, `ContainerStatusUnknown`.
    """
    status = pod.get("status") or {}
    shown = [*(status.get("initContainerStatuses") or []), *(status.get("containerStatuses") or [])]
    known = {one["name"]: one for one in shown}
    return [(spec, _facts(role, spec, known.get(spec["name"]))) for role, spec in containers_of(pod)]


def _facts(role: Role, spec: Json, shown: Json | None) -> ContainerFacts:
    first = Waiting("PodInitializing" if role is Role.MAIN else "ContainerCreating")
    facts = ContainerFacts(name=spec["name"], role=role, image=spec["image"], state=first)
    if not shown:
        return facts
    facts = replace(facts, restarts=int(shown.get("restartCount", 0)), last=_ended(shown.get("lastState")))
    state = shown.get("state") or {}
    if ended := _ended(state):
        return replace(
            facts, state=ended, image_id=shown.get("imageID", ""), ready=role is Role.INIT and not ended.code
        )
    if "running" in state:
        since = state["running"].get("startedAt") or timestamp()
        lost = Ended(137, "ContainerStatusUnknown", LOST, since, timestamp(), shown.get("containerID", ""))
        return replace(facts, state=lost)
    return facts


def _ended(state: Json | None) -> Ended | None:
    shown = (state or {}).get("terminated")
    if not shown:
        return None
    return Ended(
        code=int(shown.get("exitCode", 0)),
        reason=shown.get("reason", ""),
        message=shown.get("message", ""),
        started=shown.get("startedAt") or timestamp(),
        finished=shown.get("finishedAt") or timestamp(),
        container_id=shown.get("containerID", ""),
    )
