"""Secrets, ConfigMaps and tokens: asked fresh when a pod starts, remembered for when the control plane is away."""

import threading
from collections.abc import Callable

from edgegate.errors import PlaneRefused, PlaneUnreachable
from edgegate.lab.node.kube import Api, Json, Reflector

PATHS = {"Secret": "secrets", "ConfigMap": "configmaps"}
WITHIN = 3.0
"""Seconds that an object is waited for; then the remembered one is used."""


class Objects:
    """The Secrets and ConfigMaps of the control plane."""

    def __init__(self, api: Api, changed: Callable[[str, str, str], None], stop: threading.Event) -> None:
        self._api, self._changed = api, changed
        self._known: dict[tuple[str, str, str], Json] = {}
        self.reflectors = [Reflector(api, f"/api/v1/{plural}", self._seen, stop) for plural in PATHS.values()]
        """What keeps it informed; to be started by the agent."""

    def get(self, kind: str, space: str, name: str) -> Json | None:
        """Return the object as it is now; as it was last seen while the control plane does not answer."""
        path = f"/api/v1/namespaces/{space}/{PATHS[kind]}/{name}"
        try:
            found = self._api.get(path, within=WITHIN)
        except (PlaneUnreachable, PlaneRefused):  # no answer, or none but that etcd gives none
            found = self._known.get((kind, space, name))
            if found is None:
                raise
        return found

    def token(self, pod: Json, audience: str, seconds: int) -> str:
        """Return a token of the pod's service account, bound to the pod."""
        metadata = pod["metadata"]
        account = pod["spec"].get("serviceAccountName") or "default"
        path = f"/api/v1/namespaces/{metadata['namespace']}/serviceaccounts/{account}/token"
        bound = {"apiVersion": "v1", "kind": "Pod", "name": metadata["name"], "uid": metadata["uid"]}
        spec: Json = {"expirationSeconds": seconds, "boundObjectRef": bound}
        spec["audiences"] = [audience] if audience else []
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
        return str(self._api.create(path, body)["status"]["token"])

    def _seen(self, event: str, item: Json) -> None:
        metadata = item["metadata"]
        key = (str(item["kind"]), str(metadata["namespace"]), str(metadata["name"]))
        before = self._known.pop(key, None)
        if event != "DELETED":
            self._known[key] = item
        if event == "DELETED" or not before or _version(before) != _version(item):
            self._changed(*key)


def _version(item: Json) -> str:
    return str(item["metadata"]["resourceVersion"])
