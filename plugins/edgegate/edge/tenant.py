"""A tenant of the edge: a namespace, a Gateway with HTTP and HTTPS, a route, and an origin of its own."""

import base64
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from edgegate.clusters.kinds import GATEWAY, HTTP_ROUTE, NAMESPACE, SECRET, Ref
from edgegate.clusters.plane import ControlPlane, Manifest, is_true
from edgegate.components.pki import Authority, KeyPair, sha256_of
from edgegate.edge.asking import wait_for_answer
from edgegate.edge.tenancy import Tenancy
from edgegate.probes.http import HttpProbe

DOMAIN = "edge.test"
CANARY = "x-edgegate-canary"
"""Header by which a route edit shows on the wire."""


@dataclass(frozen=True)
class Site:
    """Where the edge answers, and how its certificates are judged."""

    address: str
    """The shared load-balancer address."""
    ca: Path
    """PEM file of the authority that signs the tenants' certificates."""
    others: tuple[str, ...] = ()
    """Further addresses at which the same must be answered."""

    @property
    def addresses(self) -> tuple[str, ...]:
        """Every address."""
        return (self.address, *self.others)


class Tenant:
    """One tenant, as scenarios use it; made by the fixture `tenant`."""

    def __init__(self, name: str, namespace: str, plane: ControlPlane, site: Site, tenancy: Tenancy) -> None:
        self.name = name
        self.namespace = namespace
        self.marker = namespace
        self.host = host_of(namespace)
        self.gateway = gateway_of(namespace)
        self.route = _route_of(namespace)
        self.site = site
        self._plane, self._tenancy = plane, tenancy

    def __repr__(self) -> str:
        return f"tenant {self.name} ({self.host})"

    def probe(self, *, tls: bool, host: str | None = None, timeout: float = 5.0, address: str = "") -> HttpProbe:
        """Return a probe that asks the edge for this tenant (or for another host of it) over HTTP or HTTPS."""
        return HttpProbe(address or self.site.address, host or self.host, tls=tls, ca=self.site.ca, timeout=timeout)

    @property
    def labels(self) -> Mapping[str, str]:
        """What a namespace of a tenant must carry to be seen by Envoy Gateway."""
        return self._tenancy.labels

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the tenant's own certificate, as probes report it."""
        secret = self._plane.get(Ref(SECRET, "site", self.namespace))
        assert secret is not None
        return sha256_of(base64.b64decode(secret["data"]["tls.crt"]))

    def edit_route(self, value: str) -> None:
        """Change the tenant's route: from now on each answer carries the header `CANARY` with this value."""
        rule = self._tenancy.origins.rule(self.namespace, {CANARY: value})
        self._plane.patch(self.route, {"spec": {"rules": [rule]}})

    def time_edit(self, within: float) -> float:
        """Return the seconds from an edit of the route to the first answer that shows it: the edge without an operator.

        Raises:
            NeverReady: no answer showed it within that many seconds.
        """
        value = secrets.token_hex(4)
        with self.probe(tls=False) as probe:
            began = time.monotonic()
            self.edit_route(value)
            what = f"an edit of {self.name}'s route on the wire"
            wait_for_answer(probe, lambda answer: answer.header(CANARY) == value, what=what, within=within)
            return time.monotonic() - began

    def add_host(self, authority: Authority, label: str) -> str:
        """Give the tenant's Gateway one more HTTPS listener and return its host, which is below the tenant's own."""
        host = f"{label}.{self.host}"
        self._plane.apply(tls_secret(self.namespace, label, authority.issue([host])))
        self._set_listeners([*_listeners(self.namespace), _listener(label, 443, host, secret=label)])
        return host

    def drop_hosts(self) -> None:
        """Take the added listeners away again."""
        self._set_listeners(_listeners(self.namespace))

    def _set_listeners(self, listeners: list[Manifest]) -> None:
        self._plane.patch(self.gateway, {"spec": {"listeners": listeners}})

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


def build(namespace: str, plane: ControlPlane, tenancy: Tenancy, authority: Authority) -> None:
    """Create a tenant's objects and start its origin; does not wait for the proxy."""
    origin = tenancy.origins.start(namespace)
    plane.namespace(namespace, tenancy.labels)
    plane.apply(
        *origin,
        tls_secret(namespace, "site", authority.issue([host_of(namespace)])),
        _gateway(namespace, tenancy.gateway_class),
        _route(namespace, tenancy.origins.rule(namespace, {})),
    )


def remove(tenant: Tenant, plane: ControlPlane, tenancy: Tenancy, *, within: float) -> None:
    """Delete a tenant and its origin; return when its Gateway and route are gone.

    Its namespace goes a little later: the namespace controller waits 5 s before it looks at a deleted one.
    """
    plane.delete(Ref(NAMESPACE, tenant.namespace))
    plane.delete_and_wait(tenant.route, tenant.gateway, within=within)
    tenancy.origins.remove(tenant.namespace)


def _gateway(namespace: str, class_name: str) -> Manifest:
    return gateway_of(namespace).manifest({"gatewayClassName": class_name, "listeners": _listeners(namespace)})


def _listeners(namespace: str) -> list[Manifest]:
    host = host_of(namespace)
    return [_listener("http", 80, host), _listener("https", 443, host, secret="site")]  # noqa: S106 - an object's name


def _listener(name: str, port: int, host: str, *, secret: str | None = None) -> Manifest:
    listener: Manifest = {"name": name, "port": port, "hostname": host, "protocol": "HTTPS" if secret else "HTTP"}
    if secret:
        listener["tls"] = {"mode": "Terminate", "certificateRefs": [{"name": secret}]}
    return listener


def _route(namespace: str, rule: Manifest) -> Manifest:
    return _route_of(namespace).manifest({"parentRefs": [{"name": gateway_of(namespace).name}], "rules": [rule]})


def tls_secret(namespace: str, name: str, pair: KeyPair) -> Manifest:
    """Return the Secret of a certificate, as listeners refer to it."""
    data = {
        "tls.crt": base64.b64encode(pair.certificate).decode(),
        "tls.key": base64.b64encode(pair.key).decode(),
    }
    return Ref(SECRET, name, namespace).manifest(type="kubernetes.io/tls", data=data)
