"""The real operator's images on clusters of kind: had, loaded, compared with what runs, and looked after."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from edgegate.artifacts import Progress
from edgegate.clusters.kinds import Ref
from edgegate.clusters.plane import ControlPlane, Manifest
from edgegate.components import operator, operator_pods, pod_trouble, pods
from edgegate.components.bring_up import Planes
from edgegate.components.control_plane import UPSTREAM
from edgegate.components.nso_config import AGENT, EXTENSION, OPERATOR, REPLICATOR
from edgegate.components.operator_manifests import NAMESPACE_NAME, reference
from edgegate.edge.backends.kind_images import running_id, short
from edgegate.edge.opening import Plan
from edgegate.edge.versions import linked
from edgegate.errors import WrongImage
from edgegate.kind import given
from edgegate.kind.engine import Engine
from edgegate.kind.images import Image, Images

_PROGRAMS = {
    OPERATOR: "network-services-operator",
    EXTENSION: "network-services-operator",
    REPLICATOR: "dns-operator",
    AGENT: "dns-operator",
}
"""Each Deployment, and the image that it runs, as the report names it."""


def wanted(plan: Plan) -> bool:
    """Tell whether an edge has the real operator as pods."""
    return plan.parts.operator.in_pods and operator.NAME in plan.parts.chosen


def images(plan: Plan, engine: Engine, progress: Progress) -> list[Image]:
    """Return the images of both programs as archives; none where the edge does not have them as pods.

    Raises:
        ImageMissing, ImageUnusable: one cannot be had, or cannot run here.
    """
    if not wanted(plan):
        return []
    made = Images(plan.settings.cache, plan.artifacts, progress)
    asked = zip(("operator", "dns_operator_image"), plan.parts.operator.images, _names(), strict=True)
    return [given.image(made, engine, plan.settings.origin(origin), text, name) for origin, text, name in asked]


def _names() -> list[str]:
    return list(dict.fromkeys(_PROGRAMS.values()))


def with_images(plan: Plan, found: Sequence[Image]) -> Plan:
    """Return a plan whose operator is known by the names that the nodes have for its images."""
    choice = replace(plan.parts.operator, on_nodes=tuple(image.tags[0] for image in found))
    return replace(plan, parts=replace(plan.parts, operator=choice))


def verify(engine: Engine, planes: Planes, found: Sequence[Image]) -> None:
    """See that every pod runs the image that was named. Raises WrongImage."""
    expected = {image.name: image.id for image in found}
    for name, running in running_ids(engine, planes).items():
        if running != expected[_PROGRAMS[name]]:
            raise WrongImage(name, expected=expected[_PROGRAMS[name]], actual=running)


def running_ids(engine: Engine, planes: Planes) -> dict[str, str]:
    """Return the digest of the configuration of the image that each of them really runs, by its Deployment."""
    return {name: running_id(engine, pod, name) for name, pod in _pods(planes)}


def _pods(planes: Planes) -> list[tuple[str, Manifest]]:
    found = [(name, pod) for name in _PROGRAMS for pod in pods.of(_plane(planes, name), NAMESPACE_NAME, name)]
    return [(name, pod) for name, pod in found if "deletionTimestamp" not in pod["metadata"]]


def _plane(planes: Planes, name: str) -> ControlPlane:
    return planes.upstream if operator_pods.WHERE[name] == UPSTREAM else planes.downstream


def deployment(planes: Planes, component: str) -> tuple[ControlPlane, Ref] | None:
    """Return the Deployment that a component is, and its cluster; None where it is none of the operator's."""
    if component not in _PROGRAMS:
        return None
    return _plane(planes, component), reference(component)


def versions(engine: Engine, planes: Planes) -> dict[str, str]:
    """Return what each program says of itself, and the beginning of the digest of the image that it runs from."""
    found = {f"{_PROGRAMS[name]}-image": short(digest) for name, digest in running_ids(engine, planes).items()}
    for name, pod in _pods(planes):
        if said := linked(pod_trouble.head(_plane(planes, name), pod, name).encode()):
            found[_PROGRAMS[name]] = said
    return found


def tells(planes: Planes) -> Mapping[str, Callable[[], str]]:
    """Return what each of them has written lately, by file name."""
    return {f"{name}.txt": partial(_log, planes, name) for name in _PROGRAMS}


def _log(planes: Planes, name: str) -> str:
    plane = _plane(planes, name)
    return "".join(pod_trouble.log(plane, pod, name, tailLines="400") for pod in pods.of(plane, NAMESPACE_NAME, name))
