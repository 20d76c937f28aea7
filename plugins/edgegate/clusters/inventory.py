"""Everything that a namespace holds, whatever kinds there are: what shows that something was left behind."""

from collections.abc import Iterator

from edgegate.clusters.kinds import Kind, Ref
from edgegate.clusters.plane import ControlPlane

_ALWAYS_THERE = (("ConfigMap", "kube-root-ca.crt"), ("ServiceAccount", "default"))
_NEVER_COUNTED = ("Event", "Endpoints")
"""Events tell what was; Endpoints follow their Service."""


def namespaced_kinds(plane: ControlPlane) -> list[Kind]:
    """Return the kinds of a control plane that live in namespaces and can be listed, each in one version."""
    groups = plane.request("GET", "/apis")["groups"]
    versions = ["v1", *(group["preferredVersion"]["groupVersion"] for group in groups)]
    return [kind for version in versions for kind in _of_version(plane, version)]


def _of_version(plane: ControlPlane, version: str) -> Iterator[Kind]:
    for one in plane.request("GET", Kind(version, "").group_path)["resources"]:
        if (
            one["namespaced"]
            and "list" in one["verbs"]
            and "/" not in one["name"]
            and one["kind"] not in _NEVER_COUNTED
        ):
            yield Kind(version, one["kind"])


def inventory(plane: ControlPlane, namespace: str, kinds: list[Kind]) -> list[Ref]:
    """Return the objects of those kinds in a namespace that Kubernetes has not made itself."""
    found = ((kind, one["metadata"]["name"]) for kind in kinds for one in plane.list(kind, namespace))
    return [Ref(kind, name, namespace) for kind, name in found if (kind.name, name) not in _ALWAYS_THERE]
