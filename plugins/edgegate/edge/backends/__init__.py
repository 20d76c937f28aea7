"""Where an edge runs: what differs between a lab, clusters of kind, and an edge that somebody else runs.

`Edge` and everything above it know a backend by `EdgeBackend` alone. What a backend lacks raises NotShown with the
reason, so that a scenario which needs it is inconclusive and never silently green.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from edgegate.artifacts import Progress
from edgegate.clusters.plane import ControlPlane
from edgegate.components.bring_up import Planes
from edgegate.components.graph import Took
from edgegate.components.launch import Launch
from edgegate.components.pki import Authority
from edgegate.edge.doors import Door
from edgegate.edge.http_proxy import Backend
from edgegate.edge.login_provider import LoginProvider
from edgegate.edge.operator import Operator
from edgegate.edge.proxies import Proxies, Proxy
from edgegate.edge.proxy_log import ProxyLog
from edgegate.edge.tenancy import Tenancy
from edgegate.edge.tenant import Site
from edgegate.errors import EnvironmentFault
from edgegate.pins import Selection
from edgegate.records import Usage, Versions
from edgegate.settings import Settings

COLD_RESTART, RESTART, KILL, PAUSE = "cold-restart", "restart", "kill", "pause"
"""What scenarios do to an edge that harms whoever else uses it."""


class EdgeBackend(Protocol):
    """One running edge, as its backend knows it."""

    @property
    def name(self) -> str:
        """`host`, `kind` or `attach`."""
        ...

    @property
    def shared(self) -> bool:
        """Whether others use it too, so that what the run has not made is theirs."""
        ...

    @property
    def how(self) -> str:
        """How it came about, as `started` or `kept edge used again`."""
        ...

    @property
    def seconds(self) -> float:
        """How long that took."""
        ...

    @property
    def steps(self) -> tuple[Took, ...]:
        """The steps of the start; empty when it was running already."""
        ...

    @property
    def selection(self) -> Selection:
        """The version of each component that is asked for."""
        ...

    @property
    def planes(self) -> Planes:
        """Its control planes."""
        ...

    @property
    def proxies(self) -> Proxies:
        """Its proxies, and how their admin interfaces are reached."""
        ...

    @property
    def folder(self) -> Path:
        """A private folder that exists as long as the edge."""
        ...

    @property
    def authority(self) -> Authority:
        """Signs the certificates of tenants."""
        ...

    @property
    def tenancy(self) -> Tenancy:
        """How tenants are made on it."""
        ...

    @property
    def sentinel(self) -> str:
        """Namespace of the tenant that is there from the start to the end."""
        ...

    @property
    def site(self) -> Site:
        """Where it answers, and by which authority its tenants' certificates are judged."""
        ...

    def doors(self) -> list[Door]:
        """Return the ways in that must answer alike, as far as they can be reached from here."""
        ...

    @property
    def beside(self) -> Launch:
        """What runs beside the clusters: a lab with its processes. Raises NotShown where there is none."""
        ...

    @property
    def login(self) -> LoginProvider:
        """Return the provider at which visitors log in; started at first use. Raises NotShown."""
        ...

    @property
    def origin(self) -> Backend:
        """Return the origin of HTTPProxies that want no other. Raises NotShown where there is none."""
        ...

    @property
    def operator(self) -> Operator:
        """Return the operator under test; one that is not `present` where there is none."""
        ...

    def close(self) -> None:
        """Leave it; the last one to leave ends what is not kept."""
        ...

    def alone(self) -> AbstractContextManager[None]:
        """Keep the other processes that use this edge out while a block runs."""
        ...

    def allow(self, action: str) -> None:
        """Raise NotShown where scenarios must not do this to the edge: `cold-restart`, `restart`, `kill`, `pause`."""
        ...

    def lacks(self, capability: str) -> str:
        """Return why it does not have a capability; an empty text when it has it."""
        ...

    def log_of(self, proxy: Proxy) -> ProxyLog:
        """Return what a proxy's Envoy writes."""
        ...

    def restart(self, component: str) -> None:
        """Restart a component, a dead one too, and return when it is ready. Raises NotShown where that cannot be."""
        ...

    def kill(self, component: str) -> None:
        """Kill a component; nothing restarts it."""
        ...

    def pause(self, component: str) -> None:
        """Freeze a component: it holds its connections and answers nothing."""
        ...

    def resume(self, component: str) -> None:
        """Let a frozen component go on."""
        ...

    def project(self, name: str) -> ControlPlane:
        """Return the control plane of a further project; started at first use. Raises NotShown."""
        ...

    def trouble(self, felled: set[str], *, thorough: bool) -> EnvironmentFault | None:
        """Return what has befallen it since its start, None while it is sound.

        Args:
            felled: components that a scenario has stopped on purpose.
            thorough: whether those that run are asked too.
        """
        ...

    def versions(self) -> Versions:
        """Return the versions that really run."""
        ...

    def usage(self) -> list[Usage]:
        """Return what each part uses right now; empty where that cannot be seen."""
        ...

    def tells(self) -> Mapping[str, Callable[[], str]]:
        """Return what it can tell when a test fails, beyond objects and the proxies' configuration: file to content."""
        ...


class Opener(Protocol):
    """Brings an edge up, or attaches to one; `edgegate.edge.backends.NAME` has it as `open_backend`."""

    def __call__(
        self,
        settings: Settings,
        run_key: str,
        *,
        done: Callable[[Took], None],
        progress: Progress,
        more_parts: Sequence[str],
    ) -> EdgeBackend:
        """Return a running edge. Raises UsageFault and EnvironmentFault; nothing is left then."""
        ...


def opener_of(name: str) -> Opener:
    """Return what opens edges of a backend; its module is imported now, not earlier."""
    module: Any = import_module(_MODULES[name])
    opener: Opener = module.open_backend
    return opener


_MODULES = {name: f"edgegate.edge.backends.{name}" for name in ("host", "kind", "attach")}
"""Backend to the module that opens its edges."""
