"""A tenant of the edge: a namespace, a Gateway with HTTP and HTTPS, a route, and an origin of its own."""

import base64
import random
import sys
from dataclasses import dataclass
from pathlib import Path

from edgegate.clusters.kinds import GATEWAY, HTTP_ROUTE, NAMESPACE, SECRET, Ref
from edgegate.clusters.plane import ControlPlane, Manifest, is_true
from edgegate.components import envoy_gateway
from edgegate.components.cluster_dns import without_selector
from edgegate.components.launch import BASE_ENVIRONMENT
from edgegate.components.pki import Authority, KeyPair
from edgegate.errors import PortTaken
from edgegate.lab import Lab, ProcessSpec, Ready
from edgegate.probes.http import HttpProbe

DOMAIN = "edge.test"
_ORIGIN_PORTS = (20000, 29999)
_CANARY = "x-edgegate-canary"


@dataclass(frozen=True)
class Site:
    """Where the edge answers, and how its certificates are judged."""

    address: str
    """The shared load-balancer address."""
    ca: Path
    """PEM file of the authority that signs the tenants' certificates."""


class Tenant:
    """One tenant, as scenarios use it; made by the fixture `tenant`."""

    def __init__(self, name: str, namespace: str, plane: ControlPlane, site: Site) -> None:
        self.name = name
        self.namespace = namespace
        self.marker = namespace
        self.host = host_of(namespace)
        self.gateway = gateway_of(namespace)
        self.route = _route_of(namespace)
        self.site = site
        self._plane = plane

    def __repr__(self) -> str:
        return f"tenant {self.name} ({self.host})"

    def probe(self, *, tls: bool, host: str | None = None, timeout: float = 5.0) -> HttpProbe:
        """Return a probe that asks the edge for this tenant (or for another host of it) over HTTP or HTTPS."""
        return HttpProbe(self.site.address, host or self.host, tls=tls, ca=self.site.ca, timeout=timeout)

    def edit_route(self, value: str) -> None:
        """Change the tenant's route: from now on each answer carries the canary header with this value."""
        rule = _rule({_CANARY: value})
        self._plane.patch(self.route, {"spec": {"rules": [rule]}})

    def add_listener(self, authority: Authority, host: str) -> None:
        """Give the tenant's Gateway one more HTTPS host, with a certificate of its own."""
        name = host.partition(".")[0]
        self._plane.apply(_tls_secret(self.namespace, name, authority.issue([host])))
        gateway = self._plane.get(self.gateway)
        assert gateway is not None
        added = _listener(name, 443, host, secret=name)
        self._plane.patch(self.gateway, {"spec": {"listeners": [*gateway["spec"]["listeners"], added]}})

    @staticmethod
    def canary_of(headers: dict[str, str]) -> str | None:
        """Return the canary value of an answer's headers."""
        return headers.get(_CANARY)

    def wait_programmed(self, within: float) -> None:
        """Return once the tenant's Gateway is programmed.

        Raises:
            NeverReady: not within that many seconds.
        """
        self._plane.wait(
            self.gateway, lambda found: is_true(found, "Programmed"), what=f"{self.gateway} programmed", within=within
        )


def host_of(namespace: str) -> str:
    """Return the host name of the tenant in a namespace."""
    return f"{namespace}.{DOMAIN}"


def gateway_of(namespace: str) -> Ref:
    """Return the Gateway of the tenant in a namespace."""
    return Ref(GATEWAY, "edge", namespace)


def _route_of(namespace: str) -> Ref:
    return Ref(HTTP_ROUTE, "site", namespace)


def build(namespace: str, plane: ControlPlane, lab: Lab, authority: Authority) -> None:
    """Create a tenant's objects and start its origin; does not wait for the proxy."""
    port = _start_origin(lab, namespace)
    plane.namespace(namespace, {envoy_gateway.TENANT_LABEL: "edge"})
    ports = [{"name": "http", "port": 80, "protocol": "TCP"}]
    plane.apply(
        *without_selector(namespace, "origin", lab.net.lab_ip, ports, target_port=port),
        _tls_secret(namespace, "site", authority.issue([host_of(namespace)])),
        _gateway(namespace),
        _route(namespace),
    )


def remove(tenant: Tenant, plane: ControlPlane, lab: Lab, *, within: float) -> None:
    """Delete a tenant and its origin, and return when nothing of it is left."""
    plane.delete(tenant.gateway)
    plane.delete(tenant.route)
    plane.delete_and_wait(Ref(NAMESPACE, tenant.namespace), within=within)
    lab.remove(_origin_name(tenant.namespace))


def _start_origin(lab: Lab, marker: str) -> int:
    """Start the origin on a free port of the lab and return the port."""
    while True:
        port = random.randint(*_ORIGIN_PORTS)  # noqa: S311 - only spreads the ports
        listen = f"{lab.net.lab_ip}:{port}"
        server = ("-m", "edgegate.components.origin_server", "--listen", listen, "--marker", marker)
        ready = Ready(kind="http", address=f"http://{listen}/", limit=30)
        try:
            lab.start(ProcessSpec(_origin_name(marker), (sys.executable, *server), dict(BASE_ENVIRONMENT), ready=ready))
        except PortTaken:
            continue
        return port


def _origin_name(marker: str) -> str:
    return f"origin-{marker}"


def _gateway(namespace: str) -> Manifest:
    host = host_of(namespace)
    listeners = [_listener("http", 80, host), _listener("https", 443, host, secret="site")]  # noqa: S106
    return gateway_of(namespace).manifest({"gatewayClassName": envoy_gateway.CLASS_NAME, "listeners": listeners})


def _listener(name: str, port: int, host: str, *, secret: str | None = None) -> Manifest:
    listener: Manifest = {"name": name, "port": port, "hostname": host, "protocol": "HTTPS" if secret else "HTTP"}
    if secret:
        listener["tls"] = {"mode": "Terminate", "certificateRefs": [{"name": secret}]}
    return listener


def _route(namespace: str) -> Manifest:
    return _route_of(namespace).manifest({"parentRefs": [{"name": gateway_of(namespace).name}], "rules": [_rule({})]})


def _rule(headers: dict[str, str]) -> Manifest:
    rule: Manifest = {"backendRefs": [{"name": "origin", "port": 80}]}
    if headers:
        values = [{"name": name, "value": value} for name, value in headers.items()]
        rule["filters"] = [{"type": "ResponseHeaderModifier", "responseHeaderModifier": {"set": values}}]
    return rule


def _tls_secret(namespace: str, name: str, pair: KeyPair) -> Manifest:
    data = {
        "tls.crt": base64.b64encode(pair.certificate).decode(),
        "tls.key": base64.b64encode(pair.key).decode(),
    }
    return Ref(SECRET, name, namespace).manifest(type="kubernetes.io/tls", data=data)
