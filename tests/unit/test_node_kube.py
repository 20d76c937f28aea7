"""The API as the agent uses it."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import ThreadingTCPServer

import pytest
import yaml

from edgegate.clock import wait_until
from edgegate.errors import PlaneRefused, PlaneUnreachable
from edgegate.lab.node.kube import Api, Json, Reflector, lines


class Plane(ThreadingTCPServer):
    """A control plane that answers from a script and remembers what it was asked."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.answers: dict[str, list[tuple[int, bytes]]] = {}
        self.asked: list[tuple[str, str, str, Json]] = []

    def script(self, request: str, *answers: object, status: int = 200) -> None:
        """Answer a request with these bodies one after the other; the last one stays."""
        made = [one if isinstance(one, bytes) else json.dumps(one).encode() for one in answers]
        self.answers[request] = [(status, one) for one in made]


class _Answer(BaseHTTPRequestHandler):
    server: Plane

    def _any(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length) or b"{}")
        path, _, query = self.path.partition("?")
        self.server.asked.append((f"{self.command} {path}", query, self.headers.get("Content-Type") or "", body))
        script = self.server.answers.get(f"{self.command} {path}{'?watch' if 'watch=1' in query else ''}")
        status, answer = (404, b'{"message": "none"}') if not script else script[0]
        if script and len(script) > 1:
            script.pop(0)
        self.send_response(status)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    do_GET = do_POST = do_PATCH = do_DELETE = _any  # noqa: N815 - names of the base class

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def plane() -> Iterator[Plane]:
    with Plane() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def api(plane: Plane, tmp_path: Path) -> Api:
    port = plane.server_address[1]
    cluster = {"name": "c", "cluster": {"server": f"http://127.0.0.1:{port}"}}
    context = {"name": "c", "context": {"cluster": "c", "user": "u"}}
    users = [{"name": "u", "user": {"token": "t"}}]
    config = {"current-context": "c", "clusters": [cluster], "users": users, "contexts": [context]}
    (tmp_path / "kubeconfig").write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "Config", **config}))
    return Api(tmp_path / "kubeconfig")


def test_an_object_that_is_not_there_is_none(api: Api) -> None:
    assert api.get("/api/v1/nodes/lab") is None


def test_a_refusal_has_status_and_text(api: Api, plane: Plane) -> None:
    plane.script("POST /api/v1/nodes", {"message": "already exists"}, status=409)
    with pytest.raises(PlaneRefused) as caught:
        api.create("/api/v1/nodes", {"kind": "Node"})
    assert caught.value.status == 409
    assert str(caught.value) == "downstream control plane refused POST /api/v1/nodes: 409: already exists"


def test_no_answer_is_told_apart_from_a_refusal(tmp_path: Path, api: Api, plane: Plane) -> None:
    plane.script("GET /api/v1/pods", b"not json at all", status=500)
    with pytest.raises(PlaneRefused, match="not json at all"):
        api.get("/api/v1/pods")
    plane.server_close()
    plane.shutdown()
    with pytest.raises(PlaneUnreachable, match="did not answer GET /api/v1/pods"):
        api.get("/api/v1/pods")


def test_patches_are_strategic_unless_asked_otherwise(api: Api, plane: Plane) -> None:
    plane.script("PATCH /x", {})
    api.patch("/x", {"a": 1})
    api.patch("/x", {"a": None}, kind="merge")
    assert [(content, body) for _, _, content, body in plane.asked] == [
        ("application/strategic-merge-patch+json", {"a": 1}),
        ("application/merge-patch+json", {"a": None}),
    ]


def test_a_deletion_is_of_one_incarnation(api: Api, plane: Plane) -> None:
    plane.script("DELETE /x", {"message": "the UID in the precondition does not match"}, status=409)
    api.delete("/x", grace=0, uid="u")
    body = plane.asked[0][3]
    assert (body["gracePeriodSeconds"], body["preconditions"]) == (0, {"uid": "u"})


def test_lines_are_put_together_from_chunks() -> None:
    assert list(lines([b"a\nb", b"c\n", b"\n", b"rest"])) == [b"a", b"bc"]


def _pod(name: str, version: str = "1") -> Json:
    return {"metadata": {"name": name, "uid": name, "resourceVersion": version}}


def _event(kind: str, item: Json) -> bytes:
    return json.dumps({"type": kind, "object": item}).encode() + b"\n"


def _listed(*items: Json) -> Json:
    return {"apiVersion": "v1", "kind": "PodList", "metadata": {"resourceVersion": "10"}, "items": list(items)}


def test_a_reflector_lists_watches_and_lists_again_when_it_is_too_late(api: Api, plane: Plane) -> None:
    gone = {"kind": "Status", "code": 410, "metadata": {}}
    plane.script("GET /pods", _listed(_pod("a"), _pod("b")), _listed(_pod("b", "20")))
    first = _event("MODIFIED", _pod("a", "11")) + _event("BOOKMARK", _pod("", "15")) + _event("ERROR", gone)
    plane.script("GET /pods?watch", first, b"")
    seen: list[tuple[str, str, str]] = []
    stop = threading.Event()

    def note(kind: str, item: Json) -> None:
        seen.append((kind, item["metadata"]["name"], item["metadata"]["resourceVersion"]))

    reflector = Reflector(api, "/pods", note, stop)
    reflector.start()
    wait_until("second list", lambda: len(seen) == 5, deadline=5, last=lambda: seen)
    stop.set()
    reflector.join(5)

    expected = [("ADDED", "a", "1"), ("ADDED", "b", "1"), ("MODIFIED", "a", "11")]
    assert seen == [*expected, ("DELETED", "a", "11"), ("ADDED", "b", "20")]
    assert reflector.synced.is_set()
    assert reflector.known() == [{"apiVersion": "v1", "kind": "Pod", **_pod("b", "20")}]


def test_a_reflector_goes_on_from_the_last_version_it_saw(api: Api, plane: Plane) -> None:
    plane.script("GET /pods", _listed(_pod("a")))
    plane.script("GET /pods?watch", _event("BOOKMARK", _pod("", "15")), b"")
    stop = threading.Event()
    reflector = Reflector(api, "/pods", lambda kind, item: None, stop)
    reflector.start()

    def watched() -> list[str]:
        return [query for _, query, _, _ in plane.asked if "watch=1" in query]

    wait_until("second watch", lambda: len(watched()) >= 2, deadline=5)
    stop.set()
    reflector.join(5)
    assert ("resourceVersion=10" in watched()[0], "resourceVersion=15" in watched()[1]) == (True, True)


def test_a_reflector_waits_for_a_control_plane_that_is_away(api: Api, plane: Plane) -> None:
    stop = threading.Event()
    reflector = Reflector(api, "/pods", lambda kind, item: None, stop)
    reflector.start()
    wait_until("two lists", lambda: len(plane.asked) >= 2, deadline=5)
    assert not reflector.synced.is_set()
    plane.script("GET /pods", _listed())
    plane.script("GET /pods?watch", b"")
    assert reflector.synced.wait(5)
    stop.set()
    reflector.join(5)
