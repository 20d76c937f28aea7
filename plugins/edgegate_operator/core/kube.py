"""One API server as the operator uses it: get, list, watch, create, apply, delete on plain objects.

The official client supplies kubeconfig, TLS and the connection pool. Objects stay dictionaries: turning each watch
event into model classes and back costs more CPU than all decisions together.
"""

import json
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import urllib3
import yaml
from kubernetes import client, config

from edgegate_operator.kinds import Kind, Obj, key_of, kind_of

CONNECTIONS = 64
"""Connections that are kept open to one API server: one a watch and some for workers."""
TIMEOUT = urllib3.Timeout(connect=5, read=30)
"""Seconds for a call that is not a watch."""
WATCH_SECONDS = 290
"""Length of one watch request; the API server then ends it and the next one goes on from there."""


class ApiError(Exception):
    """The API server refused a call, or could not be reached (status 0)."""

    def __init__(self, call: str, status: int, message: str) -> None:
        super().__init__(f"{call}: {status or 'no answer'}: {message}")
        self.call, self.status, self.message = call, status, message


class NotFound(ApiError):
    """The object or its kind does not exist."""


class Conflict(ApiError):
    """The object changed in the meantime, or exists already."""


class Gone(ApiError):
    """The resource version asked for is too old: list again."""


class BadKubeconfig(Exception):
    """A kubeconfig that leads nowhere; the text has file and reason."""


_BY_STATUS = {404: NotFound, 409: Conflict, 410: Gone}


def _error(call: str, status: int, body: bytes) -> ApiError:
    try:
        message = str(json.loads(body)["message"])
    except (ValueError, KeyError, TypeError):
        message = body[:300].decode(errors="replace")
    return _BY_STATUS.get(status, ApiError)(call, status, message)


class Watch:
    """A running watch: an iterator over (type, object) that another thread may close."""

    def __init__(self, response: urllib3.BaseHTTPResponse) -> None:
        self._response = response
        connection = getattr(response, "connection", None)
        self._socket: socket.socket | None = getattr(connection, "sock", None)

    def __iter__(self) -> Iterator[tuple[str, Obj]]:
        rest = b""
        try:
            for chunk in self._response.stream(65536, decode_content=False):
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    event = json.loads(line)
                    yield event["type"], event["object"]
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise ApiError("WATCH", 0, str(error)) from error

    def close(self) -> None:
        """End the watch now, also while a thread waits for its next event."""
        if self._socket is not None:
            try:
                self._socket.shutdown(socket.SHUT_RDWR)
            except OSError:
                return  # the other side was quicker


class Cluster:
    """An API server, addressed through one context of a kubeconfig."""

    def __init__(self, name: str, kubeconfig: Path) -> None:
        """Read the kubeconfig; nothing is called yet.

        Raises:
            BadKubeconfig: it cannot be read or used.
        """
        self.name = name
        settings = client.Configuration()
        try:
            config.load_kube_config(str(kubeconfig), client_configuration=settings)
        except (config.ConfigException, OSError, yaml.YAMLError) as error:
            raise BadKubeconfig(f"{kubeconfig}: not a usable kubeconfig: {error}") from error
        settings.connection_pool_maxsize = CONNECTIONS
        settings.retries = False
        settings.proxy = None  # the client takes HTTPS_PROXY from the environment; an edge is never behind it
        self._api = client.ApiClient(settings)
        self._host = settings.host
        self._pool: urllib3.PoolManager = self._api.rest_client.pool_manager

    def _headers(self) -> dict[str, str]:
        headers = {"Accept": "application/json", "User-Agent": "edgegate-operator"}
        self._api.update_params_for_auth(headers, [], ["BearerToken"], "", "GET", None)
        return headers

    def _call(
        self, verb: str, path: str, query: Mapping[str, str] | None = None, body: Any = None, content: str = "json"
    ) -> Obj:
        call = f"{verb} {path} on {self.name}"
        url = self._host + path + ("?" + urlencode(query) if query else "")
        headers = self._headers() | {"Content-Type": f"application/{content}"}
        data = None if body is None else json.dumps(body)
        try:
            answer = self._pool.request(verb, url, body=data, headers=headers, timeout=TIMEOUT, retries=False)
        except urllib3.exceptions.HTTPError as error:
            raise ApiError(call, 0, str(error)) from error
        if answer.status >= 400:
            raise _error(call, answer.status, answer.data)
        found: Obj = json.loads(answer.data)
        return found

    def get(self, kind: Kind, namespace: str, name: str) -> Obj:
        """Return one object.

        Raises:
            NotFound: it does not exist.
        """
        return self._call("GET", kind.path(namespace, name))

    def list(self, kind: Kind, selector: str = "") -> tuple[list[Obj], str]:
        """Return all objects of a kind and the resource version of that answer.

        Raises:
            NotFound: this API server does not serve the kind.
        """
        answer = self._call("GET", kind.path(), {"labelSelector": selector} if selector else None)
        items: list[Obj] = answer.get("items") or []
        for item in items:
            item["apiVersion"], item["kind"] = kind.api_version, kind.kind
        return items, answer["metadata"]["resourceVersion"]

    def watch(self, kind: Kind, version: str, selector: str = "") -> Watch:
        """Start a watch from a resource version on.

        Raises:
            Gone: that version is too old.
        """
        query = {"watch": "1", "resourceVersion": version, "allowWatchBookmarks": "true"}
        query["timeoutSeconds"] = str(WATCH_SECONDS)
        url = self._host + kind.path() + "?" + urlencode(query | ({"labelSelector": selector} if selector else {}))
        limit = urllib3.Timeout(connect=5, read=WATCH_SECONDS + 30)
        call = f"WATCH {kind.path()} on {self.name}"
        try:
            answer = self._pool.request(
                "GET", url, headers=self._headers(), timeout=limit, retries=False, preload_content=False
            )
        except urllib3.exceptions.HTTPError as error:
            raise ApiError(call, 0, str(error)) from error
        if answer.status >= 400:
            raise _error(call, answer.status, answer.read())
        return Watch(answer)

    def create(self, obj: Obj) -> Obj:
        """Create an object.

        Raises:
            Conflict: one of that name exists already.
        """
        return self._call("POST", kind_of(obj).path(key_of(obj)[0]), body=obj)

    def apply(self, obj: Obj, manager: str, sub: str = "") -> Obj:
        """Apply an object on the server's side; a manager's earlier fields that are missing now go away."""
        query = {"fieldManager": manager, "force": "true"}
        path = kind_of(obj).path(*key_of(obj), sub)
        return self._call("PATCH", path, query, body=obj, content="apply-patch+yaml")

    def delete(self, kind: Kind, namespace: str, name: str, uid: str = "") -> None:
        """Delete an object, if it still is the one with that uid. One that is gone already is fine."""
        body = {"preconditions": {"uid": uid}} if uid else {}
        try:
            self._call("DELETE", kind.path(namespace, name), body=body | {"propagationPolicy": "Background"})
        except NotFound:
            return

    def close(self) -> None:
        """Drop all connections."""
        self._pool.clear()
