"""Bring an edge up: which steps there are, and which needs which."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from edgegate.clusters.plane import ControlPlane, Manifest
from edgegate.components import cluster_dns, control_plane, envoy_gateway, etcd, kube_proxy, node, prefixes
from edgegate.components.base_state import BaseStates, apply_crds, crds
from edgegate.components.control_plane import DOWNSTREAM, UPSTREAM, PlaneSpec
from edgegate.components.graph import Step, Took, run_steps
from edgegate.components.launch import Launch
from edgegate.errors import ComponentExited, LabFault, LabGone
from edgegate.lab import Lab, ProcessSpec
from edgegate.limits import Limits

PINS = ("kubernetes", "etcd", "envoy-gateway", "envoy", "gateway-api", "coredns", "bubblewrap", "nftables")
"""What the edge is made of: the pins that must be in the store before a lab is started."""


@dataclass(frozen=True)
class Additions:
    """What a base state has beyond that of the default edge."""

    downstream: Sequence[Manifest] = ()
    """CRDs of the edge cluster; one with the name of another replaces it."""
    upstream: Sequence[Manifest] = ()
    """CRDs of every project."""
    objects: Sequence[Manifest] = ()
    """Objects of every project."""


@dataclass(frozen=True)
class Planes:
    """The two control planes that every edge has."""

    downstream: ControlPlane
    """The edge cluster: Gateways, routes and policies that Envoy Gateway serves."""
    upstream: ControlPlane
    """The first project's control plane, where users create their objects."""


def planes(launch: Launch) -> Planes:
    """Write the caller's kubeconfigs and return both planes; they need not run yet."""
    return Planes(*(plane_of(launch, plane) for plane in (DOWNSTREAM, UPSTREAM)))


def plane_of(launch: Launch, plane: PlaneSpec) -> ControlPlane:
    """Return the caller's view of one plane."""
    return ControlPlane(plane.name, control_plane.outer_kubeconfig(launch, plane))


def bring_up(
    launch: Launch,
    states: BaseStates,
    *,
    images: dict[str, object],
    additions: Additions = Additions(),
    more: Callable[[Planes], list[Step]] = lambda both: [],
    done: Callable[[Took], None] = lambda took: None,
    within: float = Limits().edge_ready,
) -> Planes:
    """Start everything in the lab and return when Envoy Gateway serves the class.

    Args:
        launch: the empty lab and the files of its components.
        states: the kept base states; a first start with a fingerprint adds one.
        images: container images and the pinned binaries that stand for them, for the node agent.
        additions: what the base state has beyond that of the default edge.
        more: further steps of this start, given the planes.
        done: told about each step when it ends.
        within: seconds for all of it.

    Raises:
        ComponentExited: a component ended during its start; has its last log lines.
        NeverReady: a component or an object was not ready in time.
    """
    both = planes(launch)
    warm = states.exists
    base = _warm_base(launch, states) if warm else _first_base(launch, states, both, additions)
    steps = [*_control_planes(launch, warm=warm), *base, *_edge(launch, both, images), *more(both)]
    run_steps(steps, done=done, failed=lambda: fallen(launch.lab), within=within)
    return both


def fallen(lab: Lab) -> LabFault | None:
    """Return the error for the first part of a lab that has ended by itself, None when there is none.

    Most parts are not asked whether they are ready, because whoever needs them waits; that one cannot tell why.
    """
    try:
        parts = lab.status()
    except LabGone as gone:
        return gone
    for part in parts:
        if part.state == "exited":
            return ComponentExited(part.name, status=part.status, log=lab.log(part.name), tail=part.tail)
    return None


def _control_planes(launch: Launch, *, warm: bool) -> list[Step]:
    start = launch.lab.start
    steps = [Step("etcd", lambda: start(etcd.spec(launch)), needs=("restore",) if warm else ())]
    for plane in (DOWNSTREAM, UPSTREAM):
        server = partial(control_plane.api_server, launch, plane)
        manager = partial(control_plane.controller_manager, launch, plane)
        steps += [
            Step(f"api-{plane.name}", partial(_start, launch, server), needs=("etcd",)),
            Step(f"controllers-{plane.name}", partial(_start, launch, manager), needs=("base",)),
        ]
    return steps


def _start(launch: Launch, make: Callable[[], ProcessSpec]) -> None:
    launch.lab.start(make())


def _warm_base(launch: Launch, states: BaseStates) -> list[Step]:
    return [
        Step("restore", lambda: states.restore(launch)),
        Step("base", lambda: None, needs=("api-downstream", "api-upstream")),
    ]


def _first_base(launch: Launch, states: BaseStates, both: Planes, additions: Additions) -> list[Step]:
    manifests = crds(launch.artifacts["gateway-api"], launch.artifacts["envoy-gateway"])
    steps = [
        Step(f"crds-{plane.name}", partial(apply_crds, plane, wanted), needs=(f"api-{plane.name}",))
        for plane, wanted in (
            (both.downstream, last_of_each(*manifests, *additions.downstream)),
            (both.upstream, last_of_each(*manifests, *additions.upstream)),
        )
    ]
    return [
        *steps,
        Step("namespaces", lambda: both.downstream.apply(*envoy_gateway.namespaces()), needs=("api-downstream",)),
        Step("certgen", lambda: envoy_gateway.generate_certificates(launch), needs=("namespaces", "crds-downstream")),
        Step("objects-upstream", lambda: both.upstream.apply(*additions.objects), needs=("crds-upstream",)),
        Step("template", lambda: prefixes.keep_template(launch), needs=("objects-upstream",)),
        Step("base", lambda: states.keep(launch), needs=("certgen", "template")),
    ]


def last_of_each(*manifests: Manifest) -> list[Manifest]:
    """Return one manifest a name, the last one given."""
    return list({manifest["metadata"]["name"]: manifest for manifest in manifests}.values())


def _edge(launch: Launch, both: Planes, images: dict[str, object]) -> list[Step]:
    start, downstream = launch.lab.start, both.downstream
    return [
        Step("dns-service", lambda: downstream.apply(*cluster_dns.service(launch.lab.net)), needs=("base",)),
        Step("class", lambda: downstream.apply(*envoy_gateway.objects(launch)), needs=("base",)),
        Step("certs", lambda: envoy_gateway.mount_certificates(launch, downstream), needs=("base",)),
        Step("node", lambda: start(node.spec(launch, images)), needs=("base",)),
        Step("coredns", lambda: start(cluster_dns.spec(launch)), needs=("base",)),
        Step("kube-proxy", lambda: kube_proxy.start(launch), needs=("node", "dns-service")),
        Step("envoy-gateway", lambda: start(envoy_gateway.spec(launch)), needs=("class", "certs")),
        Step("accepted", lambda: envoy_gateway.wait_for_class(downstream), needs=("envoy-gateway",)),
    ]
