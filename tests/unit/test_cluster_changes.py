"""One stream tells every change of many objects, asks nothing twice, and can be ended from outside."""

import threading
from collections.abc import Iterator
from pathlib import Path
from queue import Queue

import pytest

from edgegate.clusters.changes import ObjectChanges
from edgegate.clusters.kinds import GATEWAY, Ref
from edgegate.clusters.plane import ControlPlane
from edgegate.errors import PlaneUnreachable
from kube_api import Handler, KubeApi, serve

GATEWAYS = "/apis/gateway.networking.k8s.io/v1/namespaces/a/gateways"
PATIENCE = 5.0


@pytest.fixture
def both(tmp_path: Path) -> Iterator[tuple[KubeApi, ControlPlane]]:
    """Return an API and a client for it."""
    with serve(tmp_path) as made:
        yield made


class _Reader:
    """Reads a stream in a thread."""

    def __init__(self, changes: ObjectChanges) -> None:
        self.names: Queue[str] = Queue()
        self._thread = threading.Thread(target=self._read, args=(changes,))
        self._thread.start()

    def _read(self, changes: ObjectChanges) -> None:
        for found in changes:
            self.names.put(found["metadata"]["name"])

    def next(self) -> str:
        return self.names.get(timeout=PATIENCE)

    def ended(self) -> bool:
        self._thread.join(PATIENCE)
        return not self._thread.is_alive()


def test_present_objects_then_changes_until_it_is_stopped(both: tuple[KubeApi, ControlPlane]) -> None:
    api, plane = both
    first, second = (Ref(GATEWAY, name, "a") for name in ("first", "second"))
    api.write(first.manifest())
    changes = ObjectChanges(plane, GATEWAY, "a")
    reader = _Reader(changes)
    assert reader.next() == "first"

    api.write(second.manifest())
    assert reader.next() == "second"
    api.write(first.manifest({"changed": True}))
    assert reader.next() == "first"
    api.remove(second)
    assert reader.next() == "second"

    changes.stop()
    assert reader.ended()
    assert api.requests() == [f"GET {GATEWAYS}"] * 2, "one list and one watch"


def test_stopped_before_it_began(both: tuple[KubeApi, ControlPlane]) -> None:
    changes = ObjectChanges(both[1], GATEWAY, "a")
    changes.stop()

    assert list(changes) == []


def test_a_silent_watch_is_stopped_at_once(both: tuple[KubeApi, ControlPlane]) -> None:
    api, plane = both
    opened, released = threading.Event(), threading.Event()

    def silent(handler: Handler) -> None:
        handler.begin_stream()
        opened.set()
        released.wait(PATIENCE)

    api.watches.append(silent)
    changes = ObjectChanges(plane, GATEWAY, "a")
    reader = _Reader(changes)
    assert opened.wait(PATIENCE)

    changes.stop()

    assert reader.ended()
    released.set()


def test_it_ends_with_its_time(both: tuple[KubeApi, ControlPlane]) -> None:
    assert list(ObjectChanges(both[1], GATEWAY, "a", within=0.2)) == []


def test_labels_narrow_it(both: tuple[KubeApi, ControlPlane]) -> None:
    api, plane = both
    for name in ("mine", "other"):
        manifest = Ref(GATEWAY, name, "a").manifest()
        manifest["metadata"]["labels"] = {"owner": name}
        api.write(manifest)

    found = list(ObjectChanges(plane, GATEWAY, "a", labels="owner=mine", within=0.2))

    assert [one["metadata"]["name"] for one in found] == ["mine"]


def test_a_server_that_is_gone_is_told(both: tuple[KubeApi, ControlPlane]) -> None:
    api, plane = both
    plane.collection(GATEWAY, "a")
    api.watches.append(lambda handler: handler.hang_up())

    def gone() -> None:
        for _ in ObjectChanges(plane, GATEWAY, "a"):
            pass

    api.watches.extend([lambda handler: handler.hang_up()] * 5)
    with pytest.raises(PlaneUnreachable):
        gone()
