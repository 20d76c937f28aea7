"""The ladder as scenarios climb it: one tenant whose route leads to the ladder's origin."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from edgegate.clusters.plane import ControlPlane, Manifest, conditions
from edgegate.components import ladder
from edgegate.components.cluster_dns import without_selector
from edgegate.components.launch import Launch
from edgegate.edge.tenant import Tenant
from edgegate.errors import EnvironmentFault, NotShown
from edgegate.probes.ladder import Place, Rung, Sight, climb, differences, refused
from edgegate.probes.rungs import transparency
from edgegate.records import Source
from edgegate.report.gate import Gate

H2C = "kubernetes.io/h2c"
"""What a Service says when it speaks HTTP/2 without TLS."""
SECOND = "/two"
"""Paths that begin with this reach the origin by HTTP/2; the prefix is taken away on the way."""
GRPC = "/edgegate.Ladder/"
"""Paths of gRPC methods."""


@dataclass(frozen=True)
class Climbed:
    """A rung, and what was seen of it at the origin and through the edge."""

    rung: Rung
    """The exchange."""
    there: Sight
    """What the client saw at the origin."""
    here: Sight
    """What it saw through the edge."""


class Ladder:
    """The ladder of one edge."""

    def __init__(self, launch: Launch, plane: ControlPlane) -> None:
        """Take what is needed to reach the origin.

        Raises:
            NotShown: the edge was made without the part `ladder`.
        """
        if ladder.NAME not in launch.parts:
            raise NotShown("this edge was made without the part 'ladder', so no origin answers as it is told")
        self._launch, self._plane = launch, plane

    def serve(self, tenant: Tenant, within: float) -> None:
        """Lead a tenant's route to the origin; return when Envoy Gateway has resolved it.

        Raises:
            NeverReady: not within that many seconds.
        """
        address, namespace = self._launch.lab.net.lab_ip, tenant.namespace
        for name, protocol in (("ladder-one", {}), ("ladder-two", {"appProtocol": H2C})):
            ports = [{"name": "http", "port": 80, "protocol": "TCP", **protocol}]
            self._plane.apply(*without_selector(namespace, name, address, ports, target_port=ladder.PORT))
        route = self._plane.patch(tenant.route, {"spec": {"rules": _rules()}})
        generation = route["metadata"]["generation"]
        self._plane.wait(tenant.route, lambda one: _resolved(one, generation), what="the ladder's route", within=within)

    def climb(self, tenant: Tenant, rungs: Sequence[Rung]) -> list[Climbed]:
        """Climb every rung at the origin and through the edge over TLS, and return both sights of each.

        Raises:
            EnvironmentFault: the origin itself did not answer as it was told.
            CommandFailed: the client did not come to its end.
        """
        edge = Place(f"{tenant.site.address}:443", tenant.host, tenant.site.ca)
        return seen_twice(self._launch, edge, rungs)

    def judge(
        self,
        gate: Gate,
        tenant: Tenant,
        *,
        limit: int | None = None,
        refusals: Sequence[int] = (),
        reframed: bool = False,
    ) -> None:
        """Climb every rung, and add whatever does not come out as it went in to the gate.

        Args:
            gate: where findings go.
            tenant: one that is served by the ladder's origin.
            limit: bytes of a further limit that somebody on the way has; sizes around it are climbed too.
            refusals: statuses by which a request that is longer than that may be refused.
            reframed: whether somebody on the way may send in chunks what came with a length.

        Raises:
            EnvironmentFault, CommandFailed: as `climb`.
        """
        climbed = self.climb(tenant, transparency(limit=limit, refusals=refusals))
        for one in climbed:
            seen = "; ".join(differences(one.rung, one.there, one.here, reframed=reframed))
            gate.check(Source.TRAFFIC, one.rung.name, "as at the origin", seen or "the same", right=not seen)
        over = refused([one.rung for one in climbed], [one.here for one in climbed])
        told = f", of which {len(over)} were refused as documented: {', '.join(over)}" if over else ""
        gate.note(f"{len(climbed)} exchanges{told}")


def seen_twice(launch: Launch, edge: Place, rungs: Sequence[Rung]) -> list[Climbed]:
    """Climb every rung at the ladder's origin and at a place of the edge, and return both sights of each.

    Raises:
        EnvironmentFault: the origin itself did not answer as it was told.
        CommandFailed: the client did not come to its end.
    """
    program, origin = ladder.program(launch), Place(ladder.address(launch.lab.net), edge.host)
    direct = [replace(rung, path=rung.path.removeprefix(SECOND)) for rung in rungs]
    with ThreadPoolExecutor(1) as beside:
        at_origin = beside.submit(climb, program, origin, direct)
        here = climb(program, edge, rungs)
        there = at_origin.result()
    for sight in there:
        if sight.error:
            raise EnvironmentFault(f"the ladder's origin failed at '{sight.name}': {sight.describe()}")
    return [Climbed(*three) for three in zip(rungs, there, here, strict=True)]


def _resolved(route: Manifest | None, generation: int) -> bool:
    parents = ((route or {}).get("status") or {}).get("parents") or [{}]
    found = conditions({"status": parents[0]}).get("ResolvedRefs", {})
    return found.get("status") == "True" and found.get("observedGeneration") == generation


def _rules() -> list[Manifest]:
    """Return the rules of the route: gRPC and `/two/…` by HTTP/2, the rest by HTTP/1.1."""
    cut = {"type": "ReplacePrefixMatch", "replacePrefixMatch": "/"}
    return [
        _rule(GRPC, "ladder-two"),
        {
            **_rule(f"{SECOND}/", "ladder-two"),
            "filters": [{"type": "URLRewrite", "urlRewrite": {"path": cut}}],
        },
        _rule("/", "ladder-one"),
    ]


def _rule(prefix: str, service: str) -> Manifest:
    return {
        "matches": [{"path": {"type": "PathPrefix", "value": prefix}}],
        "backendRefs": [{"name": service, "port": 80}],
    }
