"""Start an edge of two kind clusters: which steps there are, and which needs which."""

import json
import secrets
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Self

from edgegate import command
from edgegate.artifacts import Artifact, Progress
from edgegate.artifacts.lock import locked
from edgegate.clock import wait_until
from edgegate.clusters.kinds import DEPLOYMENT, NODE, Ref
from edgegate.clusters.plane import Manifest
from edgegate.components import envoy_gateway, extension_server, pods
from edgegate.components.base_state import apply_crds, crds
from edgegate.components.bring_up import Planes, fallen, last_of_each, planes
from edgegate.components.control_plane import DOWNSTREAM, UPSTREAM, PlaneSpec
from edgegate.components.graph import Step, Took, run_steps
from edgegate.components.kube_proxy import FORGET_SOON
from edgegate.components.launch import RESOLV_CONF, Launch
from edgegate.components.node import balancer
from edgegate.components.nso_config import AGENT, EXTENSION, OPERATOR, REPLICATOR
from edgegate.components.operator_pods import IMAGES_LOADED
from edgegate.components.pki import write_private
from edgegate.edge import sentinel
from edgegate.edge.backends import kind_images, kind_operator
from edgegate.edge.opening import Plan, make_lab, note_ready, with_logs
from edgegate.errors import EnvironmentFault, WrongImage
from edgegate.kind import leftovers, preflight
from edgegate.kind.cluster import RECORD, Clusters, Wish
from edgegate.kind.engine import Engine, Facts
from edgegate.kind.images import Image
from edgegate.kind.network import KindNet
from edgegate.lab import Lab

_ALIVE = "alive"
"""The lab's file that launcher and supervisor hold locked: while they live, the clusters are in use."""
_WITHIN = 300.0
"""Seconds in which all of it must be there, unless the user's limit is longer; measured: docs/measurements.md."""


@dataclass(frozen=True)
class KindEdge:
    """What belongs to one edge outside its lab."""

    clusters: Clusters
    """Its clusters."""
    net: KindNet
    """Its addresses."""

    @classmethod
    def of(cls, engine: Engine, artifacts: dict[str, Artifact], lab: Lab) -> Self:
        """Return that of a lab that has one already, or a new one."""
        record = lab.folder / RECORD
        if not record.exists():
            write_private(record, json.dumps({"name": f"edgegate-{secrets.token_hex(3)}"}))
        name = json.loads(record.read_text())["name"]
        return cls(Clusters(engine, artifacts["kind"].binary("kind"), name, lab.folder), KindNet(lab.net.n))


def prepare(plan: Plan, engine: Engine, progress: Progress) -> tuple[Facts, list[Image]]:
    """See that the engine can do it and has the node image; return what it is, and the images, the node's first.

    What dead edges have left is removed.

    Raises:
        KindFault: this machine cannot run kind clusters.
    """
    facts, notes = preflight.check(engine, root=True)
    for note in notes:
        progress.say(note)
    for name in leftovers.reap(engine):
        progress.say(f"removed the clusters of {name}, whose edge is gone")
    found = kind_images.had(plan, engine, progress)
    node = found[0]
    # One after the other: two starts would read the same 0.8 GB at once.
    with locked(plan.settings.cache / "locks" / "kind-load.lock", lambda pid: None):
        if engine.image_id(node.tags[0]) != node.id:
            progress.step("image node", "loading into the engine")
            engine.load(node.path)
    return facts, found


def start(
    engine: Engine,
    progress: Progress,
    given: Sequence[Image],
    plan: Plan,
    run_key: str,
    done: Callable[[Took], None],
) -> tuple[Launch, Planes, list[Took]]:
    """Start a new edge and return when its sentinel has answered; nothing of it is left when that fails.

    `given` are the images of a real operator that runs as pods; none where it does not.
    """
    facts, images = prepare(plan, engine, progress)
    lab = make_lab(plan, run_key)
    edge = KindEdge.of(engine, plan.artifacts, lab)
    steps: list[Took] = []

    def note(took: Took) -> None:
        steps.append(took)
        done(took)

    try:
        launch = replace(Launch.new(lab, *plan.made_of), elsewhere=True)
        write_private(lab.folder / "ca.crt", launch.authority.certificate)
        both = planes(launch)
        graph = _Graph(plan, launch, edge, facts, images, given, both)
        within = max(plan.settings.limits.edge_ready, _WITHIN)
        run_steps(graph.steps(), done=note, failed=lambda: fallen(lab), within=within)
    except EnvironmentFault as fault:
        told = with_logs(fault, lab.folder / "logs", plan.settings)
        _undo(engine, lab, edge)
        raise told from fault
    except BaseException:  # Ctrl-C too
        _undo(engine, lab, edge)
        raise
    note_ready(plan, lab)
    return launch, both, steps


def _undo(engine: Engine, lab: Lab, edge: KindEdge) -> None:
    with ExitStack() as undo:
        undo.callback(lab.down)
        undo.callback(leftovers.remove, engine, edge.clusters.name)


@dataclass(frozen=True)
class _Graph:
    plan: Plan
    launch: Launch
    edge: KindEdge
    facts: Facts
    images: Sequence[Image]
    given: Sequence[Image]
    both: Planes

    def steps(self) -> list[Step]:
        """Return every step; those of parts and of the sentinel find the names that the host lab's steps have."""
        return [
            Step("network", lambda: self.edge.clusters.make_network(self.edge.net, self.launch.folder / _ALIVE)),
            Step("api-upstream", partial(self._create, UPSTREAM), needs=("network",)),
            Step("api-downstream", partial(self._create, DOWNSTREAM), needs=("network",)),
            Step("route", self._route, needs=("api-downstream",)),
            Step("verify", self._verify, needs=("api-upstream", "api-downstream")),
            Step("images", self._load, needs=("api-downstream",)),
            Step("verify-pods", self._verify_pods, needs=("traffic",)),
            *self._base(),
            *self._pods(),
            *(self._operator() if self.given else ()),
            *sentinel.steps(self.launch, self.both, replicas=self.plan.settings.replicas),
            *self.plan.parts.steps(self.launch, self.both),
        ]

    def _base(self) -> list[Step]:
        additions = self.plan.parts.additions(self.plan.artifacts)
        manifests = crds(self.launch.artifacts["gateway-api"], self.launch.artifacts["envoy-gateway"])
        down, up = last_of_each(*manifests, *additions.downstream), last_of_each(*manifests, *additions.upstream)
        downstream, upstream = self.both.downstream, self.both.upstream
        spaces = envoy_gateway.namespaces
        return [
            Step("crds-downstream", partial(apply_crds, downstream, down), needs=("route",)),
            Step("crds-upstream", partial(apply_crds, upstream, up), needs=("api-upstream",)),
            Step("objects-upstream", lambda: upstream.apply(*additions.objects), needs=("crds-upstream",)),
            Step("namespaces", lambda: downstream.apply(*spaces()), needs=("route",)),
            Step(
                "certgen",
                lambda: envoy_gateway.generate_certificates(self.launch),
                needs=("namespaces", "crds-downstream"),
            ),
            Step("base", lambda: None, needs=("certgen", "objects-upstream", "verify")),
        ]

    def _pods(self) -> list[Step]:
        plane, version = self.both.downstream, self.plan.selection.version
        first, last = self.edge.net.balancer_addresses
        recursor = self.launch.lab.net.recursor_ip if "dns" in self.launch.parts else ""
        dns = pods.cluster_dns(version("coredns"), self.edge.net.dns_ip, recursor)
        gateway = [pods.trust(self.launch.authority.certificate), *self._gateway()]
        extended = (EXTENSION,) if self.given else ()
        klass = [pods.envoy_proxy(version("envoy"), self.plan.settings.replicas), envoy_gateway.gateway_class()]

        def available(name: str, namespace: str) -> None:
            pods.wait_available(plane, Ref(DEPLOYMENT, name, namespace))

        return [
            Step("resolver", self._resolver),
            Step("node", lambda: self.launch.lab.start(balancer(self.launch, first, last)), needs=("route",)),
            Step("dns-pods", lambda: plane.apply(*dns), needs=("route", "images")),
            Step("coredns", partial(available, pods.DNS, "kube-system"), needs=("dns-pods",)),
            Step("kube-proxy", partial(self._on_nodes, DOWNSTREAM, *FORGET_SOON), needs=("coredns",)),
            Step("class", lambda: plane.apply(*klass), needs=("base",)),
            Step("gateway-pods", lambda: plane.apply(*gateway), needs=("certgen", "images", *extended)),
            Step(
                "envoy-gateway",
                partial(available, pods.GATEWAY, envoy_gateway.NAMESPACE_NAME),
                needs=("gateway-pods", "class"),
            ),
            Step("accepted", lambda: envoy_gateway.wait_for_class(plane), needs=("envoy-gateway",)),
        ]

    def _gateway(self) -> list[Manifest]:
        """Return Envoy Gateway; it asks the operator's extension server where there is one."""
        version = self.plan.selection.version("envoy-gateway")
        if not self.given:
            return pods.gateway(version)
        more = {"extensionManager": extension_server.manager()}
        return pods.gateway(version, more=more, rights=extension_server.rights())

    def _operator(self) -> list[Step]:
        """Return what the real operator needs of the clusters beyond its own steps, and the look at what runs."""
        ours = (OPERATOR, REPLICATOR, AGENT, EXTENSION)
        verify = partial(kind_operator.verify, self.edge.clusters.engine, self.both, self.given)
        return [
            Step("route-upstream", self._route_upstream, needs=("route", "api-upstream")),
            Step(IMAGES_LOADED, self._load_given, needs=("images", "route-upstream")),
            Step("operator-verify", verify, needs=ours),
        ]

    def _load_given(self) -> None:
        for plane in (UPSTREAM, DOWNSTREAM):
            for image in self.given:
                self.edge.clusters.load(plane.name, image.path)

    def _create(self, plane: PlaneSpec) -> None:
        clusters, net = self.edge.clusters, self.edge.net
        wish = Wish(clusters.full_name(plane.name), self.images[0].tags[0], self.facts.cgroups)
        if plane is DOWNSTREAM:
            wish = replace(wish, pods=net.pods, services=net.services, node_bits=net.node_bits, workers=self._workers)
        clusters.create(plane.name, wish)

    @property
    def _workers(self) -> int:
        """Nodes beside the control plane's; one node is both."""
        nodes = self.plan.settings.nodes
        return nodes if nodes > 1 else 0

    def _route(self) -> None:
        """Let this machine, and by it the lab, reach pods, services and load balancers by way of the nodes."""
        clusters, net = self.edge.clusters, self.edge.net
        nodes = wait_until("nodes have ranges of pods", self._nodes, deadline=30.0, every=0.1)
        for container, (pods_there, address) in nodes.items():
            command.run(["ip", "route", "replace", pods_there, "via", address])
            for others, there in nodes.values():
                if there != address:
                    clusters.engine.run("exec", container, "ip", "route", "replace", others, "via", there)
        first = clusters.address(DOWNSTREAM.name)
        command.run(["ip", "route", "replace", net.services, "via", first])
        command.run(self._to_balancers())

    def _to_balancers(self) -> list[str]:
        """Return the command that makes a route to load balancers.

        The Service keeps to the node that a packet comes to, so it has to come to one that runs a proxy.
        """
        clusters = self.edge.clusters
        with_proxies = clusters.addresses(DOWNSTREAM.name, "worker") or [clusters.address(DOWNSTREAM.name)]
        hops = [word for node in with_proxies for word in ("nexthop", "via", node)]
        return ["ip", "route", "replace", self.edge.net.balancers, *(hops if len(with_proxies) > 1 else hops[1:])]

    def _on_nodes(self, plane: PlaneSpec, *words: str) -> None:
        clusters = self.edge.clusters
        for node in clusters.engine.containers(clusters.full_name(plane.name)):
            clusters.engine.run("exec", node, *words)

    def _route_upstream(self) -> None:
        """Let pods of the upstream cluster reach the edge: nobody announces its addresses on the nodes' network."""
        self._on_nodes(UPSTREAM, *self._to_balancers())

    def _nodes(self) -> dict[str, tuple[str, str]]:
        """Return each node of the edge cluster with the range of its pods and its address; empty until all have one."""
        found = {
            node["metadata"]["name"]: (node["spec"].get("podCIDR", ""), node["status"]["addresses"][0]["address"])
            for node in self.both.downstream.list(NODE)
        }
        return found if all(there for there, _ in found.values()) else {}

    def _verify(self) -> None:
        """See that the nodes run the image that was made. Raises WrongImage."""
        for plane in (UPSTREAM, DOWNSTREAM):
            running = self.edge.clusters.running_image(plane.name)
            if running != self.images[0].id:
                raise WrongImage(f"node of cluster {plane.name}", expected=self.images[0].id, actual=running)

    def _verify_pods(self) -> None:
        engine, folder = self.edge.clusters.engine, self.launch.folder
        kind_images.verify(engine, self.both.downstream, folder, self.images[1:])

    def _load(self) -> None:
        for image in self.images[1:]:  # one after the other: the node unpacks each on the same disk
            self.edge.clusters.load(DOWNSTREAM.name, image.path)

    def _resolver(self) -> None:
        """Send look-ups of the lab's processes to the cluster's DNS."""
        self.launch.config(Path(RESOLV_CONF).name, f"nameserver {self.edge.net.dns_ip}\n")
