"""A lab with one control plane and the node agent, for tests of pods; no Envoy Gateway in it."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgegate import pins as pin_files
from edgegate.artifacts import Store
from edgegate.clock import wait_until
from edgegate.clusters.kinds import EVENT, POD, Kind, Ref
from edgegate.clusters.plane import ControlPlane, Manifest, is_true
from edgegate.components import control_plane, etcd, node
from edgegate.components.bring_up import plane_of
from edgegate.components.control_plane import DOWNSTREAM
from edgegate.components.launch import Launch
from edgegate.lab import Lab, Tools, sandbox
from edgegate.resources import resource

PINS = ("kubernetes", "etcd", "bubblewrap")
PYTHON = str(Path(sys.executable).resolve())
IMAGES: dict[str, object] = {
    "shell:*": {"binary": "/bin/bash", "at": "/usr/local/bin/bash", "entry": ["/usr/local/bin/bash", "-c"], "id": "sh"},
    "python:3": {"binary": PYTHON, "at": PYTHON, "files": {sys.base_prefix: sys.base_prefix}},
}
# Not HTTPServer: it looks its own name up, and there is no DNS in this lab.
SERVER = (
    "import http.server as h, socketserver as s; s.TCPServer(('', 8080), h.SimpleHTTPRequestHandler).serve_forever()"
)
SECRET, CONFIG_MAP = Kind("v1", "Secret"), Kind("v1", "ConfigMap")


@dataclass(frozen=True)
class NodeLab:
    """The lab and its one control plane."""

    lab: Lab
    plane: ControlPlane

    def pod(self, name: str, *containers: Manifest, **spec: Any) -> Ref:
        """Create a pod in the default namespace; return its reference."""
        metadata = {"name": name, "namespace": "default", **spec.pop("metadata", {})}
        body = {"containers": list(containers), "terminationGracePeriodSeconds": 1, **spec}
        self.plane.create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": body})
        return Ref(POD, name, "default")

    def wait(self, ref: Ref, accept: Callable[[Manifest], object], what: str, within: float = 15.0) -> Manifest:
        """Return the object as soon as `accept` likes it."""
        found = self.plane.wait(ref, lambda seen: seen is not None and accept(seen), what=what, within=within)
        assert found is not None
        return found

    def ready(self, ref: Ref, within: float = 15.0) -> Manifest:
        """Return the pod once it is ready."""
        return self.wait(ref, lambda pod: is_true(pod, "Ready"), f"{ref.name} ready", within)

    def gone(self, ref: Ref, within: float = 15.0) -> None:
        """Return once the object is gone."""
        self.plane.wait(ref, lambda seen: seen is None, what=f"{ref.name} gone", within=within)

    def log(self, name: str, container: str = "c") -> str:
        """Return what a container has written."""
        file = self.lab.folder / "logs" / "pods" / f"default_{name}" / f"{container}.log"
        return file.read_text() if file.exists() else ""

    def says(self, name: str, text: str, container: str = "c", within: float = 5.0) -> None:
        """Return once that is all that a container has written."""
        what = f"{container} of {name} says {text!r}"
        wait_until(
            what, lambda: self.log(name, container) == text, deadline=within, last=lambda: self.log(name, container)
        )

    def tells(self, name: str, reason: str, within: float = 5.0) -> str:
        """Return the message of the first event with that reason about an object."""
        what, found = f"event {reason} about {name}", lambda: self.events(name).get(reason)
        return str(wait_until(what, found, deadline=within, every=0.1, last=lambda: self.events(name)))

    def events(self, name: str) -> dict[str, str]:
        """Return the events about an object: reason to message."""
        found = self.plane.list(EVENT, "default")
        return {one["reason"]: one["message"] for one in found if one["involvedObject"]["name"] == name}

    def config_map(self, name: str, **data: str) -> Ref:
        """Create or change a ConfigMap."""
        body = {"metadata": {"name": name, "namespace": "default"}, "data": data}
        self.plane.apply({"apiVersion": "v1", "kind": "ConfigMap", **body})
        return Ref(CONFIG_MAP, name, "default")

    def secret(self, name: str, **data: str) -> Ref:
        """Create or change a Secret."""
        body = {"metadata": {"name": name, "namespace": "default"}, "stringData": data}
        self.plane.apply({"apiVersion": "v1", "kind": "Secret", **body})
        return Ref(SECRET, name, "default")


def shell(script: str, name: str = "c", **more: Any) -> Manifest:
    """Return a container that runs a shell script."""
    return {"name": name, "image": "shell", "args": [script], **more}


def state(pod: Manifest, name: str = "c") -> Manifest:
    """Return the status of one of a pod's containers."""
    status = pod["status"]
    every = status.get("initContainerStatuses", []) + status.get("containerStatuses", [])
    found: Manifest = next((one for one in every if one["name"] == name), {"state": {}, "restartCount": 0})
    return found


def start(folder: Path) -> NodeLab:
    """Bring such a lab up; it ends with its `lab.down()`."""
    sandbox.ensure_privileges()
    pins = pin_files.load(resource("pins.toml"))
    selection = pins.select({})
    artifacts = Store().ensure_all(pins, selection, PINS)
    lab = sandbox.create(folder / "lab", "node", tools=Tools(bwrap=str(artifacts["bubblewrap"].binary("bwrap"))))
    launch = Launch.new(lab, selection, artifacts)
    lab.start(etcd.spec(launch))
    lab.start(control_plane.api_server(launch, DOWNSTREAM))
    lab.start(node.spec(launch, IMAGES))
    lab.start(control_plane.controller_manager(launch, DOWNSTREAM))
    made = NodeLab(lab, plane_of(launch, DOWNSTREAM))
    account = Ref(Kind("v1", "ServiceAccount"), "default", "default")
    made.wait(account, lambda _: True, "service account of the default namespace")
    return made
