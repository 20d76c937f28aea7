"""The versions of an edge that somebody else runs: asked from the control plane, from Envoy, and read off images."""

import re
from collections.abc import Iterable, Iterator, Mapping

from edgegate.clusters.kinds import POD
from edgegate.clusters.plane import ControlPlane, Manifest
from edgegate.edge.proxies import Proxy
from edgegate.errors import AdminUnreachable, PlaneRefused
from edgegate.records import Versions

IMAGES: Mapping[str, str] = {
    "envoyproxy/gateway": "envoy-gateway",
    "cert-manager-controller": "cert-manager",
    "external-dns": "external-dns",
    "network-services-operator": "network-services-operator",
    "dns-operator": "dns-operator",
}
"""How the repository of an image ends, to the component that it is."""
_TAG = re.compile(r":v?([^:@/]+)(?:@|$)")


def running(plane: ControlPlane, proxies: Iterable[Proxy]) -> Versions:
    """Return component name to running version; what cannot be seen from here is left out.

    Several proxies of different versions are told as such: `1.37.0 and 1.38.3`.
    """
    found = {"kubernetes": plane.version(), **_of_images(plane)}
    envoys = sorted(set(_envoys(proxies)))
    if envoys:
        found["envoy"] = " and ".join(envoys)
    return Versions(dict(sorted(found.items())))


def _envoys(proxies: Iterable[Proxy]) -> Iterator[str]:
    for proxy in proxies:
        try:
            with proxy.admin() as admin:
                yield admin.version()
        except AdminUnreachable:
            continue


def _of_images(plane: ControlPlane) -> dict[str, str]:
    try:
        pods = plane.list(POD)
    except PlaneRefused:
        return {}
    images = {container["image"] for pod in pods for container in _containers(pod)}
    return {name: version for image in sorted(images) for name, version in _of_image(image)}


def _containers(pod: Manifest) -> list[Manifest]:
    containers: list[Manifest] = pod["spec"].get("containers") or []
    return containers


def _of_image(image: str) -> Iterator[tuple[str, str]]:
    tag = _TAG.search(image)
    repository = image.partition("@")[0].rpartition(":")[0]
    for ending, name in IMAGES.items():
        if tag and repository.endswith(ending):
            yield name, tag[1]
