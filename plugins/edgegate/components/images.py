"""Container images and the pinned binaries that stand for them."""

from collections.abc import Iterable

from edgegate.artifacts import Artifact
from edgegate.clusters.plane import Manifest
from edgegate.components.launch import SYSTEM_TRUST, TRUST
from edgegate.pins import Pins

_RUN_BY_PODS = ("envoy", "envoy-gateway", "acmesolver")
_TAGS = ("v{}", "distroless-v{}")


def image_table(pins: Pins, artifacts: Iterable[Artifact]) -> Manifest:
    """Return image reference to what the node agent starts for it, for each artifact that pods can run."""
    return {
        f"{repository}:{tag.format(artifact.version)}": _image(artifact)
        for artifact in artifacts
        if artifact.name in _RUN_BY_PODS
        for repository in pins.pin(artifact.name).images
        for tag in _TAGS
    }


def _image(artifact: Artifact) -> Manifest:
    binary = str(artifact.binary(artifact.name))
    return {
        "binary": binary,
        "entry": [artifact.name],
        "env": dict(artifact.env),
        "files": {SYSTEM_TRUST: TRUST},
        "id": f"{artifact.name}@{artifact.path.name}",
    }
