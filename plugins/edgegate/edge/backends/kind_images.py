"""The images of an edge's clusters: had before the start, and compared with what runs after it."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from edgegate import forms
from edgegate.artifacts import Progress
from edgegate.clusters.kinds import POD
from edgegate.clusters.plane import ControlPlane, Manifest
from edgegate.components import envoy_gateway, pods
from edgegate.components.pki import write_private
from edgegate.edge.opening import Plan
from edgegate.errors import WrongImage
from edgegate.kind import official
from edgegate.kind.engine import Engine
from edgegate.kind.images import COMPONENT_PINS, Image, Images, tags

_RECORD = "images.json"
"""File in an edge's folder: pin to reference and digest of its official image."""
_SHORT = len("sha256:") + 12
"""As much of a digest as `docker images` shows."""
_RUN = {"envoy": "envoy", "shutdown-manager": "envoy-gateway", pods.GATEWAY: "envoy-gateway", pods.DNS: "coredns"}
"""Container to the pin of its image."""


def had(plan: Plan, engine: Engine, progress: Progress) -> list[Image]:
    """Return the images of an edge, the node's first; they are made or pulled where they are not there.

    Raises:
        KindFault: an official image cannot be had.
    """
    images = Images(plan.settings.cache, plan.artifacts, progress)
    pins = [pin for pin in COMPONENT_PINS if pin in plan.artifacts]
    return [images.node(), *(_component(plan, engine, images, pin) for pin in pins)]


def _component(plan: Plan, engine: Engine, images: Images, name: str) -> Image:
    artifact = plan.artifacts[name]
    wanted = tags(plan.pins, artifact)
    if plan.settings.images == forms.BUILT:
        return images.component(name, wanted)
    origin, pin = plan.settings.origin("images"), plan.pins.pin(name)
    return official.image(images, engine, origin, pin, artifact.version, wanted)


def verify(engine: Engine, plane: ControlPlane, folder: Path, found: Sequence[Image]) -> None:
    """See that every pod of the edge runs the image that was loaded, and note which are official. Raises WrongImage."""
    expected = {image.name.removeprefix("official-"): image for image in found}
    for pod, container in _containers(plane):
        running, image = running_id(engine, pod, container), expected[_RUN[container]]
        if running != image.id:
            what = f"{pod['metadata']['name']}/{container}"
            raise WrongImage(what, expected=image.id, actual=running)
    pulled = {name: image.source for name, image in expected.items() if image.source}
    write_private(folder / _RECORD, json.dumps(pulled))


def _containers(plane: ControlPlane) -> Iterator[tuple[Manifest, str]]:
    for namespace in (envoy_gateway.NAMESPACE_NAME, "kube-system"):
        for pod in plane.list(POD, namespace):
            if "deletionTimestamp" not in pod["metadata"]:
                yield from ((pod, one["name"]) for one in pod["spec"]["containers"] if one["name"] in _RUN)


def running_id(engine: Engine, pod: Manifest, container: str) -> str:
    """Return the digest of the configuration of the image that a container really runs; empty when it runs none.

    A kubelet names the manifest of an image that was imported; the node's containerd has that, and what it leads to.
    """
    statuses = {one["name"]: one for one in pod.get("status", {}).get("containerStatuses", ())}
    told = str(statuses.get(container, {}).get("imageID", ""))
    _, at, manifest = told.partition("@")
    if not at:
        return told
    words = ("exec", pod["spec"]["nodeName"], "ctr", "--namespace=k8s.io", "content", "get", manifest)
    return str(json.loads(engine.run(*words).stdout)["config"]["digest"])


def versions(folder: Path) -> dict[str, str]:
    """Return the beginning of the digest by which a registry knows each official image of an edge."""
    record = folder / _RECORD
    pulled = json.loads(record.read_text()) if record.exists() else {}
    return {f"{name}-image": short(source.rpartition("@")[2]) for name, source in pulled.items()}


def short(digest: str) -> str:
    """Return as much of a digest as tells images apart."""
    return digest[:_SHORT]
