"""How an edge of somebody else's is reached from here: its addresses, its proxies' admin interfaces, their logs."""

import ipaddress
import socket
from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path

import httpx

from edgegate.clock import wait_until
from edgegate.clusters.kinds import POD, Ref
from edgegate.clusters.plane import ControlPlane
from edgegate.clusters.pods import PodPort, ThroughForward, ThroughProxy
from edgegate.components.envoy_gateway import ADMIN_PORT
from edgegate.edge.lab_told import LOG_LINES
from edgegate.edge.proxies import LABELS, Proxies, Proxy, Reach
from edgegate.edge.proxy_log import ProxyLog
from edgegate.edge.tenant import Site, Tenant
from edgegate.errors import AdminUnreachable, AttachRefused, NeverReady, NotShown
from edgegate.probes.envoy import EnvoyAdmin
from edgegate.records import Answer

OF_CLASS = "gateway.envoyproxy.io/owning-gatewayclass"
"""Label of the pods of a merged proxy."""
Way = Callable[[PodPort], httpx.BaseTransport]
HTTP = 80
_LOOK = 1.0
"""Seconds for one look at one address."""
_WAYS: tuple[Way, ...] = (ThroughProxy, ThroughForward)


def site(plane: ControlPlane, gateway: Ref, ca: Path) -> Site:
    """Return every address that a Gateway reports, host names looked up.

    Raises:
        NotShown: it reports none, or none that can be looked up.
    """
    reported = ((plane.get(gateway) or {}).get("status") or {}).get("addresses") or []
    found = dict.fromkeys(address for one in reported for address in _looked_up(one["value"]))
    if not found:
        raise NotShown(f"{gateway} reports no address that can be looked up from here: {reported}")
    first, *others = found
    return Site(first, ca, tuple(others))


def _looked_up(value: str) -> list[str]:
    try:
        return [str(ipaddress.ip_address(value))]
    except ValueError:  # a host name
        pass
    try:
        return sorted({str(one[4][0]) for one in socket.getaddrinfo(value, 443, type=socket.SOCK_STREAM)})
    except OSError:  # unknown here; whoever needs an address says that there is none
        return []


def proxies(plane: ControlPlane, gateway_class: str) -> Proxies:
    """Return the proxies of a class, and the way by which the first of them can be asked.

    Raises:
        NotShown: there is no pod of a proxy of that class.
    """
    labels = f"{LABELS},{OF_CLASS}={gateway_class}"
    pods = plane.list(POD, labels=labels)
    if not pods:
        raise NotShown(f"{plane.name} has no pod with labels {labels}, so nothing can be seen of the proxy")
    namespace = pods[0]["metadata"]["namespace"]
    return Proxies(plane, namespace=namespace, labels=labels, reach=_reach(plane, Proxy.of(pods[0]), namespace))


def _reach(plane: ControlPlane, proxy: Proxy, namespace: str) -> Reach:
    """Return the way that works: through the control plane, or by a forwarding where Envoy listens on loopback."""

    def by(way: Way) -> Reach:
        def admin(one: Proxy) -> EnvoyAdmin:
            port = PodPort(plane, namespace, one.name, ADMIN_PORT)
            return EnvoyAdmin(f"http://{one.name}:{ADMIN_PORT}", transport=way(port))

        return admin

    for way in _WAYS:
        try:
            with by(way)(proxy) as admin:
                admin.version()
        except AdminUnreachable:  # the next way
            continue
        return by(way)
    return by(ThroughForward)


def wait_reached(tenant: Tenant, within: float) -> None:
    """Return once a tenant is served at one of the edge's addresses at least; gates look at the others.

    Raises:
        AttachRefused: it is at none of them.
    """
    seen: dict[str, Answer] = {}

    def look() -> bool:
        for address in tenant.site.addresses:
            with tenant.probe(tls=False, address=address, timeout=_LOOK) as probe:
                seen[address] = probe.get("/")
        return any(answer.marker == tenant.marker for answer in seen.values())

    try:
        wait_until("an answer of the sentinel", look, deadline=within, every=0.05)
    except NeverReady:
        told = [f"{address} gave: {answer.describe()}" for address, answer in seen.items()]
        raise AttachRefused("the edge", [*told, "Are its addresses reachable from here?"]) from None


@lru_cache(maxsize=256)
def is_open(proxy: Proxy) -> bool:
    """Tell whether a proxy's pod can be connected to from here, at the ports that its listeners have.

    Most networks of pods cannot be reached from outside; and where containers listen on other ports than the
    listeners have (10080 for 80), a probe would have to name them.
    """
    if not proxy.address:
        return False
    try:
        socket.create_connection((proxy.address, HTTP), timeout=_LOOK / 2).close()
    except OSError:
        return False
    return True


def logs(log_of: Callable[[Proxy], ProxyLog], every: Iterable[Proxy]) -> str:
    """Return the end of what each proxy wrote, as far as its node tells."""
    told = {proxy.name: log_of(proxy).since("").splitlines()[-LOG_LINES:] for proxy in every}
    return "".join(f"===== {name}\n" + "\n".join(lines) + "\n" for name, lines in told.items() if lines)
