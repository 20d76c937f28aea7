"""What keeps a run inside what it has made: every change of an attached cluster passes here."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from kubernetes import client, dynamic

from edgegate.clusters.kinds import NAMESPACE, Ref
from edgegate.clusters.plane import ControlPlane, Manifest
from edgegate.edge.backends import COLD_RESTART
from edgegate.errors import NotAllowed, NotShown

OBJECTS = "cluster-objects"
_READS = ("GET", "HEAD")
_ASKS = "/apis/authorization.k8s.io/"
"""Reviews are created, and nothing of them is kept."""
_INSIDE = re.compile(r"^/(?:api/[^/]+|apis/[^/]+/[^/]+)/namespaces/([^/]+)(?:/(.+))?$")
_NAMESPACES = "/api/v1/namespaces"


@dataclass
class Fence:
    """What a run may change: its namespaces, and what was allowed by name."""

    allow: frozenset[str] = frozenset()
    """What the user allows: `cold-restart`, `cluster-objects` …"""
    proxies: str = ""
    """Namespace of the proxies' pods, which a cold restart deletes."""
    made: set[str] = field(default_factory=set)
    """Namespaces of the run, and those that an operator makes for them."""

    def check(self, method: str, path: str) -> None:
        """Raise NotAllowed for a change of anything else."""
        if method in _READS or path.startswith(_ASKS):
            return
        if (method, path) == ("POST", _NAMESPACES):
            raise NotAllowed("to create a namespace without the run's mark")
        inside = _INSIDE.match(path)
        if inside is None:
            if OBJECTS not in self.allow:
                raise NotAllowed(f"{method} {path}, an object of no namespace", allow=OBJECTS)
        elif inside[1] not in self.made and not self._restarts(method, *inside.groups()):
            allow = COLD_RESTART if (inside[1], inside[2]) == (self.proxies, "pods") else ""
            raise NotAllowed(f"{method} {path}, in a namespace that this run has not made", allow=allow)

    def _restarts(self, method: str, namespace: str, rest: str | None) -> bool:
        """Tell whether a request is part of a cold restart that is allowed."""
        proxy = method == "DELETE" and namespace == self.proxies and bool(re.fullmatch(r"pods/[^/]+", rest or ""))
        return proxy and COLD_RESTART in self.allow


class FencedPlane(ControlPlane):
    """A control plane of somebody else's, on which a run changes nothing but what it has made."""

    def __init__(self, name: str, kubeconfig: Path, fence: Fence, mark: Mapping[str, Any], folder: Path) -> None:
        """Remember the fence.

        Args:
            name: `downstream` or `upstream`.
            kubeconfig: the user's, which is only read.
            fence: what may be changed.
            mark: labels and annotations by which namespaces of the run are known.
            folder: for what the client wants to keep.
        """
        super().__init__(name, kubeconfig)
        self.fence, self._mark, self._folder = fence, mark, folder

    @cached_property
    def client(self) -> client.ApiClient:
        """The official client. It sends nothing that the fence does not let through, whoever calls it."""
        made = super().client
        send, host = made.call_api, made.configuration.host

        def checked(method: str, url: str, *words: Any, **more: Any) -> Any:
            self.fence.check(method, url.removeprefix(host).partition("?")[0])
            return send(method, url, *words, **more)

        made.call_api = checked  # type: ignore[method-assign]
        return made

    @cached_property
    def dynamic(self) -> dynamic.DynamicClient:
        """The official dynamic client; nothing is written beside the user's kubeconfig."""
        return dynamic.DynamicClient(self.client, cache_file=str(self._folder / f"{self.name}.discovery"))

    def namespace(self, name: str, labels: Mapping[str, str] | None = None) -> Manifest:
        """Create a namespace that carries the run's mark, or change one that does.

        Raises:
            NotAllowed: there is one of that name which is not the run's.
        """
        ref = Ref(NAMESPACE, name)
        found = self.get(ref)
        if found is not None and not self._mark["labels"].items() <= (found["metadata"].get("labels") or {}).items():
            raise NotAllowed(f"{ref} of {self.name}, which was there before")
        manifest = ref.manifest()
        manifest["metadata"] |= {"labels": {**(labels or {}), **self._mark["labels"]}}
        manifest["metadata"] |= {"annotations": self._mark["annotations"]}
        self.fence.made.add(name)
        stored = self.apply(manifest)[0]
        # So does an operator call the namespace that it makes for this one on the edge cluster.
        self.fence.made.add(below(stored))
        return stored


class AbsentPlane(ControlPlane):
    """Stands for a control plane that the user has not named."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(name, Path())
        self._why = why

    @cached_property
    def client(self) -> client.ApiClient:
        """Nothing. Raises NotShown."""
        raise NotShown(self._why)


def below(namespace: Manifest) -> str:
    """Return the name of the namespace on the edge cluster that an operator makes for one of the customers'."""
    return f"ns-{namespace['metadata']['uid']}"
