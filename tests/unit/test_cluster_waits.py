"""Waits for objects watch and never poll; a watch that breaks is begun again, and one that is refused is told."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from edgegate.clock import Deadline
from edgegate.clusters.kinds import GATEWAY, SECRET, Ref
from edgegate.clusters.plane import ControlPlane, Manifest, is_true
from edgegate.errors import NeverReady, PlaneRefused
from kube_api import Handler, KubeApi, condition, serve

EDGE = Ref(GATEWAY, "edge", "a")
GATEWAYS = "/apis/gateway.networking.k8s.io/v1/namespaces/a/gateways"


@pytest.fixture
def both(tmp_path: Path) -> Iterator[tuple[KubeApi, ControlPlane]]:
    """Return an API and a client for it."""
    with serve(tmp_path) as made:
        yield made


@pytest.fixture
def api(both: tuple[KubeApi, ControlPlane]) -> KubeApi:
    return both[0]


@pytest.fixture
def plane(both: tuple[KubeApi, ControlPlane]) -> ControlPlane:
    return both[1]


def _programmed(found: Manifest | None) -> bool:
    return is_true(found, "Programmed")


def _later(change: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=change)
    thread.start()
    return thread


def test_delete_and_wait_returns_when_all_are_gone(api: KubeApi, plane: ControlPlane) -> None:
    manifest = EDGE.manifest({})
    manifest["metadata"]["finalizers"] = ["edge/guard"]
    api.write(manifest)
    marked = lambda: api.objects[EDGE]["metadata"].get("deletionTimestamp")  # noqa: E731 - three words

    def finalize() -> None:
        with api.changed:
            api.changed.wait_for(marked, timeout=5)
            api.remove(EDGE)

    thread = _later(finalize)
    plane.delete_and_wait(EDGE, Ref(SECRET, "none", "a"), within=5)
    thread.join()
    assert EDGE not in api.objects


def test_delete_and_wait_names_what_does_not_go(api: KubeApi, plane: ControlPlane) -> None:
    manifest = EDGE.manifest({})
    manifest["metadata"]["finalizers"] = ["edge/guard", "edge/other"]
    api.write(manifest)
    with pytest.raises(NeverReady) as raised:
        plane.delete_and_wait(EDGE, within=0.1)
    assert str(raised.value) == (
        "downstream: Gateway a/edge deleted: not within 100 ms; "
        "last seen: being deleted, finalizers: edge/guard, edge/other"
    )


def test_wait_returns_at_once_what_is_right_already(api: KubeApi, plane: ControlPlane) -> None:
    api.controllers.append(lambda manifest: condition(manifest, "Programmed"))
    api.write(EDGE.manifest({}))
    found = plane.wait(EDGE, _programmed, what="x", within=5)
    assert found is not None
    assert [asked.query.get("watch") for asked in api.asked if asked.path == GATEWAYS] == [None]


def test_wait_sees_a_creation_and_each_change(api: KubeApi, plane: ControlPlane) -> None:
    seen: list[int | None] = []

    def accept(found: Manifest | None) -> bool:
        number = None if found is None else found["spec"]["number"]
        seen.append(number)
        if number != 2:
            api.write(EDGE.manifest({"number": (number or 0) + 1}))
        return number == 2

    plane.wait(EDGE, accept, what="x", within=5)
    assert seen == [None, 1, 2]


def test_wait_for_an_end_sees_the_deletion(api: KubeApi, plane: ControlPlane) -> None:
    api.write(EDGE.manifest({}))

    def accept(found: Manifest | None) -> bool:
        if found is not None:
            api.remove(EDGE)
        return found is None

    assert plane.wait(EDGE, accept, what="x", within=5) is None


def test_wait_does_not_look_at_others(api: KubeApi, plane: ControlPlane) -> None:
    api.write(Ref(GATEWAY, "other", "a").manifest({}))
    api.write(Ref(GATEWAY, "edge", "b").manifest({}))
    with pytest.raises(NeverReady, match="last seen: no such object"):
        plane.wait(EDGE, lambda found: found, what="x", within=0.1)


def test_wait_that_runs_out_tells_the_conditions(api: KubeApi, plane: ControlPlane) -> None:
    api.controllers.append(lambda manifest: condition(manifest, "Programmed", "False", message="no address"))
    api.write(EDGE.manifest({}))
    with pytest.raises(NeverReady) as raised:
        plane.wait(EDGE, _programmed, what="edge programmed", within=0.1)
    assert str(raised.value) == (
        "downstream: edge programmed: not within 100 ms; last seen: Programmed=False (Test: no address)"
    )


def _gone(handler: Handler) -> None:
    """Say in the stream that the version is too old."""
    handler.begin_stream()
    handler.event("ERROR", {"kind": "Status", "code": 410, "message": "too old resource version"})
    handler.chunk(b"")


def _refused_as_gone(handler: Handler) -> None:
    handler.say(410, {"kind": "Status", "code": 410, "message": "too old resource version"})


def _broken(handler: Handler) -> None:
    """Break off in the middle of an event."""
    handler.begin_stream()
    handler.chunk(b'{"type": "MODIF')
    handler.hang_up()


def _ended(handler: Handler) -> None:
    handler.begin_stream()
    handler.chunk(b"")


@pytest.mark.parametrize("trouble", [_gone, _refused_as_gone, _broken, _ended])
def test_a_watch_that_does_not_go_on_is_begun_again(
    api: KubeApi, plane: ControlPlane, trouble: Callable[[Handler], None]
) -> None:
    def change(handler: Handler) -> None:
        api.write(EDGE.manifest({"number": 1}))
        trouble(handler)

    api.watches.append(change)
    found = plane.wait(EDGE, lambda found: found, what="x", within=5)
    assert (found or {})["spec"] == {"number": 1}


def test_a_watch_that_is_refused_is_told(api: KubeApi, plane: ControlPlane) -> None:
    api.watches.append(lambda handler: handler.say(403, {"message": "cannot watch gateways"}))
    with pytest.raises(PlaneRefused) as raised:
        plane.wait(EDGE, lambda found: found, what="x", within=5)
    assert str(raised.value) == f"downstream control plane refused GET {GATEWAYS}: 403: cannot watch gateways"


def test_a_watch_is_not_begun_without_time_left(api: KubeApi, plane: ControlPlane) -> None:
    """The list may have taken all of it."""
    assert list(plane.events(GATEWAYS, {}, Deadline.after(0))) == []


def test_a_silent_watch_ends_with_the_deadline(api: KubeApi, plane: ControlPlane) -> None:
    released = threading.Event()

    def silent(handler: Handler) -> None:
        handler.begin_stream()
        released.wait(5)

    api.watches.append(silent)
    deadline = Deadline.after(0.2)
    assert list(plane.events(GATEWAYS, {"resourceVersion": "1"}, deadline)) == []
    assert deadline.left() == 0
    released.set()
