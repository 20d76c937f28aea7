"""Gateways, classes and routes that a customer writes himself, without an HTTPProxy."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from edgegate.clusters import kinds
from edgegate.clusters.kinds import Ref
from edgegate.clusters.plane import Manifest, conditions
from edgegate.components.operator import CLASS_NAME, CONTROLLER
from edgegate.edge.customer import Customer

FOREIGN = "example.org/another-controller"
ISSUER = "gateway.networking.datumapis.com/certificate-issuer"
"""TLS option of a listener: who issues its certificate."""


class CustomerGateway:
    """One Gateway of a customer's own; made by the fixture `customer_gateway`."""

    def __init__(
        self,
        name: str,
        customer: Customer,
        class_name: str = "",
        *,
        hosts: Sequence[str | None],
        issuers: Mapping[str, str] | None = None,
    ) -> None:
        self.customer, self.class_name = customer, class_name or CLASS_NAME
        self.ref = customer.ref(kinds.GATEWAY, name)
        self.hosts, self.issuers = tuple(hosts), dict(issuers or {})

    def __repr__(self) -> str:
        return f"Gateway {self.ref.namespace}/{self.ref.name}"

    @property
    def manifest(self) -> Manifest:
        """What is created: one HTTP listener a host name (None is one without), and HTTPS for those with an issuer."""
        spec = {"gatewayClassName": self.class_name, "listeners": list(self._listeners())}
        return self.ref.manifest(spec)

    def _listeners(self) -> Iterator[Manifest]:
        for number, host in enumerate(self.hosts):
            named = {} if host is None else {"hostname": host}
            yield {"name": f"mine-{number}", "port": 80, "protocol": "HTTP", **_SAME, **named}
        for number, (host, issuer) in enumerate(self.issuers.items()):
            tls = {"mode": "Terminate", "options": {ISSUER: issuer}}
            https = {"port": 443, "protocol": "HTTPS", "hostname": host, "tls": tls}
            yield {"name": f"secure-{number}", **https, **_SAME}

    def create(self) -> None:
        """Create it."""
        self.customer.upstream.create(self.manifest)

    def remove(self, within: float) -> None:
        """Delete it and return when it is gone."""
        self.customer.upstream.delete_and_wait(self.ref, within=within)

    def wait_condition(self, condition: str, status: str, within: float) -> Manifest:
        """Return the Gateway as soon as it has a condition with that status. Raises NeverReady."""
        return self._wait(
            lambda found: conditions(found).get(condition, {}).get("status") == status, f"{condition}={status}", within
        )

    def wait_looked_at(self, within: float) -> Manifest:
        """Return the Gateway as soon as the operator has judged its present form. Raises NeverReady."""
        return self._wait(_looked_at, "looked at", within)

    def _wait(self, accept: Callable[[Manifest | None], object], what: str, within: float) -> Manifest:
        return self.customer.upstream.wait(self.ref, accept, what=f"{self!r}: {what}", within=within) or {}


_SAME = {"allowedRoutes": {"namespaces": {"from": "Same"}}}


def _looked_at(gateway: Manifest | None) -> bool:
    found = conditions(gateway).get("Programmed", {})
    generation = (gateway or {}).get("metadata", {}).get("generation", 0)
    return found.get("status") in ("True", "False") and found.get("observedGeneration") == generation


def gateway_class(name: str, *, ours: bool) -> Manifest:
    """Return a class of the operator's under another name, or one of somebody else."""
    return Ref(kinds.GATEWAY_CLASS, name).manifest({"controllerName": CONTROLLER if ours else FOREIGN})


def route_with_hostnames(customer: Customer, gateway: Ref, hostname: str) -> Manifest:
    """Return an HTTPRoute that names its host names itself, which the edge does not support."""
    spec = {"parentRefs": [{"name": gateway.name}], "hostnames": [hostname]}
    return customer.ref(kinds.HTTP_ROUTE, "own-hostnames").manifest(spec)


def redirecting_route(customer: Customer, gateway: Ref, name: str) -> Manifest:
    """Return an HTTPRoute of the customer's own that needs no origin: it redirects what asks for its name as a path."""
    elsewhere = {"type": "RequestRedirect", "requestRedirect": {"hostname": f"elsewhere.{customer.namespace}.test"}}
    rule = {"matches": [{"path": {"type": "Exact", "value": f"/{name}"}}], "filters": [elsewhere]}
    return customer.ref(kinds.HTTP_ROUTE, name).manifest({"parentRefs": [{"name": gateway.name}], "rules": [rule]})
