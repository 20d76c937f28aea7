"""One control plane seen as an API: apply, read, delete, and wait by watch."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlencode

import urllib3
from kubernetes import client, config, dynamic
from kubernetes.client.exceptions import ApiException

from edgegate.clock import Deadline, show_duration
from edgegate.clusters.kinds import NAMESPACE, Kind, Ref
from edgegate.clusters.status import conditions, is_true, summary
from edgegate.errors import NeverReady, PlaneRefused, PlaneUnreachable

__all__ = ["ControlPlane", "Manifest", "conditions", "is_true"]

Manifest = dict[str, Any]
FIELD_MANAGER = "edgegate"
_GONE, _CHANGES = 410, ("ADDED", "MODIFIED", "DELETED")


class _InTime(urllib3.Retry):
    """Tries again where a connection broke, but not where the time is up: each further try would have all of it."""

    def increment(self, *words: Any, **more: Any) -> Self:
        if isinstance(more.get("error"), urllib3.exceptions.TimeoutError):
            raise more["error"]
        return super().increment(*words, **more)


class ControlPlane:
    """A Kubernetes API, as its kubeconfig describes it.

    `client` is the official client for whoever wants typed calls; the methods here take and return manifests,
    because most kinds of the edge are custom resources that the official client has no classes for.
    """

    def __init__(self, name: str, kubeconfig: Path) -> None:
        self.name = name
        self.kubeconfig = kubeconfig
        self._plurals: dict[str, dict[str, tuple[str, bool]]] = {}

    def __repr__(self) -> str:
        return f"ControlPlane({self.name})"

    @cached_property
    def client(self) -> client.ApiClient:
        """The official client, with its own connections and no proxy, whatever the environment says."""
        settings = client.Configuration()
        config.load_kube_config(str(self.kubeconfig), client_configuration=settings)
        settings.proxy = None
        settings.connection_pool_maxsize = 16
        settings.retries = _InTime(3)
        return client.ApiClient(settings)

    @cached_property
    def dynamic(self) -> dynamic.DynamicClient:
        """The official dynamic client; its discovery cache stays beside the kubeconfig."""
        return dynamic.DynamicClient(self.client, cache_file=str(self.kubeconfig.with_suffix(".discovery")))

    def apply(self, *manifests: Mapping[str, Any]) -> list[Manifest]:
        """Apply each manifest server-side, overriding other managers; return what the server stored.

        Raises:
            PlaneRefused: the server answered with an error; names the object and gives the server's text.
            PlaneUnreachable: there was no answer.
        """
        return [self._apply(dict(manifest)) for manifest in manifests]

    def _apply(self, manifest: Manifest) -> Manifest:
        path = self.path(Ref.of(manifest))
        query = {"fieldManager": FIELD_MANAGER, "force": "true"}
        return self.request("PATCH", path, query=query, body=manifest, content="application/apply-patch+yaml")

    def create(self, manifest: Mapping[str, Any]) -> Manifest:
        """Create an object and return it as stored; refuses one that exists."""
        ref = Ref.of(dict(manifest))
        return self.request("POST", self.collection(ref.kind, ref.namespace), body=dict(manifest))

    def patch(self, ref: Ref, change: Mapping[str, Any], *, subresource: str = "") -> Manifest:
        """Merge a change into an object (or one of its subresources) and return the result."""
        path = self.path(ref) + (f"/{subresource}" if subresource else "")
        return self.request("PATCH", path, body=dict(change), content="application/merge-patch+json")

    def get(self, ref: Ref) -> Manifest | None:
        """Return the object, or None when there is none."""
        try:
            return self.request("GET", self.path(ref))
        except PlaneRefused as refusal:
            if refusal.status == 404:
                return None
            raise

    def list(self, kind: Kind, namespace: str = "", *, labels: str = "") -> list[Manifest]:
        """Return all objects of a kind, in one namespace or everywhere, narrowed by a label selector."""
        query = {"labelSelector": labels} if labels else {}
        found: list[Manifest] = self.request("GET", self.collection(kind, namespace), query=query)["items"]
        return found

    def delete(self, ref: Ref, *, grace: int | None = None) -> None:
        """Ask for an object's deletion; one that is gone already is fine. `grace` is in seconds."""
        query = {} if grace is None else {"gracePeriodSeconds": str(grace)}
        try:
            self.request("DELETE", self.path(ref), query=query)
        except PlaneRefused as refusal:
            if refusal.status != 404:
                raise

    def delete_and_wait(self, *refs: Ref, within: float = 30.0) -> None:
        """Delete objects and return when the server has none of them any more.

        Raises:
            NeverReady: one is still there after `within` seconds; names its finalizers.
        """
        for ref in refs:
            self.delete(ref)
        for ref in refs:
            self.wait(ref, lambda found: found is None, what=f"{ref} deleted", within=within)

    def wait(
        self, ref: Ref, accept: Callable[[Manifest | None], object], *, what: str, within: float = 30.0
    ) -> Manifest | None:
        """Return the object as soon as `accept` likes it (it gets None while there is none); watches, never polls.

        Raises:
            NeverReady: not within that many seconds; shows the conditions that were seen last.
        """
        deadline = Deadline.after(within)
        last: Manifest | None = None
        for last in self.follow(ref, deadline):
            if accept(last):
                return last
        raise NeverReady(f"{self.name}: {what}", limit=show_duration(within), last=summary(last))

    def follow(self, ref: Ref, deadline: Deadline) -> Iterator[Manifest | None]:
        """Yield an object's present state and then each change, None when it is gone, until the deadline.

        What it is like at the deadline is yielded last, so that nobody gives up without a look.
        """
        field = {"fieldSelector": f"metadata.name={ref.name}"}
        collection = self.collection(ref.kind, ref.namespace)
        while True:
            listed = self.request("GET", collection, query=field)
            yield listed["items"][0] if listed["items"] else None
            if deadline.left() <= 0:
                return
            version = listed["metadata"]["resourceVersion"]
            for kind, found in self.events(collection, {**field, "resourceVersion": version}, deadline):
                yield None if kind == "DELETED" else found

    def events(
        self,
        path: str,
        query: Mapping[str, str],
        deadline: Deadline,
        opened: Callable[[urllib3.BaseHTTPResponse], None] = lambda stream: None,
    ) -> Iterator[tuple[str, Manifest]]:
        """Yield `(type, object)` of a watch until the deadline, or until the server ends or breaks it off.

        `opened` is told the stream, so that another thread can end it with its `shutdown`.

        Raises:
            PlaneRefused: the server does not let us watch.
            PlaneUnreachable: there was no answer.
        """
        left = deadline.left()
        if left <= 0:
            return
        url = self._url(path, {**query, "watch": "1", "timeoutSeconds": str(int(left) + 1)})
        with self._translated("GET", path):
            answer = self.client.call_api("GET", url, self._headers(), _request_timeout=(5, left))
            stream = answer.response
            try:
                if answer.status >= 400 and answer.status != _GONE:
                    raise PlaneRefused(self.name, f"GET {path}", status=answer.status, text=_reason(answer.read()))
                opened(stream)
                for line in _lines(stream):
                    event = json.loads(line)
                    if event.get("type") not in _CHANGES:  # the version is too old: list again
                        return
                    yield event["type"], event["object"]
            except (urllib3.exceptions.ReadTimeoutError, urllib3.exceptions.ProtocolError):
                return
            finally:
                stream.close()

    def namespace(self, name: str, labels: Mapping[str, str] | None = None) -> Manifest:
        """Create a namespace with labels, or bring an existing one to that state."""
        manifest = Ref(NAMESPACE, name).manifest()
        manifest["metadata"]["labels"] = dict(labels or {})
        return self.apply(manifest)[0]

    def version(self) -> str:
        """Return the version that the API server itself reports, without its leading `v`."""
        return str(self.request("GET", "/version")["gitVersion"]).removeprefix("v")

    def path(self, ref: Ref) -> str:
        """Return the API path of one object."""
        return f"{self.collection(ref.kind, ref.namespace)}/{ref.name}"

    def collection(self, kind: Kind, namespace: str = "") -> str:
        """Return the API path of a kind, in one namespace or everywhere.

        Raises:
            PlaneRefused: the server does not serve this kind.
        """
        plural, namespaced = self._resource(kind)
        scope = f"/namespaces/{namespace}" if namespaced and namespace else ""
        return f"{kind.group_path}{scope}/{plural}"

    def _resource(self, kind: Kind) -> tuple[str, bool]:
        known = self._plurals.get(kind.api_version, {})
        if kind.name not in known:
            listed = self.request("GET", kind.group_path)["resources"]
            known = {r["kind"]: (r["name"], r["namespaced"]) for r in listed if "/" not in r["name"]}
            self._plurals[kind.api_version] = known
        if kind.name not in known:
            raise PlaneRefused(self.name, f"{kind.api_version} {kind.name}", status=404, text="kind is not served")
        return known[kind.name]

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Manifest | None = None,
        content: str = "application/json",
        within: float = 30.0,
    ) -> Manifest:
        """Send one request and return the JSON answer; for what the methods above do not cover.

        Raises:
            PlaneRefused: status 400 or above; `status` has the number.
            PlaneUnreachable: no answer within that many seconds.
        """
        answer = self.send(method, path, query=query, body=body, content=content, timeout=within)
        if answer.status >= 400:
            raise PlaneRefused(self.name, f"{method} {path}", status=answer.status, text=_reason(answer.data))
        found: Manifest = json.loads(answer.data)
        return found

    def send(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Manifest | None = None,
        content: str = "application/json",
        timeout: float | tuple[float, float] = 30.0,
    ) -> urllib3.BaseHTTPResponse:
        """Send one request and return the answer, whatever it is: not every path of a control plane speaks JSON.

        Raises:
            PlaneUnreachable: no answer within that many seconds, or those to connect and those for each wait.
        """
        # The client writes a JSON body itself, but passes one of any other type on only as text.
        payload = json.dumps(body) if body is not None and not content.endswith("json") else body
        with self._translated(method, path):
            answer = self.client.call_api(
                method, self._url(path, query or {}), self._headers(content), payload, _request_timeout=timeout
            )
            answer.read()
        found: urllib3.BaseHTTPResponse = answer.response
        return found

    def _url(self, path: str, query: Mapping[str, str]) -> str:
        return f"{self.client.configuration.host}{path}" + (f"?{urlencode(query)}" if query else "")

    def _headers(self, content: str = "application/json") -> dict[str, str]:
        token = self.client.configuration.get_api_key_with_prefix("BearerToken", alias="authorization")
        return {"Content-Type": content, "Accept": "application/json"} | ({"Authorization": token} if token else {})

    @contextmanager
    def _translated(self, method: str, path: str) -> Iterator[None]:
        try:
            yield
        except (urllib3.exceptions.HTTPError, ApiException, OSError) as trouble:
            raise PlaneUnreachable(self.name, f"{method} {path}", text=str(trouble)) from trouble


def _lines(stream: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the complete lines of a stream whose chunks may end anywhere."""
    rest = b""
    for chunk in stream:
        *whole, rest = (rest + chunk).split(b"\n")
        yield from (line for line in whole if line)


def _reason(text: bytes) -> str:
    """Return the message of a Kubernetes Status; the raw text where the body is none."""
    try:
        return str(json.loads(text).get("message"))
    except (ValueError, AttributeError):
        return text.decode(errors="replace")[:500]
