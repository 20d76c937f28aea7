"""The attach backend: an edge that somebody else runs, and that others use meanwhile.

It changes nothing but namespaces of its own, and those only inside a fence: see `fence`.
"""

import fcntl
import secrets
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

from edgegate import pins
from edgegate.artifacts import Progress
from edgegate.clusters.plane import ControlPlane, is_true
from edgegate.clusters.pods import PodLog
from edgegate.components.bring_up import Planes
from edgegate.components.envoy_gateway import TENANT_LABEL
from edgegate.components.graph import Step, Took, run_steps
from edgegate.components.launch import Launch
from edgegate.components.pki import Authority, write_private
from edgegate.edge import tenant
from edgegate.edge.backends import COLD_RESTART
from edgegate.edge.backends.attach import leftovers, preflight, reach
from edgegate.edge.backends.attach.beside import BESIDE, DirectOrigins, FoundOperator, NamedLogin
from edgegate.edge.backends.attach.fence import AbsentPlane, Fence, FencedPlane
from edgegate.edge.backends.attach.leftovers import Claim
from edgegate.edge.backends.attach.running import running
from edgegate.edge.doors import Door, doors
from edgegate.edge.http_proxy import Backend
from edgegate.edge.proxies import ENVOY, Proxies, Proxy
from edgegate.edge.proxy_log import NoLog, ProxyLog
from edgegate.edge.tenancy import Tenancy
from edgegate.edge.tenant import Site, Tenant
from edgegate.edge.versions import release
from edgegate.errors import EnvironmentFault, NotAllowed, NotShown
from edgegate.pins import Selection
from edgegate.records import Usage, Versions
from edgegate.settings import Settings

_LIVE = 3.0
"""Seconds in which a control plane has to answer while tests run."""


class AttachBackend:
    """One edge of somebody else's."""

    name = "attach"
    shared = True
    login = NamedLogin()

    def __init__(self, settings: Settings, selection: Selection, claim: Claim) -> None:
        """Prepare; nothing is asked yet."""
        self.settings, self.selection, self.claim = settings, selection, claim
        own = secrets.token_hex(3)
        self.folder = leftovers.folder_of(settings.cache) / f"{claim.run}.{own}.d"
        self.folder.mkdir(mode=0o700)
        self.fence = Fence(frozenset(settings.allow))
        self.planes = Planes(self._plane("downstream", settings.downstream_kubeconfig), self._upstream())
        self.authority = Authority.new(f"edgegate attached {claim.run[:8]}")
        self.sentinel = f"sentinel-{own}"
        self.how, self.seconds = "attached", 0.0
        self.steps: tuple[Took, ...] = ()
        write_private(self.folder / "ca.crt", self.authority.certificate)

    def _plane(self, name: str, kubeconfig: Path | None) -> ControlPlane:
        assert kubeconfig is not None, "settings that attach name a downstream kubeconfig"
        mark = leftovers.mark(self.settings.cache, self.claim.run)
        return FencedPlane(name, kubeconfig, self.fence, mark, self.folder)

    def _upstream(self) -> ControlPlane:
        if self.settings.upstream_kubeconfig is None:
            return AbsentPlane("upstream", "no cluster with customers' objects was named (--edge-upstream-kubeconfig)")
        return self._plane("upstream", self.settings.upstream_kubeconfig)

    @property
    def both(self) -> list[ControlPlane]:
        """The control planes that there are, the customers' first: what an operator derives goes by itself."""
        return [plane for plane in (self.planes.upstream, self.planes.downstream) if isinstance(plane, FencedPlane)]

    @cached_property
    def found(self) -> preflight.Found:
        """What there is to work with. Raises AttachRefused."""
        upstream = self.planes.upstream if isinstance(self.planes.upstream, FencedPlane) else None
        wanted, allow = self.settings.gateway_class, self.fence.allow
        return preflight.check(self.planes.downstream, upstream, gateway_class=wanted, allow=allow)

    @cached_property
    def tenancy(self) -> Tenancy:
        """How tenants are made: of the class that was found, answered by the proxy itself."""
        return Tenancy(DirectOrigins(), self.found.gateway_class, {TENANT_LABEL: "edgegate"})

    def build_sentinel(self) -> None:
        """Create the tenant that is there until the end."""
        tenant.build(self.sentinel, self.planes.downstream, self.tenancy, self.authority)

    def wait_served(self) -> None:
        """Return once the sentinel is programmed and answers from here. Raises NeverReady and AttachRefused."""
        plane, within = self.planes.downstream, self.settings.limits.programmed
        gateway = tenant.gateway_of(self.sentinel)
        plane.wait(gateway, lambda found: is_true(found, "Programmed"), what=f"{gateway} programmed", within=within)
        sentinel = Tenant("sentinel", self.sentinel, plane, self.site, self.tenancy)
        reach.wait_reached(sentinel, self.settings.limits.converge)

    @cached_property
    def site(self) -> Site:
        """Where it answers, as its Gateways say. Raises NotShown when they say nothing that can be looked up."""
        return reach.site(self.planes.downstream, tenant.gateway_of(self.sentinel), self.folder / "ca.crt")

    @cached_property
    def proxies(self) -> Proxies:
        """The pods of the merged proxy, wherever they run."""
        found = reach.proxies(self.planes.downstream, self.found.gateway_class)
        self.fence.proxies = found.namespace
        return found

    def doors(self) -> list[Door]:
        """Return its addresses, and each of several proxies that can be reached from here."""
        return doors(self.site, [proxy for proxy in self.proxies.all() if reach.is_open(proxy)])

    @property
    def beside(self) -> Launch:
        """Nothing. Raises NotShown."""
        raise NotShown(BESIDE.format("name server, ACME server, firewall or origin that can be told what to do"))

    @property
    def origin(self) -> Backend:
        """The origin that the user has named."""
        if not self.settings.origin_url:
            raise NotShown(BESIDE.format("origin for HTTPProxies. Name one that the edge reaches: --edge-origin-url"))
        return Backend(self.settings.origin_url)

    @cached_property
    def operator(self) -> FoundOperator:
        """The operator that is found there."""
        return FoundOperator(present=self.found.operator)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep the other processes that are attached out while a block runs."""
        with (self.folder.parent / "alone.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def allow(self, action: str) -> None:
        """Raise NotAllowed unless the user has allowed it, and it can be done from here."""
        if action != COLD_RESTART:
            raise NotAllowed(f"to {action} a component")
        if action not in self.fence.allow:
            raise NotAllowed("to throw all proxies away at once", allow=action)

    def lacks(self, capability: str) -> str:
        """Return why it does not have a capability."""
        if capability == "merged-gateways" or (capability == "operator" and self.operator.present):
            return ""
        if capability == "secret-grants":
            version = self.versions().running.get("envoy-gateway") or self.selection.version("envoy-gateway")
            return "" if release(version) >= (1, 8) else f"Envoy Gateway {version} has no grants for Secrets"
        return BESIDE.format(capability)

    def log_of(self, proxy: Proxy) -> ProxyLog:
        """Return what a proxy's Envoy writes, as its node keeps it."""
        return self._log(proxy) if self._has_logs else NoLog()

    def _log(self, proxy: Proxy) -> PodLog:
        return PodLog(self.planes.downstream, self.proxies.namespace, proxy.name, ENVOY)

    @cached_property
    def _has_logs(self) -> bool:
        """Whether logs of pods can be had; asked once, because a node that does not answer costs seconds each time."""
        return any(self._log(proxy).readable() for proxy in self.proxies.all())

    def restart(self, component: str) -> None:
        """Raise NotAllowed."""
        raise NotAllowed(f"to restart {component}")

    def kill(self, component: str) -> None:
        """Raise NotAllowed."""
        raise NotAllowed(f"to kill {component}")

    def pause(self, component: str) -> None:
        """Raise NotAllowed."""
        raise NotAllowed(f"to freeze {component}")

    def resume(self, component: str) -> None:
        """Raise NotAllowed."""
        raise NotAllowed(f"to resume {component}")

    def project(self, name: str) -> ControlPlane:
        """Raise NotShown."""
        raise NotShown(BESIDE.format(f"further project '{name}'"))

    def trouble(self, felled: set[str], *, thorough: bool) -> EnvironmentFault | None:
        """Return the error of a control plane that does not answer any more, if that is asked."""
        for plane in self.both if thorough else ():
            try:
                plane.request("GET", "/version", within=_LIVE)
            except EnvironmentFault as fault:
                return fault
        return None

    def versions(self) -> Versions:
        """Return the versions that can be seen from here."""
        return running(self.planes.downstream, self.proxies.all())

    def usage(self) -> list[Usage]:
        """Return nothing: what nodes know of containers is not ours to ask."""
        return []

    def tells(self) -> Mapping[str, Callable[[], str]]:
        """Return what it was attached to, and the end of what its proxies wrote."""
        return {"attached.txt": self._told, "pod-logs.txt": lambda: reach.logs(self.log_of, self.proxies.all())}

    def _told(self) -> str:
        planes = [f"{plane.name} {plane.client.configuration.host} ({plane.kubeconfig})" for plane in self.both]
        addresses, made = ", ".join(self.site.addresses), ", ".join(sorted(self.fence.made))
        lines = (*planes, f"class {self.found.gateway_class}", f"addresses {addresses}", f"namespaces made {made}")
        return "\n".join(lines) + "\n"

    def close(self) -> None:
        """Remove every namespace that this process has made, and as the run's last one those of the others too."""
        within = self.settings.limits.gone
        try:
            if self.fence.made:
                leftovers.remove(self.both, self.fence, within)
        finally:
            self._leave()

    def _leave(self) -> None:
        """Give up the claim and the folder; nothing is asked of the clusters."""
        self.claim.drop()
        shutil.rmtree(self.folder, ignore_errors=True)


def open_backend(
    settings: Settings,
    run_key: str,
    *,
    done: Callable[[Took], None],
    progress: Progress,
    more_parts: Sequence[str],
) -> AttachBackend:
    """Attach to an edge: look at it, remove what dead runs left, and create the sentinel.

    Raises:
        UsageFault: a version that is asked for is unknown.
        AttachRefused: it cannot be used as it is.
        EnvironmentFault: the sentinel was not served.
    """
    began = time.monotonic()
    selection = pins.load(settings.pins).select(settings.set, settings.parts("set"))
    claim = Claim.take(settings.cache, run_key)
    made = AttachBackend(settings, selection, claim)
    swept: list[str] = []

    def sweep() -> None:
        swept.extend(leftovers.sweep_dead(made.both, made.fence, settings.cache, settings.limits.gone))

    steps = [
        Step("preflight", lambda: made.found),
        Step("leftovers", sweep, needs=("preflight",)),
        Step("sentinel", made.build_sentinel, needs=("leftovers",)),
        Step("traffic", made.wait_served, needs=("sentinel",)),
    ]
    try:
        made.steps = tuple(run_steps(steps, done=done))
    except BaseException:  # Ctrl-C too: nothing of ours may stay
        made.close()
        raise
    left = f", after {len(swept)} namespaces that dead runs had left were removed" if swept else ""
    made.how, made.seconds = f"attached{left}", time.monotonic() - began
    return made
