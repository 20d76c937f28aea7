"""What the unit tests of the node agent share: a clock that is moved by hand, an actor that needs no thread, pods."""

from collections.abc import Callable
from typing import Any, TypeVar

from edgegate.lab.node.actor import Actor
from edgegate.lab.node.environment import Facts
from edgegate.lab.node.kube import Json
from edgegate.lab.node.lifecycle import ContainerFacts, Ended, Role, Running, Waiting

T = TypeVar("T")
FACTS = Facts("10.88.7.130", "10.88.7.129", "lab", {"cpu": "2", "memory": "4Gi"})
NOW = "2026-01-01T00:00:00Z"


class FakeClock:
    """Time that passes only when told to."""

    def __init__(self) -> None:
        self.time = 1000.0

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.time += seconds


class StepActor(Actor):
    """An actor that is moved by `advance`; what it does aside is done on the spot."""

    def __init__(self) -> None:
        self.fake = FakeClock()
        super().__init__("test", self.fake)

    def aside(self, work: Callable[[], T], then: Callable[[T], None]) -> None:
        result = work()
        self.post(lambda: then(result))

    def advance(self, seconds: float = 0.0) -> None:
        """Do what is waiting, and what becomes due within that many seconds, each at its time."""
        end = self.fake.time + seconds
        while True:
            while (act := self._ready()) is not None:
                act()
            self.settle()
            if not self._due or self._due[0][0] > end:
                break
            self.fake.time = self._due[0][0]
        self.fake.time = end


def pod(*containers: Json, **spec: Any) -> Json:
    """Return a pod as the API gives it."""
    metadata = {"name": "web-1", "namespace": "shop", "uid": "11111111-2222-3333-4444-555555555555", "generation": 1}
    metadata["labels"] = {"app": "web", "tier": 'a"b'}
    made = list(containers) or [{"name": "c", "image": "example/c:1"}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": made, **spec}}


def facts(name: str = "c", role: Role = Role.MAIN, **more: Any) -> ContainerFacts:
    """Return the facts of a container."""
    return ContainerFacts(name=name, role=role, image="example/c:1", **more)


def running(name: str = "c", role: Role = Role.MAIN, *, ready: bool = True) -> ContainerFacts:
    """Return the facts of a container that runs."""
    return facts(name, role, state=Running(NOW), started=ready, ready=ready)


def ended(name: str = "c", role: Role = Role.MAIN, code: int = 0) -> ContainerFacts:
    """Return the facts of a container that has ended."""
    return facts(name, role, state=end_of(code))


def backing_off(name: str = "c", role: Role = Role.MAIN, code: int = 1) -> ContainerFacts:
    """Return the facts of a container that failed and waits for its restart."""
    return facts(name, role, state=Waiting("CrashLoopBackOff"), last=end_of(code))


def end_of(code: int) -> Ended:
    """Return how a run with that status ended."""
    return Ended(code, "Error" if code else "Completed", "", NOW, NOW, "edgegate://1")


def nothing(kind: str, name: str) -> Json | None:
    """Look a Secret or ConfigMap up where there is none."""
    return None


def objects(*found: Json) -> Callable[[str, str], Json | None]:
    """Return a look-up of these objects."""
    known = {(one["kind"], one["metadata"]["name"]): one for one in found}
    return lambda kind, name: known.get((kind, name))


def config_map(name: str, **data: str) -> Json:
    """Return a ConfigMap."""
    return {"kind": "ConfigMap", "metadata": {"name": name, "namespace": "shop"}, "data": data}


def secret(name: str, **data: str) -> Json:
    """Return a Secret; the values are base64."""
    return {"kind": "Secret", "metadata": {"name": name, "namespace": "shop"}, "data": data}
