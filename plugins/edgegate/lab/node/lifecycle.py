"""What is known about a pod's containers, and what is to be done next. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from edgegate.lab.node.kube import Json


class Role(StrEnum):
    """What a container is for."""

    INIT = "init"
    SIDECAR = "sidecar"
    MAIN = "main"


@dataclass(frozen=True)
class Waiting:
    """A container that does not run yet, or not again yet."""

    reason: str
    """One word, as `ContainerCreating`."""
    message: str = ""
    """The cause."""


@dataclass(frozen=True)
class Running:
    """A container that runs."""

    since: str
    """When it started."""


@dataclass(frozen=True)
class Ended:
    """A container that ran and does not any more."""

    code: int
    """Exit status; 128 + N for signal N."""
    reason: str
    """One word: `Completed`, `Error`, `StartError`."""
    message: str
    """What it left as its termination message."""
    started: str
    """When it started."""
    finished: str
    """When it ended."""
    container_id: str
    """Which run it was."""


State = Waiting | Running | Ended


@dataclass(frozen=True)
class ContainerFacts:
    """One container as it is now."""

    name: str
    """Its name."""
    role: Role
    """What it is for."""
    image: str
    """The image that its pod asks for."""
    image_id: str = ""
    """What really runs: the pin."""
    state: State = Waiting("ContainerCreating")
    """Whether it runs."""
    last: Ended | None = None
    """How its previous run ended."""
    started: bool = False
    """Whether it runs and its startup probe has passed."""
    ready: bool = False
    """Whether it is ready."""
    restarts: int = 0
    """How many times it was started again."""
    container_id: str = ""
    """This run."""

    @property
    def ended(self) -> Ended | None:
        """Return how its last run ended if it does not run now; None if it runs or never ran."""
        if isinstance(self.state, Ended):
            return self.state
        return self.last if isinstance(self.state, Waiting) else None


@dataclass(frozen=True)
class Plan:
    """What is to be done with the containers of a pod."""

    start: tuple[str, ...] = ()
    """Containers to start now, or as soon as their back-off allows."""
    finished: bool = False
    """Nothing of it will ever run again: sidecars are to be stopped."""


def role_of(container: Json, *, init: bool) -> Role:
    """Return what a container is for."""
    if not init:
        return Role.MAIN
    return Role.SIDECAR if container.get("restartPolicy") == "Always" else Role.INIT


def containers_of(pod: Json) -> list[tuple[Role, Json]]:
    """Return a pod's containers with their roles, init containers first, in the order of the pod."""
    spec = pod["spec"]
    before = [(role_of(one, init=True), one) for one in spec.get("initContainers") or []]
    return before + [(Role.MAIN, one) for one in spec["containers"]]


def will_restart(one: ContainerFacts, policy: str) -> bool:
    """Tell whether a container that ended is started again."""
    code = one.ended.code if one.ended else 0
    if one.role is Role.SIDECAR:
        return True
    if one.role is Role.INIT:
        return code != 0 and policy != "Never"
    return policy == "Always" or (policy == "OnFailure" and code != 0)


def plan(containers: Sequence[ContainerFacts], policy: str) -> Plan:
    """Return what is to be done: init containers one by one, then the others together."""
    if finished(containers, policy):
        return Plan(finished=True)
    begun = any(one.role is Role.MAIN and (one.ended or isinstance(one.state, Running)) for one in containers)
    start: list[str] = []
    for one in containers:
        runs = isinstance(one.state, Running)
        done = one.ended is not None and not will_restart(one, policy)
        if not runs and not done and not (one.role is Role.INIT and begun):
            start.append(one.name)
        if one.role is not Role.MAIN and not begun and not (done or one.started):
            break
        if one.role is Role.INIT and not begun and not done:
            break
    return Plan(start=tuple(start))


def finished(containers: Sequence[ContainerFacts], policy: str) -> bool:
    """Tell whether a pod has come to its end: all of it done, or an init container failed for good."""
    if any(one.role is Role.INIT and _failed(one) and not will_restart(one, policy) for one in containers):
        return True
    return all(one.ended and not will_restart(one, policy) for one in containers if one.role is Role.MAIN)


def _failed(one: ContainerFacts) -> bool:
    return one.ended is not None and one.ended.code != 0


def initialized(containers: Sequence[ContainerFacts]) -> bool:
    """Tell whether all init containers are done and all sidecars have started."""
    return not uninitialized(containers)


def uninitialized(containers: Sequence[ContainerFacts]) -> list[str]:
    """Return the init containers that are not done and the sidecars that have not started."""
    if any(one.role is Role.MAIN and (one.ended or isinstance(one.state, Running)) for one in containers):
        return []
    waiting = []
    for one in containers:
        completed = one.ended is not None and one.ended.code == 0
        if (one.role is Role.INIT and not completed) or (one.role is Role.SIDECAR and not one.started):
            waiting.append(one.name)
    return waiting


def phase(containers: Sequence[ContainerFacts], policy: str, *, terminal: bool = False) -> str:
    """Return the phase of a pod, by a kubelet's rules; `terminal` means that nothing of it will run again."""
    mains = [one for one in containers if one.role is Role.MAIN]
    others = [one for one in containers if one.role is not Role.INIT]
    if any(one.role is Role.INIT and _failed(one) and not will_restart(one, policy) for one in containers):
        return "Failed"
    if _uninitialized(containers) or any(isinstance(one.state, Waiting) and one.last is None for one in others):
        return "Pending"
    if any(isinstance(one.state, Running) for one in others):
        return "Running"
    if not terminal and any(will_restart(one, policy) for one in mains):
        return "Running"
    return "Failed" if any(_failed(one) for one in mains) else "Succeeded"


def _uninitialized(containers: Sequence[ContainerFacts]) -> bool:
    """Tell whether an init container runs or never ran; one that failed and waits for its restart does not count."""
    return any(name not in {one.name for one in containers if _failed(one)} for name in uninitialized(containers))
