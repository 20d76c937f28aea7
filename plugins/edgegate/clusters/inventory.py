"""Everything that a namespace holds, whatever kinds there are: what shows that something was left behind."""

from collections.abc import Iterator

from edgegate.clusters.kinds import Kind, Ref
from edgegate.clusters.plane import ControlPlane

_ALWAYS_THERE = (("ConfigMap", "kube-root-ca.crt"), ("ServiceAccount", "default"))
_NEVER_COUNTED = ("Event", "Endpoints")
"""Events tell what was; Endpoints follow their Service."""


def namespaced_kinds(plane: ControlPlane) -> list[Kind]:
    """Return the kinds of a control plane that live in namespaces and can be listed, each in one version.

    Not every version of a group has every kind of it: with `v1alpha1` preferred, HTTPProxy is in `v1alpha` only.
    """
    found: dict[tuple[str, str], Kind] = {}
    for version in ["v1", *_versions(plane)]:
        for kind in _of_version(plane, version):
            found.setdefault((version.rpartition("/")[0], kind.name), kind)
    return list(found.values())


def _versions(plane: ControlPlane) -> Iterator[str]:
    """Yield every version of every group, the preferred one of each first."""
    for group in plane.request("GET", "/apis")["groups"]:
        preferred = group["preferredVersion"]["groupVersion"]
        others = (one["groupVersion"] for one in group["versions"])
        yield from (preferred, *(one for one in others if one != preferred))


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
