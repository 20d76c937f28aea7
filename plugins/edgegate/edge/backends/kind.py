"""The kind backend: both control planes are clusters with real kubelets; what is beside them runs in a lab."""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import edgegate.edge.backends
import edgegate.kind
from edgegate.artifacts import Progress, Store
from edgegate.clusters.kinds import DEPLOYMENT, Ref
from edgegate.clusters.plane import ControlPlane
from edgegate.clusters.pods import PodLog
from edgegate.components import control_plane, envoy_gateway, etcd, pods
from edgegate.components.base_state import apply_crds, crds, fingerprint
from edgegate.components.bring_up import last_of_each, plane_of
from edgegate.components.graph import Took
from edgegate.components.soundness import lost
from edgegate.edge.backends import kind_images, kind_operator, kind_start
from edgegate.edge.backends.host import HostBackend
from edgegate.edge.backends.kind_crashes import KindCrashes
from edgegate.edge.backends.kind_start import KindEdge
from edgegate.edge.backends.kind_usage import told, usage
from edgegate.edge.opening import Opened, Plan, code_of, open_edge
from edgegate.edge.proxies import ENVOY, Proxy
from edgegate.edge.versions import running_versions
from edgegate.errors import EnvironmentFault, LabGone, PartLost, PlaneUnreachable
from edgegate.kind import leftovers, preflight
from edgegate.kind.engine import Engine
from edgegate.kind.images import NODE_PINS, Image
from edgegate.records import Usage, Versions
from edgegate.settings import Settings

_GATEWAY = Ref(DEPLOYMENT, pods.GATEWAY, envoy_gateway.NAMESPACE_NAME)
_SERVER = "envoy-gateway server"
"""How the command line of Envoy Gateway begins; the proxies' shutdown manager is the same program."""


class KindBackend(HostBackend):
    """One edge of two kind clusters, and the lab beside it."""

    name = "kind"

    def __init__(self, plan: Plan, opened: Opened, engine: Engine) -> None:
        super().__init__(plan, opened)
        self.edge = KindEdge.of(engine, plan.artifacts, self.lab)
        self.crashes = KindCrashes(self.planes, self.folder / "logs", operator=kind_operator.wanted(plan))

    def close(self) -> None:
        """Leave it; the last one to leave deletes the clusters and ends the lab, unless it is kept."""
        if not self.folder.exists():  # the lab has ended, and another start has cleared its folder away
            leftovers.reap(self.edge.clusters.engine)
            return
        with self.alone():
            if self._is_last():
                remove(self.edge)
                self.lab.down()
            self.lab.release()

    def _is_last(self) -> bool:
        """Tell whether nobody else uses it and it is not kept; a lab that has ended has no users any more."""
        try:
            holders, kept = self.lab.leases()
        except LabGone:
            return True
        return holders <= 1 and not kept

    def log_of(self, proxy: Proxy) -> PodLog:
        """Return what the kubelet has of a proxy's Envoy."""
        return PodLog(self.planes.downstream, envoy_gateway.NAMESPACE_NAME, proxy.name, ENVOY)

    def restart(self, component: str) -> None:
        """Restart a process of the lab, or a pod of Envoy Gateway or the operator, and return when it is ready."""
        if (found := self._deployment(component)) is None:
            self.lab.restart(component)
            return
        plane, ref = found
        plane.patch(ref, {"spec": {"replicas": 1}})
        for pod in pods.refs(plane, ref.namespace, component):
            plane.delete_and_wait(pod)
        pods.wait_available(plane, ref)

    def kill(self, component: str) -> None:
        """Kill a process of the lab; or a pod of ours, for good: its Deployment is left without replicas."""
        if (found := self._deployment(component)) is None:
            self.lab.kill(component)
            return
        plane, ref = found
        plane.patch(ref, {"spec": {"replicas": 0}})
        for pod in pods.refs(plane, ref.namespace, component):
            plane.delete(pod, grace=0)

    def _deployment(self, component: str) -> tuple[ControlPlane, Ref] | None:
        """Return the Deployment that a component is, and its cluster; None for a process of the lab."""
        if component == pods.GATEWAY:
            return self.planes.downstream, _GATEWAY
        return kind_operator.deployment(self.planes, component) if kind_operator.wanted(self.plan) else None

    def pause(self, component: str) -> None:
        """Freeze a process of the lab, or Envoy Gateway on its node; the kubelet restarts that one after a minute."""
        self._signal(component, "STOP") if component == pods.GATEWAY else self.lab.pause(component)

    def resume(self, component: str) -> None:
        """Let it go on; that the kubelet has ended a frozen Envoy Gateway meanwhile was meant."""
        if component != pods.GATEWAY:
            self.lab.resume(component)
            return
        self._signal(component, "CONT")
        self.crashes.forgive_gateway()

    def _signal(self, component: str, name: str) -> None:
        for node in self._nodes():
            self.edge.clusters.engine.run("exec", node, "pkill", f"-{name}", "-f", _SERVER, check=False)

    def _nodes(self) -> list[str]:
        clusters = self.edge.clusters
        return clusters.engine.containers(clusters.full_name("downstream"))

    def project(self, name: str) -> ControlPlane:
        """Return the control plane of a further project: an API server in the lab, as a cluster would be 400 MiB."""
        launch = replace(self.opened.launch, elsewhere=False)
        with self.alone():
            running = {status.name for status in self.lab.status()}
            plane = control_plane.project(name, index=sum(one.startswith("kube-apiserver-") for one in running))
            if f"kube-apiserver-{name}" not in running:
                if etcd.NAME not in running:
                    self.lab.start(etcd.spec(launch))
                self.lab.start(control_plane.api_server(launch, plane))
                self.lab.start(control_plane.controller_manager(launch, plane))
                self._fill(plane_of(launch, plane))
        return ControlPlane(name, self.folder / f"{name}.kubeconfig")

    def _fill(self, plane: ControlPlane) -> None:
        """Give a project what every project has: CRDs and the operator's objects."""
        gateway_api, gateway = (self.plan.artifacts[name] for name in ("gateway-api", "envoy-gateway"))
        additions = self.plan.parts.additions(self.plan.artifacts)
        apply_crds(plane, last_of_each(*crds(gateway_api, gateway), *additions.upstream))
        plane.apply(*additions.objects)

    def trouble(self, felled: set[str], *, thorough: bool) -> EnvironmentFault | None:
        """Return what has befallen the lab's processes, a container under test, or a node."""
        if (found := lost(self.lab, felled, thorough=thorough)) is not None:
            return found
        try:
            if thorough and (found := self.crashes.found_out_of_memory()):
                return found
            return self.crashes.found(felled) or (self._lost_node() if thorough else None)
        except PlaneUnreachable:
            # A cluster that does not answer is told by whoever asks it next, unless a node of it has ended.
            return self._lost_node()

    def _lost_node(self) -> PartLost | None:
        clusters = self.edge.clusters
        for plane in ("upstream", "downstream"):
            containers = clusters.engine.containers(clusters.full_name(plane))
            for node in clusters.engine.inspect(containers):
                if not node["State"]["Running"]:
                    log = self.folder / "logs" / f"kind-{plane}.log"
                    what = f"ended with status {node['State']['ExitCode']}"
                    return PartLost(node["Name"].strip("/"), what=what, log=log, tail="")
        return None

    def versions(self) -> Versions:
        """Return the versions that really run; Envoy Gateway's is asked from the program that its pod executes."""
        within = self.plan.settings.limits.cold_restart
        found = {**running_versions(self.lab, self.planes.downstream, self.proxies.one(within)).running}
        ask = f'/proc/$(pgrep -of "{_SERVER}")/exe version'
        for node in self._nodes():
            said = self.edge.clusters.engine.run("exec", node, "sh", "-c", ask, check=False).stdout
            told = re.search(r"\bv?(\d+\.\d+\.\d+)\b", said)
            found |= {pods.GATEWAY: told[1]} if told else {}
        found |= kind_images.versions(self.folder)
        if kind_operator.wanted(self.plan):
            found |= kind_operator.versions(self.edge.clusters.engine, self.planes)
        return Versions(dict(sorted(found.items())))

    def usage(self) -> list[Usage]:
        """Return what every container of both clusters and every process of the lab uses."""
        planes = {"upstream": self.planes.upstream, "downstream": self.planes.downstream}
        found = [replace(one, name=f"{name} {one.name}") for name, plane in planes.items() for one in usage(plane)]
        return [*found, *super().usage()]

    def tells(self) -> Mapping[str, Callable[[], str]]:
        """Return what the lab tells, each node's own log, and what the containers use."""
        engine = self.edge.clusters.engine

        def journal(node: str) -> str:
            words = ("exec", node, "journalctl", "--no-pager", "--lines", "400")
            return engine.run(*words, check=False).stdout

        nodes = {f"node-{node[:12]}.txt": partial(journal, node) for node in self._nodes()}
        used = {"usage.txt": lambda: told(usage(self.planes.downstream))}
        operator = kind_operator.tells(self.planes) if kind_operator.wanted(self.plan) else {}
        return {**super().tells(), **nodes, **used, **operator}


def remove(edge: KindEdge) -> None:
    """Delete both clusters, then their network. Raises ClusterNotGone."""
    for plane in ("downstream", "upstream"):
        edge.clusters.delete(plane)
    edge.clusters.engine.remove_network(edge.clusters.name)


def open_backend(
    settings: Settings,
    run_key: str,
    *,
    done: Callable[[Took], None],
    progress: Progress,
    more_parts: Sequence[str],
) -> KindBackend:
    """Return an edge of kind clusters: a kept one that fits, this run's, or a new one.

    Raises:
        UsageFault: a component, version or part is unknown.
        EnvironmentFault: the edge could not be brought up; KindFault: this machine cannot run kind clusters.
    """
    engine = Engine.find()
    engine.facts()  # also where an edge is used again: its nodes are there only as long as the engine
    if os.geteuid() != 0:
        preflight.check(engine, root=False)
    plan = Plan.make(settings, progress, more_parts=more_parts)
    further = Store(settings.cache).ensure_all(plan.pins, plan.selection, NODE_PINS, progress)
    files = sorted(one.path.name for one in further.values())
    size = (f"{settings.nodes} nodes", f"{settings.images} images")
    made_of = fingerprint(plan.fingerprint, "kind", *size, *files, code_of(edgegate.kind, edgegate.edge.backends))
    plan = replace(plan, artifacts={**plan.artifacts, **further}, fingerprint=made_of)
    plan, given = _with_operator(plan, engine, progress)
    opened = open_edge(plan, run_key, done=done, start=partial(kind_start.start, engine, progress, given))
    backend = KindBackend(plan, opened, engine)
    if not opened.steps:
        backend.crashes.forgive()
        # One that is used again may have lost a node meanwhile, as when its engine was restarted.
        if trouble := backend.trouble(set(), thorough=True):
            raise trouble
    return backend


def _with_operator(plan: Plan, engine: Engine, progress: Progress) -> tuple[Plan, list[Image]]:
    """Return the plan with the images of an operator that runs as pods, which are part of what an edge is made of."""
    given = kind_operator.images(plan, engine, progress)
    if not given:
        return plan, []
    made_of = fingerprint(plan.fingerprint, *(image.id for image in given))
    return replace(kind_operator.with_images(plan, given), fingerprint=made_of), given
