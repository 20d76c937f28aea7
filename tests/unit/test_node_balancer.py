"""Load-balancer addresses, given and taken back."""

import threading
from typing import Any, cast

from edgegate.errors import PlaneUnreachable
from edgegate.lab.node.balancer import Balancer
from edgegate.lab.node.config import Network
from edgegate.lab.node.events import Recorder
from edgegate.lab.node.kube import Api, Json
from edgegate.lab.node.netns import Namespaces

NET = Network("pods", "10.88.7.129", "10.88.7.128/25", "10.96.0.10", lb_first="10.88.7.8", lb_last="10.88.7.9")


class Surroundings:
    """Control plane, uplink and event recorder in one."""

    def __init__(self, *held: str) -> None:
        self.held = set(held)
        self.events: list[tuple[str, str]] = []
        self.away = False
        self.balancer = StepBalancer(self)

    def patch(self, path: str, body: Json, *, kind: str) -> Json:
        if self.away:
            raise PlaneUnreachable("downstream", path, text="away")
        name = path.split("/")[-2]
        found = next(one for one in self.balancer.services.values() if one["metadata"]["name"] == name)
        return {**found, "status": body["status"]}

    def add_address(self, address: str) -> None:
        self.held.add(address)

    def drop_address(self, address: str) -> None:
        self.held.remove(address)

    def held_addresses(self) -> set[str]:
        return self.held

    def note(self, about: Json, reason: str, message: str, *, warning: bool) -> None:
        self.events.append((about["metadata"]["name"], f"{reason}: {message}"))

    def shown(self, name: str) -> list[Json] | None:
        status = self.balancer.services[name]["status"]
        return cast("list[Json] | None", status["loadBalancer"]["ingress"])


class StepBalancer(Balancer):
    """A balancer without a thread."""

    def __init__(self, around: Surroundings) -> None:
        super().__init__(cast(Api, around), NET, cast(Namespaces, around), cast(Recorder, around), threading.Event())
        self.reflector.synced.set()

    @property
    def services(self) -> dict[str, Json]:
        return self._services

    def tell(self, event: str, service: Json) -> None:
        """Let an event arrive, and settle."""
        if event != "DELETED":
            self.reflector._known[service["metadata"]["uid"]] = service
        self._seen(event, service)
        self.step_all()

    def step_all(self) -> None:
        while (act := self._ready()) is not None:
            act()
        self.settle()


def _service(name: str, shown: str = "", **spec: Any) -> Json:
    status: Json = {"loadBalancer": {"ingress": [{"ip": shown, "ipMode": "VIP"}] if shown else None}}
    metadata = {"name": name, "uid": name, "namespace": "shop"}
    return {"metadata": metadata, "spec": {"type": "LoadBalancer", **spec}, "status": status}


def test_a_service_gets_an_address_that_the_uplink_answers_for() -> None:
    around = Surroundings()
    around.balancer.tell("ADDED", _service("a"))
    assert around.held == {"10.88.7.8"}
    assert around.shown("a") == [{"ip": "10.88.7.8", "ipMode": "VIP"}]


def test_another_type_gives_it_back() -> None:
    around = Surroundings()
    around.balancer.tell("ADDED", _service("a"))
    around.balancer.tell("MODIFIED", _service("a", shown="10.88.7.8", type="ClusterIP"))
    assert around.held == set()
    assert around.shown("a") is None


def test_whoever_waits_gets_what_is_freed() -> None:
    around = Surroundings()
    for name in "abc":
        around.balancer.tell("ADDED", _service(name))
    around.balancer.tell("MODIFIED", _service("c"))
    assert around.events == [("c", "AllocationFailed: no load-balancer address is free: all 2 of the lab are taken")]
    around.balancer.tell("DELETED", _service("a"))
    assert around.shown("c") == [{"ip": "10.88.7.8", "ipMode": "VIP"}]
    assert around.held == {"10.88.7.8", "10.88.7.9"}


def test_after_a_restart_addresses_are_kept_and_those_of_nobody_dropped() -> None:
    around = Surroundings("10.88.7.8", "10.88.7.9")
    around.balancer.reflector._known["old"] = _service("old", shown="10.88.7.9")
    around.balancer._seen("ADDED", _service("new"))
    around.balancer._seen("ADDED", _service("old", shown="10.88.7.9"))
    around.balancer.step_all()
    assert around.shown("old") == [{"ip": "10.88.7.9", "ipMode": "VIP"}]
    assert around.shown("new") == [{"ip": "10.88.7.8", "ipMode": "VIP"}]


def test_an_address_of_nobody_is_dropped_at_the_start() -> None:
    around = Surroundings("10.88.7.9", "10.88.7.1")
    around.balancer.step_all()
    assert around.held == {"10.88.7.1"}


def test_a_wish_that_changes_moves_the_address() -> None:
    around = Surroundings()
    around.balancer.tell("ADDED", _service("a"))
    around.balancer.tell("MODIFIED", _service("a", shown="10.88.7.8", loadBalancerIP="10.88.7.9"))
    assert around.held == {"10.88.7.9"}
    assert around.shown("a") == [{"ip": "10.88.7.9", "ipMode": "VIP"}]


def test_a_control_plane_that_is_away_is_told_later() -> None:
    around = Surroundings()
    around.away = True
    around.balancer.tell("ADDED", _service("a"))
    assert around.shown("a") is None
    around.away = False
    around.balancer.step_all()
    assert around.shown("a") == [{"ip": "10.88.7.8", "ipMode": "VIP"}]
