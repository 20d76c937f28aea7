"""The API as the agent uses it: JSON objects in and out, over the official client's connections.

Pods come in as JSON and most of it is passed on as it is, so the client's classes would only be taken apart again;
they also cost about 60 ms of CPU for a list of 30 pods.
"""

import json
import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import urllib3
from kubernetes import client, config
from kubernetes.client.exceptions import ApiException

from edgegate.errors import PlaneRefused, PlaneUnreachable

LOG = logging.getLogger("edgegate.lab.node")
Json = dict[str, Any]
PLANE = "downstream"
WATCH_SECONDS = 300
"""A watch is renewed that often. The server ends it; the connection only breaks if that does not happen."""


class Api:
    """The control plane of one kubeconfig."""

    def __init__(self, kubeconfig: Path) -> None:
        settings = client.Configuration()
        config.load_kube_config(str(kubeconfig), client_configuration=settings)
        settings.proxy = None
        settings.retries = False
        settings.connection_pool_maxsize = 16
        self._client = client.ApiClient(settings)

    def request(
        self,
        method: str,
        path: str,
        body: Json | None = None,
        *,
        query: Mapping[str, str] | None = None,
        content: str = "application/json",
        within: float = 10.0,
    ) -> Json:
        """Send one request and return the JSON answer.

        Raises:
            PlaneRefused: status 400 or above; `status` has the number.
            PlaneUnreachable: no answer within that many seconds.
        """
        try:
            answer = self._client.call_api(
                method, self._url(path, query or {}), self._headers(content), body, _request_timeout=within
            )
            text = answer.read()
        except (urllib3.exceptions.HTTPError, ApiException, OSError) as trouble:
            raise PlaneUnreachable(PLANE, f"{method} {path}", text=str(trouble)) from trouble
        if answer.status >= 400:
            raise PlaneRefused(PLANE, f"{method} {path}", status=answer.status, text=_message(text))
        found: Json = json.loads(text)
        return found

    def get(self, path: str, *, within: float = 10.0) -> Json | None:
        """Return an object, or None when there is none."""
        try:
            return self.request("GET", path, within=within)
        except PlaneRefused as refusal:
            if refusal.status == 404:
                return None
            raise

    def create(self, path: str, body: Json) -> Json:
        """Create an object in a collection and return it as stored."""
        return self.request("POST", path, body)

    def patch(self, path: str, body: Json, *, kind: str = "strategic-merge", within: float = 10.0) -> Json:
        """Patch an object, by default as a kubelet does: lists of conditions are merged by type."""
        return self.request("PATCH", path, body, content=f"application/{kind}-patch+json", within=within)

    def delete(self, path: str, *, grace: int, uid: str) -> None:
        """Delete the object with that uid; one that is gone, or is another one by now, is fine."""
        options = {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": grace}
        try:
            self.request("DELETE", path, {**options, "preconditions": {"uid": uid}})
        except PlaneRefused as refusal:
            if refusal.status not in (404, 409):
                raise

    def watch(self, path: str, version: str) -> Iterator[tuple[str, Json]]:
        """Yield `(type, object)` from a version on, until the server or the connection ends the watch."""
        words = {"watch": "1", "resourceVersion": version, "timeoutSeconds": str(WATCH_SECONDS)}
        words["allowWatchBookmarks"] = "true"
        try:
            answer = self._client.call_api(
                "GET", self._url(path, words), self._headers(), _request_timeout=(5, WATCH_SECONDS + 10)
            )
            if answer.status >= 400:
                raise PlaneRefused(PLANE, f"watch {path}", status=answer.status, text=_message(answer.read()))
            yield from _events(answer.response)
        except (urllib3.exceptions.HTTPError, ApiException, OSError) as trouble:
            raise PlaneUnreachable(PLANE, f"watch {path}", text=str(trouble)) from trouble

    def _url(self, path: str, query: Mapping[str, str]) -> str:
        return f"{self._client.configuration.host}{path}" + (f"?{urlencode(query)}" if query else "")

    def _headers(self, content: str = "application/json") -> dict[str, str]:
        token = self._client.configuration.get_api_key_with_prefix("BearerToken", alias="authorization")
        return {"Content-Type": content, "Accept": "application/json"} | ({"Authorization": token} if token else {})


def _events(stream: Any) -> Iterator[tuple[str, Json]]:
    try:
        for line in lines(stream.stream(65536)):
            event = json.loads(line)
            yield event["type"], event["object"]
    finally:
        stream.close()


def lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the complete lines of a stream whose chunks may end anywhere."""
    rest = b""
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        yield from (line for line in whole if line)


def _message(text: bytes) -> str:
    try:
        return str(json.loads(text)["message"])
    except (ValueError, KeyError, TypeError):
        return text.decode(errors="replace")[:300]


class Reflector(threading.Thread):
    """Keeps a callback informed of every object of a collection: list, watch, and list again when that breaks.

    `seen(type, object)` gets ADDED for what a list shows, then what the watch says, and DELETED with the last known
    object for what vanished between two lists.
    """

    def __init__(self, api: Api, path: str, seen: Callable[[str, Json], None], stop: threading.Event) -> None:
        super().__init__(name=f"watch {path}", daemon=True)
        self._api, self._path, self._seen, self._stopping = api, path, seen, stop
        self._known: dict[str, Json] = {}
        self.synced = threading.Event()
        """Set once the first list has been passed on."""

    def run(self) -> None:
        """Follow the collection until told to stop; a control plane that is away is asked again every 0.2 s."""
        while not self._stopping.is_set():
            try:
                self._follow(self._list())
            except (PlaneUnreachable, PlaneRefused, ValueError, KeyError) as trouble:
                LOG.info("%s: listing again: %s", self.name, trouble)
                self._stopping.wait(0.2)

    def known(self) -> list[Json]:
        """Return every object that was seen and is not gone."""
        return list(self._known.values())

    def _list(self) -> str:
        listed = self._api.request("GET", self._path, within=30)
        kind = {"apiVersion": listed["apiVersion"], "kind": listed["kind"].removesuffix("List")}
        found = {item["metadata"]["uid"]: {**kind, **item} for item in listed["items"]}
        for uid in self._known.keys() - found.keys():
            self._seen("DELETED", self._known[uid])
        self._known = found
        for item in list(found.values()):
            self._seen("ADDED", item)
        self.synced.set()
        return str(listed["metadata"]["resourceVersion"])

    def _follow(self, version: str) -> None:
        while not self._stopping.is_set():
            for kind, item in self._api.watch(self._path, version):
                if kind == "ERROR":  # 410: the version is too old
                    return
                version = item["metadata"]["resourceVersion"]
                if kind != "BOOKMARK":
                    self._note(kind, item)

    def _note(self, kind: str, item: Json) -> None:
        uid = item["metadata"]["uid"]
        if kind == "DELETED":
            self._known.pop(uid, None)
        else:
            self._known[uid] = item
        self._seen(kind, item)
