"""Events, Secrets and ConfigMaps: what is written and what is remembered."""

import threading
from typing import Any, cast

import pytest

from edgegate.clock import wait_until
from edgegate.errors import PlaneRefused, PlaneUnreachable
from edgegate.lab.node.events import Recorder
from edgegate.lab.node.kube import Api, Json
from edgegate.lab.node.objects import Objects
from node_parts import pod


class Written:
    """A control plane that keeps what it is sent."""

    def __init__(self) -> None:
        self.created: list[tuple[str, Json]] = []
        self.patched: list[tuple[str, Json]] = []
        self.refuse = False
        self.away = False
        self.broken = False
        self.found: Json | None = None

    def create(self, path: str, body: Json) -> Json:
        if self.refuse:
            raise PlaneRefused("downstream", path, status=403, text="namespace is being terminated")
        self.created.append((path, body))
        return {**body, "status": {"token": "t0ken"}}

    def patch(self, path: str, body: Json) -> Json:
        self.patched.append((path, body))
        return body

    def get(self, path: str, *, within: float) -> Json | None:
        if self.away:
            raise PlaneUnreachable("downstream", path, text="timed out")
        if self.broken:
            raise PlaneRefused("downstream", path, status=500, text="etcdserver: request timed out")
        return self.found


def test_an_event_says_about_whom_and_the_same_one_is_counted() -> None:
    plane = Written()
    recorder = Recorder(cast(Api, plane), "lab")
    recorder.start()
    for _ in range(3):
        recorder.note(pod(), "Unhealthy", "probe failed", warning=True, container="c")
    wait_until("events", lambda: len(plane.patched) == 2, deadline=5)
    path, event = plane.created[0]
    assert path == "/api/v1/namespaces/shop/events"
    assert event["involvedObject"] == {
        "apiVersion": "v1",
        "kind": "Pod",
        "name": "web-1",
        "namespace": "shop",
        "uid": pod()["metadata"]["uid"],
        "fieldPath": "spec.containers{c}",
    }
    assert (event["type"], event["reason"], event["message"], event["count"]) == (
        "Warning",
        "Unhealthy",
        "probe failed",
        1,
    )
    assert [body["count"] for _, body in plane.patched] == [2, 3]


def test_an_event_that_is_refused_stops_nothing(caplog: pytest.LogCaptureFixture) -> None:
    plane = Written()
    recorder = Recorder(cast(Api, plane), "lab")
    plane.refuse = True
    recorder.start()
    recorder.note(pod(), "Started", "one")
    wait_until("warning", lambda: "event not written" in caplog.text, deadline=5)
    plane.refuse = False
    recorder.note(pod(), "Started", "two")
    wait_until("event", lambda: plane.created, deadline=5)


def _objects(plane: Written) -> tuple[Objects, list[Any]]:
    changes: list[Any] = []
    return Objects(cast(Api, plane), lambda *what: changes.append(what), threading.Event()), changes


def _secret(version: str) -> Json:
    return {"kind": "Secret", "metadata": {"name": "s", "namespace": "shop", "resourceVersion": version}}


def test_objects_are_asked_fresh_and_remembered_for_bad_times() -> None:
    plane = Written()
    objects, _ = _objects(plane)
    plane.found = _secret("9")
    assert objects.get("Secret", "shop", "s") == _secret("9")
    plane.away = True
    with pytest.raises(PlaneUnreachable):
        objects.get("Secret", "shop", "s")
    objects._seen("ADDED", _secret("1"))
    assert objects.get("Secret", "shop", "s") == _secret("1")
    plane.away, plane.broken = False, True
    assert objects.get("Secret", "shop", "s") == _secret("1")


def test_only_changes_are_passed_on() -> None:
    objects, changes = _objects(Written())
    for event, version in (("ADDED", "1"), ("ADDED", "1"), ("MODIFIED", "2"), ("DELETED", "2")):
        objects._seen(event, _secret(version))
    assert changes == [("Secret", "shop", "s")] * 3


def test_a_token_is_bound_to_its_pod() -> None:
    plane = Written()
    objects, _ = _objects(plane)
    assert objects.token(pod(serviceAccountName="edge"), "aud", 600) == "t0ken"
    path, body = plane.created[0]
    assert path == "/api/v1/namespaces/shop/serviceaccounts/edge/token"
    assert (body["spec"]["audiences"], body["spec"]["boundObjectRef"]["name"]) == (["aud"], "web-1")
