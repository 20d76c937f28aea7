"""The host backend: control planes and everything else are processes in one sandbox of this machine."""

import fcntl
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property

from edgegate.artifacts import Progress
from edgegate.clusters.plane import ControlPlane
from edgegate.components import control_plane, oidc_provider, prefixes, soundness
from edgegate.components.bring_up import plane_of
from edgegate.components.envoy_gateway import NAMESPACE_NAME
from edgegate.components.graph import Took
from edgegate.components.launch import Launch
from edgegate.components.oidc_provider import OidcProvider
from edgegate.edge import lab_told, sentinel
from edgegate.edge.doors import Door, doors
from edgegate.edge.http_proxy import Backend
from edgegate.edge.opening import Opened, Plan, open_edge
from edgegate.edge.operator import Operator
from edgegate.edge.proxies import Proxies, Proxy
from edgegate.edge.proxy_log import FileLog, ProxyLog
from edgegate.edge.tenancy import LabOrigins, Tenancy
from edgegate.edge.tenant import Site, gateway_of
from edgegate.edge.versions import release, running_versions
from edgegate.errors import EnvironmentFault
from edgegate.records import Usage, Versions
from edgegate.settings import Settings


class HostBackend:
    """One edge in a lab."""

    name = "host"
    shared = False
    origin = Backend()
    sentinel = sentinel.NAMESPACE

    def __init__(self, plan: Plan, opened: Opened) -> None:
        self.plan, self.opened, self.selection = plan, opened, plan.selection
        self.how, self.seconds, self.steps = opened.how, opened.seconds, opened.steps
        self.planes = opened.planes
        self.lab, self.authority = opened.launch.lab, opened.launch.authority
        self.folder = self.lab.folder
        self.proxies = Proxies(self.planes.downstream)
        self.tenancy = Tenancy(LabOrigins(self.lab))

    @cached_property
    def site(self) -> Site:
        """Where it answers; the address is the one that the sentinel's Gateway reports."""
        gateway = self.planes.downstream.get(gateway_of(self.sentinel))
        assert gateway is not None, "the sentinel is part of every edge"
        return Site(gateway["status"]["addresses"][0]["value"], self.folder / "ca.crt")

    def doors(self) -> list[Door]:
        """Return its address, and each of several proxies: pods are reached by their own addresses."""
        return doors(self.site, self.proxies.all())

    @property
    def beside(self) -> Launch:
        """The lab with its parts."""
        return self.opened.launch

    @cached_property
    def login(self) -> OidcProvider:
        """The OpenID Connect provider; started at first use."""
        with self.alone():
            if oidc_provider.NAME not in {status.name for status in self.lab.status()}:
                self.lab.start(oidc_provider.spec(self.lab, self.authority))
            oidc_provider.publish(self.lab, self.planes.downstream)
        return OidcProvider(self.lab, self.site.ca)

    @cached_property
    def operator(self) -> Operator:
        """The operator under test."""
        return Operator(self.opened.launch, self.planes.upstream)

    def close(self) -> None:
        """Give the lease back; the lab ends with its last user, unless it is kept."""
        self.lab.release()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep the other processes that use this edge from starting the same part at the same time."""
        with (self.folder / "parts.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def allow(self, action: str) -> None:
        """Let scenarios do everything: nobody else uses it."""

    def lacks(self, capability: str) -> str:
        """Return why it does not have a capability."""
        if capability in ("merged-gateways", "oidc-provider", *self.operator.capabilities, *self.plan.parts.chosen):
            return ""
        version = self.selection.version("envoy-gateway")
        if capability == "secret-grants":
            return "" if release(version) >= (1, 8) else f"Envoy Gateway {version} has no grants for Secrets"
        return f"this edge was made without '{capability}'"

    def log_of(self, proxy: Proxy) -> ProxyLog:
        """Return the file with what a proxy's Envoy has written: requests, and what it refuses."""
        return FileLog(self.lab.log(f"pods/{NAMESPACE_NAME}_{proxy.name}/envoy"))

    def restart(self, component: str) -> None:
        """Restart a process and return when it is ready again."""
        self.lab.restart(component)

    def kill(self, component: str) -> None:
        """Kill a process; nothing restarts it."""
        self.lab.kill(component)

    def pause(self, component: str) -> None:
        """Freeze a process (SIGSTOP)."""
        self.lab.pause(component)

    def resume(self, component: str) -> None:
        """Let a frozen process go on."""
        self.lab.resume(component)

    def project(self, name: str) -> ControlPlane:
        """Return the control plane of a further project, which has all CRDs from the first second."""
        launch = self.opened.launch
        with self.alone():
            taken = [status.name for status in self.lab.status() if status.name.startswith("kube-apiserver-")]
            if f"kube-apiserver-{name}" not in taken:
                plane = control_plane.project(name, index=len(taken) - 2)
                prefixes.new_plane(launch, plane)
                self.lab.start(control_plane.api_server(launch, plane))
                self.lab.start(control_plane.controller_manager(launch, plane))
                plane_of(launch, plane)
        return ControlPlane(name, self.folder / f"{name}.kubeconfig")

    def trouble(self, felled: set[str], *, thorough: bool) -> EnvironmentFault | None:
        """Return what has befallen its processes."""
        return soundness.lost(self.lab, felled, thorough=thorough)

    def versions(self) -> Versions:
        """Return the versions that really run, each asked from the process itself."""
        within = self.plan.settings.limits.cold_restart
        return running_versions(self.lab, self.planes.downstream, self.proxies.one(within))

    def usage(self) -> list[Usage]:
        """Return what each process uses; containers of pods are processes too, named in brackets by their program."""
        return self.lab.usage()

    def tells(self) -> Mapping[str, Callable[[], str]]:
        """Return its processes, and the end of what they and the containers of pods wrote."""
        return {
            "processes.txt": lambda: lab_told.processes(self.lab),
            "logs.txt": lambda: lab_told.logs(self.lab),
            "pod-logs.txt": lambda: lab_told.pod_logs(self.folder / "logs" / "pods"),
        }


def open_backend(
    settings: Settings,
    run_key: str,
    *,
    done: Callable[[Took], None],
    progress: Progress,
    more_parts: Sequence[str],
) -> HostBackend:
    """Return an edge in a lab: a kept one that fits, this run's, or a new one.

    Raises:
        UsageFault: a component, version or part is unknown.
        EnvironmentFault: the edge could not be brought up.
    """
    plan = Plan.make(settings, progress, more_parts=more_parts)
    return HostBackend(plan, open_edge(plan, run_key, done=done))
