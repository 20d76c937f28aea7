"""As much of a Kubernetes API as our client uses, served by a thread: objects, watches, and every way to break them."""

import copy
import json
import socket
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import yaml

from edgegate.clusters import kinds
from edgegate.clusters.kinds import Kind, Ref
from edgegate.clusters.plane import ControlPlane, Manifest

CLUSTER_SCOPED = {"Namespace", "Node", "CustomResourceDefinition", "GatewayClass"}
KINDS = [kind for kind in vars(kinds).values() if isinstance(kind, Kind)]
Reply = tuple[int, Any]
"""Status and body."""
Broken = Callable[["Handler"], None]
"""What a watch does instead of working."""


def plural(kind: Kind) -> str:
    """Return the plural of one of our kinds."""
    name = kind.name.lower()
    return name[:-1] + "ies" if name.endswith(("cy", "xy")) else name + ("es" if name.endswith("s") else "s")


Event = tuple[int, str, Manifest]
"""Version, type and object."""


@dataclass
class Asked:
    """One request that came in."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any


@dataclass
class KubeApi:
    """The objects of one control plane and what was asked of it."""

    objects: dict[Ref, Manifest] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)
    refusals: dict[tuple[str, str], Reply] = field(default_factory=dict)
    """Method and path to the status and body that it is refused with."""
    texts: dict[str, str] = field(default_factory=dict)
    """Path to what is answered there, whatever the query."""
    watches: deque[Broken] = field(default_factory=deque)
    """What the next watches do instead of working."""
    denied: set[tuple[str, str]] = field(default_factory=set)
    """Verb and resource that reviews of access say no to."""
    controllers: list[Callable[[Manifest], None]] = field(default_factory=list)
    """Each may change an object that was written, before anybody sees it."""
    on_removal: Callable[[Ref], object] = lambda ref: None
    """What a controller does when an object is gone."""
    version: int = 100
    history: list[Event] = field(default_factory=list)
    changed: threading.Condition = field(default_factory=threading.Condition)
    ended: bool = False

    def write(self, manifest: Manifest) -> Manifest:
        """Store an object as its writer gave it, let the controllers at it, and tell the watches."""
        with self.changed:
            ref = Ref.of(manifest)
            kind = "MODIFIED" if ref in self.objects else "ADDED"
            stored = copy.deepcopy(manifest)
            stored["metadata"].setdefault("uid", f"uid-{self.version}")
            for controller in self.controllers:
                controller(stored)
            self._tell(kind, stored)
            self.objects[ref] = stored
            return stored

    def remove(self, ref: Ref) -> None:
        """Take an object away, and a namespace with all that it holds."""
        with self.changed:
            self._tell("DELETED", self.objects.pop(ref))
            if ref.kind == kinds.NAMESPACE:
                for inside in [one for one in self.objects if one.namespace == ref.name]:
                    self.remove(inside)
            self.on_removal(ref)

    def _tell(self, kind: str, manifest: Manifest) -> None:
        self.version += 1
        manifest["metadata"]["resourceVersion"] = str(self.version)
        self.history.append((self.version, kind, copy.deepcopy(manifest)))
        self.changed.notify_all()

    def since(self, version: int, wanted: Callable[[Manifest], bool], patience: float) -> list[Event]:
        """Return the events after a version, as soon as there are some; none when it ends or takes too long."""

        def news() -> list[Event]:
            return [event for event in self.history if event[0] > version and wanted(event[2])]

        with self.changed:
            self.changed.wait_for(lambda: news() or self.ended, timeout=patience)
            return [] if self.ended else news()

    def requests(self, method: str = "") -> list[str]:
        """Return method and path of what was asked, discovery left out, narrowed to a method."""
        return [
            f"{one.method} {one.path}"
            for one in self.asked
            if one.method.startswith(method) and one.path not in {kind.group_path for kind in KINDS}
        ]


class Handler(BaseHTTPRequestHandler):
    """Answers one client."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # otherwise each answer waits 40 ms for an acknowledgement
    server: "_Server"

    def do_GET(self) -> None:
        """Read objects, the list of kinds, or the version; or watch."""
        asked = self._note()
        kind, namespace, name, _ = _parse(asked.path)
        if kind and not name and "watch" in asked.query and not self._refusal(asked):
            return self._watch(asked, _wanted(kind, namespace, asked.query))
        return self.say(*(self._refusal(asked) or self._read(asked)))

    def _read(self, asked: Asked) -> Reply:
        api = self.server.api
        kind, namespace, name, _ = _parse(asked.path)
        if asked.path in api.texts:
            return 200, api.texts[asked.path]
        if asked.path == "/version":
            return 200, {"gitVersion": "v1.35.4"}
        if kind is None:
            return 200, {"resources": list(_resources(asked.path))}
        if name:
            return self._one(Ref(kind, name, namespace), lambda found: found)
        with api.changed:
            wanted = _wanted(kind, namespace, asked.query)
            items = [one for one in api.objects.values() if wanted(one)]
            # As a real one does: the list says what its items are, and they do not.
            items = [{key: one[key] for key in one if key not in ("apiVersion", "kind")} for one in items]
            return 200, {"items": items, "metadata": {"resourceVersion": str(api.version)}}

    def do_POST(self) -> None:
        """Create; a review of access is answered, and not stored."""
        asked = self._note()
        if asked.path.endswith("/selfsubjectaccessreviews"):
            wanted = asked.body["spec"]["resourceAttributes"]
            allowed = (wanted["verb"], wanted["resource"]) not in self.server.api.denied
            return self.say(*(self._refusal(asked) or (201, {"status": {"allowed": allowed}})))
        exists = 409, {"message": f"{asked.body['metadata']['name']} already exists"}
        found = Ref.of(asked.body) in self.server.api.objects
        return self.say(*(self._refusal(asked) or (exists if found else (201, self.server.api.write(asked.body)))))

    def do_PATCH(self) -> None:
        """Apply, or merge."""
        asked, write = self._note(), self.server.api.write
        kind, namespace, name, _ = _parse(asked.path)
        assert kind
        ref = Ref(kind, name, namespace)
        if refusal := self._refusal(asked):
            self.say(*refusal)
        elif "apply" in asked.headers["content-type"]:
            self.say(200, write(_merged(self.server.api.objects.get(ref, {}), asked.body)))
        else:
            self.say(*self._one(ref, lambda found: write(_merged(found, asked.body))))

    def do_PUT(self) -> None:
        """Replace, if nobody else has written meanwhile."""
        asked, api = self._note(), self.server.api
        with api.changed:
            held = api.objects.get(Ref.of(asked.body), {"metadata": {}})["metadata"].get("resourceVersion")
            stale = held != asked.body["metadata"].get("resourceVersion")
            conflict = 409, {"message": "the object has been modified"}
            reply = self._refusal(asked) or (conflict if stale else (200, api.write(asked.body)))
        self.say(*reply)

    def do_DELETE(self) -> None:
        """Delete; an object with finalizers is only marked."""
        asked = self._note()
        kind, namespace, name, _ = _parse(asked.path)
        assert kind
        self.say(*(self._refusal(asked) or self._one(Ref(kind, name, namespace), self._deleted)))

    def _deleted(self, found: Manifest) -> Manifest:
        if found["metadata"].get("finalizers"):
            return self.server.api.write(_merged(found, {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}))
        self.server.api.remove(Ref.of(found))
        return {"status": "Success"}

    def _one(self, ref: Ref, then: Callable[[Manifest], Manifest]) -> Reply:
        found = self.server.api.objects.get(ref)
        if found is None:
            return 404, {"message": f'{plural(ref.kind)} "{ref.name}" not found', "status": "Failure"}
        return 200, then(found)

    def _watch(self, asked: Asked, wanted: Callable[[Manifest], bool]) -> None:
        api = self.server.api
        if api.watches:
            return api.watches.popleft()(self)
        self.begin_stream()
        version = int(asked.query["resourceVersion"])
        while events := api.since(version, wanted, float(asked.query["timeoutSeconds"])):
            version = events[-1][0]
            for _, kind, manifest in events:
                self.event(kind, manifest)
        return self.chunk(b"")

    def _refusal(self, asked: Asked) -> Reply | None:
        return self.server.api.refusals.get((asked.method, asked.path))

    def _note(self) -> Asked:
        url = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        query = {key: values[0] for key, values in parse_qs(url.query).items()}
        headers = {key.lower(): value for key, value in self.headers.items()}
        asked = Asked(self.command, url.path, query, headers, json.loads(body) if body else None)
        self.server.api.asked.append(asked)
        return asked

    def say(self, status: int, body: Any) -> None:
        """Send a whole answer."""
        content = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def begin_stream(self) -> None:
        """Begin the answer to a watch."""
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def event(self, kind: str, manifest: Manifest) -> None:
        """Send one event of a watch, in two pieces that end anywhere."""
        line = json.dumps({"type": kind, "object": manifest}).encode() + b"\n"
        self.chunk(line[:7])
        self.chunk(line[7:])

    def chunk(self, content: bytes) -> None:
        """Send a piece of a stream; an empty one ends it."""
        self.wfile.write(b"%x\r\n%s\r\n" % (len(content), content))

    def hang_up(self) -> None:
        """Close the connection in the middle of whatever was going on."""
        self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class calls it that
        """Keep quiet."""


class _Server(ThreadingHTTPServer):
    daemon_threads = False  # so that closing waits for them: other tests count threads

    def __init__(self, api: KubeApi) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.api = api
        self.accepted: list[socket.socket] = []

    def get_request(self) -> tuple[socket.socket, Any]:
        """Accept a connection, and remember it."""
        connection, address = super().get_request()
        self.accepted.append(connection)
        return connection, address

    def hang_up(self) -> None:
        """End every connection, so that nobody waits for the next request on it."""
        for connection in self.accepted:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Keep quiet about clients that hang up."""


def _resources(group_path: str) -> Iterator[Manifest]:
    for kind in KINDS:
        if kind.group_path == group_path:
            namespaced = kind.name not in CLUSTER_SCOPED
            yield {"name": plural(kind), "kind": kind.name, "namespaced": namespaced}
            yield {"name": f"{plural(kind)}/status", "kind": kind.name, "namespaced": namespaced}


def _parse(path: str) -> tuple[Kind | None, str, str, str]:
    """Return kind, namespace, name and subresource of a path; what is not there is empty."""
    group = next((kind.group_path for kind in KINDS if path.startswith(f"{kind.group_path}/")), "")
    words = path.removeprefix(f"{group}/").split("/")
    namespace = ""
    if words[0] == "namespaces" and len(words) > 2:
        namespace, words = words[1], words[2:]
    kind = next((kind for kind in KINDS if kind.group_path == group and plural(kind) == words[0]), None)
    name, subresource, *_ = [*words[1:], "", ""]
    return kind, namespace, name, subresource


def _wanted(kind: Kind, namespace: str, query: dict[str, str]) -> Callable[[Manifest], bool]:
    name = query.get("fieldSelector", "").removeprefix("metadata.name=")
    labels = [pair.partition("=") for pair in query.get("labelSelector", "").split(",") if pair]

    def wanted(manifest: Manifest) -> bool:
        ref, own = Ref.of(manifest), manifest["metadata"].get("labels", {})
        right = ref.kind == kind and namespace in ("", ref.namespace) and name in ("", ref.name)
        return right and all(own.get(key) == value if equals else key in own for key, equals, value in labels)

    return wanted


def _merged(old: Any, new: Any) -> Any:
    if not (isinstance(old, dict) and isinstance(new, dict)):
        return copy.deepcopy(new)
    both = {**old, **{key: _merged(old.get(key), value) for key, value in new.items()}}
    return {key: value for key, value in both.items() if value is not None or key not in new}


@contextmanager
def serve(folder: Path, name: str = "downstream") -> Iterator[tuple[KubeApi, ControlPlane]]:
    """Serve an API while the block runs; give it and a client for it."""
    api = KubeApi()
    server = _Server(api)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    plane = ControlPlane(name, kubeconfig(folder / f"{name}.kubeconfig", server.server_port))
    try:
        yield api, plane
    finally:  # a thread that is left would keep a red run from ending
        with api.changed:
            api.ended = True
            api.changed.notify_all()
        plane.client.close()
        server.shutdown()
        server.hang_up()
        server.server_close()
        thread.join()


def kubeconfig(path: Path, port: int) -> Path:
    """Write a kubeconfig for a port of loopback."""
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "test",
        "clusters": [{"name": "test", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
        "users": [{"name": "admin", "user": {"token": "secret-token"}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "admin"}}],
    }
    path.write_text(yaml.safe_dump(content))
    return path


def condition(manifest: Manifest, kind: str, status: str = "True", **more: str) -> None:
    """Set a condition of an object, as a controller does."""
    found = {"type": kind, "status": status, "reason": "Test", "message": "", **more}
    manifest.setdefault("status", {})["conditions"] = [found]
