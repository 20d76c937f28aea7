"""A further project's plane is a copy of keys: the right ones, all of them, byte by byte."""

import base64
import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

from edgegate.components import control_plane, prefixes
from edgegate.components.copy_prefix import copy_prefix
from fakes import FakeLab, launch


class Etcd(BaseHTTPRequestHandler):
    """As much of etcd's JSON gateway as is used."""

    keys: dict[bytes, bytes]
    ranges: list[int]
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # otherwise each answer waits 40 ms for an acknowledgement

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        raw = {key: base64.b64decode(value) for key, value in body.items() if key != "limit"}
        answer = {"/v3/kv/put": self._put, "/v3/kv/range": self._range}[self.path](raw, int(body.get("limit", 0)))
        content = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _put(self, raw: dict[str, bytes], _: int) -> Any:
        self.keys[raw["key"]] = raw["value"]
        return {}

    def _range(self, raw: dict[str, bytes], limit: int) -> Any:
        found = sorted(key for key in self.keys if raw["key"] <= key < raw["range_end"])[:limit]
        self.ranges.append(len(found))
        pairs = [{"key": _text(key), "value": _text(self.keys[key])} for key in found]
        # Like etcd, which leaves out what is empty.
        pairs = [{name: value for name, value in pair.items() if value} for pair in pairs]
        return {"kvs": pairs} if pairs else {}

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class calls it that
        """Keep quiet."""


def _text(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


@pytest.fixture
def etcd() -> Iterator[ThreadingHTTPServer]:
    """Return a running etcd without keys."""
    Etcd.keys, Etcd.ranges = {}, []
    with ThreadingHTTPServer(("127.0.0.1", 0), Etcd) as server:
        server.daemon_threads = False  # so that closing waits for them: other tests count threads
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def _copy(etcd: ThreadingHTTPServer, source: str, target: str) -> int:
    return copy_prefix(f"http://127.0.0.1:{etcd.server_port}", source, target)


def test_keys_below_a_prefix_are_copied_and_no_others(etcd: ThreadingHTTPServer) -> None:
    Etcd.keys = {
        b"/template/a": b"1",
        b"/template/b/c": b"2",
        b"/template": b"3",
        b"/templates/a": b"4",
        b"/up/a": b"5",
    }
    assert _copy(etcd, "/template", "/project") == 2
    assert {key: value for key, value in Etcd.keys.items() if key.startswith(b"/project")} == {
        b"/project/a": b"1",
        b"/project/b/c": b"2",
    }


def test_a_plane_has_namespaces_of_its_own(etcd: ThreadingHTTPServer) -> None:
    Etcd.keys = {b"/t/namespaces/kube-system": b"1", b"/t/namespaced": b"2"}
    assert _copy(etcd, "/t", "/p") == 1
    assert b"/p/namespaces/kube-system" not in Etcd.keys


def test_values_are_bytes_and_may_be_empty(etcd: ThreadingHTTPServer) -> None:
    Etcd.keys = {b"/t/binary\xff": bytes(range(256)), b"/t/empty": b""}
    _copy(etcd, "/t", "/p")
    assert (Etcd.keys[b"/p/binary\xff"], Etcd.keys[b"/p/empty"]) == (bytes(range(256)), b"")


@pytest.mark.parametrize("count", [0, 199, 200, 201, 450])
def test_they_come_in_pages(etcd: ThreadingHTTPServer, count: int) -> None:
    Etcd.keys = {f"/t/{number:04}".encode(): b"x" for number in range(count)}
    assert _copy(etcd, "/t", "/p") == count
    assert sum(key.startswith(b"/p/") for key in Etcd.keys) == count
    assert max(Etcd.ranges) <= 200


def test_etcd_that_does_not_answer_is_told() -> None:
    with pytest.raises(httpx.HTTPError):
        copy_prefix("http://127.0.0.1:9", "/a", "/b")


def test_the_template_is_taken_from_the_upstream_plane_and_projects_from_the_template(tmp_path: Path) -> None:
    lab = FakeLab(tmp_path)
    made = launch(lab)
    prefixes.keep_template(made)
    prefixes.new_plane(made, control_plane.project("blue", 0))
    command = [sys.executable, "-m", "edgegate.components.copy_prefix", "http://127.0.0.1:2379"]
    assert lab.commands == [[*command, "/upstream", "/template"], [*command, "/template", "/blue"]]
