"""The edge that scenarios hold: reach it, change it, restart it, and watch that neighbours stay unharmed."""

import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cached_property
from types import TracebackType
from typing import Self

from edgegate.artifacts import QUIET, Progress
from edgegate.budgets import Budgets
from edgegate.clusters.kinds import Ref
from edgegate.clusters.plane import ControlPlane
from edgegate.components.graph import Took
from edgegate.edge import backends
from edgegate.edge import tenant as tenants
from edgegate.edge.acme import Acme, Untrusted
from edgegate.edge.backends import EdgeBackend
from edgegate.edge.convergence import Convergence
from edgegate.edge.crashes import Crashes
from edgegate.edge.customer import ANYBODYS, Customer, sweep
from edgegate.edge.dns import Dns
from edgegate.edge.doors import Door
from edgegate.edge.firewall import Firewall
from edgegate.edge.guard import Guard
from edgegate.edge.http_proxy import Backend, HttpProxy, Wish, checked
from edgegate.edge.ladder import Ladder
from edgegate.edge.login_provider import LoginProvider
from edgegate.edge.operator import Operator
from edgegate.edge.proxies import Proxy
from edgegate.edge.proxy_log import ProxyLog
from edgegate.edge.tenant import Site, Tenant
from edgegate.edge.zone import Zone
from edgegate.errors import EnvironmentFault, NobodyToWatch
from edgegate.lab import Lab
from edgegate.records import Versions
from edgegate.report.gate import Gate
from edgegate.settings import Settings
from edgegate.slo import load as load_slo


class Edge:
    """A running edge. Use as a context manager, or call `close`: the last one to leave ends a lab that is not kept."""

    def __init__(self, settings: Settings, backend: EdgeBackend) -> None:
        self.settings = settings
        self.backend = backend
        self.limits = settings.limits
        self.selection = backend.selection
        self.downstream: ControlPlane = backend.planes.downstream
        self.upstream: ControlPlane = backend.planes.upstream
        self.proxies = backend.proxies
        self.crashes = Crashes(backend.proxies)
        self.authority = backend.authority
        self._felled: set[str] = set()
        self._not_back: EnvironmentFault | None = None

    @classmethod
    def open(
        cls,
        settings: Settings,
        run_key: str,
        *,
        done: Callable[[Took], None] = lambda took: None,
        progress: Progress = QUIET,
        more_parts: Sequence[str] = (),
    ) -> "Edge":
        """Return a running edge: a kept one that fits, this run's, or a new one.

        Args:
            settings: what the user asked for.
            run_key: the same for all processes that shall share one edge.
            done: told about each step of a start when it ends.
            progress: told about each artifact that has to be built or downloaded.
            more_parts: what it shall have beyond the default edge: `dns` (or `dns=sqlite`), `acme`.

        Raises:
            UsageFault: a component, version or part is unknown.
            EnvironmentFault: the edge could not be brought up.
        """
        opener = backends.opener_of(settings.backend)
        return cls(settings, opener(settings, run_key, done=done, progress=progress, more_parts=more_parts))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Leave the edge. It ends with the last user, unless it is kept."""
        self.backend.close()

    @property
    def opened(self) -> EdgeBackend:
        """How it came about."""
        return self.backend

    @property
    def lab(self) -> Lab:
        """The lab with what runs beside the clusters. Raises NotShown where there is none."""
        return self.backend.beside.lab

    @property
    def site(self) -> Site:
        """Where the edge answers, and how its certificates are judged."""
        return self.backend.site

    def tenant(self, name: str) -> Tenant:
        """Create a tenant with a host name of its own and return it once its Gateway is programmed.

        Raises:
            NeverReady: it was not in time; nothing of it is left.
        """
        made = self._tenant(name, f"{name}-{secrets.token_hex(3)}")
        with ExitStack() as undo:
            tenants.build(made.namespace, self.downstream, self.backend.tenancy, self.authority)
            undo.callback(self.remove_tenant, made)
            made.wait_programmed(self.limits.programmed)
            undo.pop_all()
        return made

    def remove_tenant(self, tenant: Tenant) -> None:
        """Delete a tenant and return when nothing of it is left."""
        tenants.remove(tenant, self.downstream, self.backend.tenancy, within=self.limits.gone)

    @cached_property
    def sentinel(self) -> Tenant:
        """The tenant that every edge has: a neighbour that was there before everybody else."""
        return self._tenant("sentinel", self.backend.sentinel)

    def _tenant(self, name: str, namespace: str) -> Tenant:
        return Tenant(name, namespace, self.downstream, self.site, self.backend.tenancy)

    def guard(self, gate: Gate, *neighbours: Tenant) -> Guard:
        """Return the judge of whether these neighbours stay unharmed; its findings go to the gate.

        Raises:
            NobodyToWatch: no neighbour was named.
        """
        if not neighbours:
            raise NobodyToWatch
        return Guard(gate, neighbours, self.authority, self.limits, self.log_of, self.doors)

    def proxy(self) -> Proxy:
        """Return the proxy that serves; of several, one."""
        return self.proxies.one(self.limits.cold_restart)

    def every_proxy(self) -> list[Proxy]:
        """Return all proxies that serve."""
        return self.proxies.several(max(len(self.proxies.all()), 1), self.limits.cold_restart)

    def doors(self) -> list[Door]:
        """Return the ways in that must answer alike: each address, and each of several proxies."""
        return self.backend.doors()

    def log_of(self, proxy: Proxy) -> ProxyLog:
        """Return what a proxy's Envoy writes: requests, and what it refuses."""
        return self.backend.log_of(proxy)

    def cold_restart(self) -> list[Proxy]:
        """Restart every proxy with nothing cached; see `Proxies.cold_restart`. Raises NotShown where it is refused."""
        self.backend.allow(backends.COLD_RESTART)
        self.crashes.look()
        return self.proxies.cold_restart(self.limits.cold_restart)

    def trouble(self, *, thorough: bool) -> EnvironmentFault | None:
        """Return what has befallen the edge since its start, None while it is sound; `thorough` asks what runs too.

        Whatever a scenario felled on purpose does not count, unless it could not be started again.
        """
        return self._not_back or self.backend.trouble(self._felled, thorough=thorough)

    def restart(self, component: str) -> None:
        """Restart a component and return when it is ready again. Raises NotShown where that is refused."""
        self.backend.allow(backends.RESTART)
        try:
            self.backend.restart(component)
        except EnvironmentFault as fault:
            self._not_back = fault
            raise
        self._felled.discard(component)

    def kill(self, component: str) -> None:
        """Kill a component; nothing restarts it. Raises NotShown where that is refused."""
        self.backend.allow(backends.KILL)
        self._felled.add(component)
        self.backend.kill(component)

    @contextmanager
    def killed(self, component: str) -> Iterator[None]:
        """Let a component be dead while a block runs; afterwards it is started again and ready."""
        self.kill(component)
        try:
            yield
        finally:
            self.restart(component)

    def pause(self, component: str) -> None:
        """Freeze a component (SIGSTOP): it holds its connections and answers nothing. Raises NotShown."""
        self.backend.allow(backends.PAUSE)
        self._felled.add(component)
        self.backend.pause(component)

    def resume(self, component: str) -> None:
        """Let a frozen component go on."""
        self.backend.resume(component)
        self._felled.discard(component)

    def has(self, capability: str) -> bool:
        """Tell whether this backend has a capability; a scenario that needs a missing one is inconclusive."""
        return not self.backend.lacks(capability)

    @property
    def login(self) -> LoginProvider:
        """The OpenID Connect provider; started at first use."""
        return self.backend.login

    @cached_property
    def dns(self) -> Dns:
        """Name servers and zones. Raises NotShown when this edge has no part `dns`."""
        return Dns(self.backend.beside)

    @cached_property
    def ladder(self) -> Ladder:
        """Exchanges of many shapes and sizes. Raises NotShown when this edge has no part `ladder`."""
        return Ladder(self.backend.beside, self.downstream)

    @cached_property
    def firewall(self) -> Firewall:
        """What inspects requests. Raises NotShown when this edge has no part `waf`."""
        return Firewall(self.backend.beside, self.downstream)

    @property
    def operator(self) -> Operator:
        """The operator under test."""
        return self.backend.operator

    @cached_property
    def acme(self) -> Acme:
        """The certificate authority and its issuers. Raises NotShown when this edge has no part `acme`."""
        return Acme(self.backend.beside, self.downstream, self.backend.alone, self._logs)

    def _logs(self) -> list[ProxyLog]:
        return [self.log_of(proxy) for proxy in self.proxies.all()]

    def customer(self, name: str, project: ControlPlane | None = None, namespace: str = "") -> Customer:
        """Create a customer of a project, the first unless told. Raises NotShown when there is no part `operator`."""
        self.operator.check()
        made = Customer(name, project or self.upstream, self.downstream, namespace)
        made.create()
        return made

    def http_proxy(
        self, customer: Customer, hostnames: Sequence[str] = (), *, name: str = "", backend: Backend | None = None
    ) -> HttpProxy:
        """Return a proxy that does not exist yet; see `HttpProxy.create`. Raises ForeignHostname."""
        own = name or f"p{secrets.token_hex(3)}"
        wish = Wish(f"{customer.namespace}/{own}", checked(hostnames), backend or self.backend.origin)
        trust = self.acme if self.has("acme") else Untrusted(self.backend.lacks("acme"))
        return HttpProxy(own, customer, wish, trust, self.site.address)

    @property
    def nobody(self) -> Backend:
        """An origin that is not there: connections to it are refused at once."""
        return Backend(f"http://{self.lab.net.lab_ip}:9")

    def convergence(self, customer: Customer, hosts: Sequence[str]) -> Convergence:
        """Return the stage clocks of host names whose proxies do not exist yet; see `Convergence`."""
        return Convergence(customer, hosts, self.dns, self.site.address, self.operator.metrics)

    def budgets(self, load: str, *, setting: str = "fast") -> Budgets:
        """Return what each stage may take with this operator, for `one` subject at a time or a `burst`.

        `setting` is `production` where the issuer waits as it does there.

        Raises:
            SloFault: the file of budgets is malformed, or has none for that.
        """
        return load_slo(self.settings.slo).budgets(self.operator.kind, setting, load)

    def delegate(self, zone: Zone) -> None:
        """Return once a zone is served and its Domain is known to be the customer's. Raises NeverReady."""
        self.operator.delegate(zone, self.limits.zone_ready)

    def sweep(self) -> list[Ref]:
        """Delete what somebody has created in the namespace `default` of the first project, and return it.

        Where others use the edge, what is there is theirs, and nothing is done.
        """
        return [] if self.backend.shared else sweep(self.upstream, ANYBODYS, self.limits.gone)

    def project(self, name: str) -> ControlPlane:
        """Return the control plane of a further project; started at first use, with all CRDs from the first second."""
        return self.backend.project(name)

    def versions(self) -> Versions:
        """Return the versions that really run, each asked from the process itself where there is one."""
        return self.backend.versions()
