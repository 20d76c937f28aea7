"""What cannot be served is refused, or is told; what was only early is served once it can be."""

import secrets

import pytest

from edgegate import (
    Apply,
    Customer,
    Edge,
    GatewayFactory,
    HttpProxyFactory,
    OriginFactory,
    Promises,
    ZoneFactory,
    gateway_class,
    route_with_hostnames,
)

pytestmark = [
    pytest.mark.edge_gate("truth"),
    pytest.mark.edge_parts("operator"),
]


@pytest.mark.edge_exclusive
def test_listener_without_host_name(
    edge: Edge, dns_zone: ZoneFactory, customer: Customer, customer_gateway: GatewayFactory, must: Promises
) -> None:
    """A listener that nobody serves is refused; where it came past admission, its Gateway is not programmed."""
    gateway = customer_gateway("nameless", dns_zone().host("good"), None)

    def dry_run() -> None:
        customer.dry_run(gateway.manifest)

    must.refuse(gateway, dry_run, saying="hostname")
    with edge.operator.without_admission(customer.namespace, dry_run, within=edge.limits.recover):
        gateway.create()
    must.come(gateway, "Accepted=True", lambda: gateway.wait_condition("Accepted", "True", edge.limits.programmed))
    must.come(gateway, "Programmed=False", lambda: gateway.wait_condition("Programmed", "False", edge.limits.released))
    must.never_come(
        gateway, "Programmed=True", lambda: gateway.wait_condition("Programmed", "True", edge.limits.settle)
    )
    if not must.come(gateway, "gone after its deletion", lambda: gateway.remove(edge.limits.gone)):
        with edge.operator.without_admission(customer.namespace, dry_run, within=edge.limits.recover):
            gateway.remove(edge.limits.gone)


@pytest.mark.edge_exclusive
def test_class_of_somebody_else(
    edge: Edge,
    customer: Customer,
    apply: Apply,
    dns_zone: ZoneFactory,
    customer_gateway: GatewayFactory,
    must: Promises,
) -> None:
    """A Gateway of a class that the operator does not manage is refused, and is not served in any case."""
    name = f"foreign-{secrets.token_hex(3)}"
    apply(gateway_class(name, ours=False), to=edge.upstream)
    gateway = customer_gateway("foreign", dns_zone().host("foreign"), class_name=name)

    def dry_run() -> None:
        customer.dry_run(gateway.manifest)

    if must.refuse_soon(gateway, dry_run, saying=name, within=edge.limits.accepted):
        with edge.operator.without_admission(customer.namespace, dry_run, within=edge.limits.recover):
            gateway.create()
    must.never_come(gateway, "Accepted=True", lambda: gateway.wait_condition("Accepted", "True", edge.limits.settle))


def test_class_after_its_gateway(
    edge: Edge, apply: Apply, dns_zone: ZoneFactory, customer_gateway: GatewayFactory, must: Promises
) -> None:
    """A Gateway that came before its class is refused at once, or is looked at again when the class is there."""
    name = f"late-{secrets.token_hex(3)}"
    gateway = customer_gateway("early", dns_zone().host("early"), class_name=name)
    why = must.refused(gateway.create)
    if why:
        must.tell(gateway, name, why)
        return
    must.never_come(gateway, "Accepted=True", lambda: gateway.wait_condition("Accepted", "True", edge.limits.settle))
    apply(gateway_class(name, ours=True), to=edge.upstream)
    must.come(gateway, "Accepted=True", lambda: gateway.wait_condition("Accepted", "True", edge.limits.released))


def test_route_with_host_names(customer: Customer, customer_gateway: GatewayFactory, must: Promises) -> None:
    """A route must not name host names itself; it is told that they belong to the listeners."""
    gateway = customer_gateway("parent", f"parent.{customer.namespace}.test")
    gateway.create()
    route = route_with_hostnames(customer, gateway.ref, f"parent.{customer.namespace}.test")
    must.refuse("a route with spec.hostnames", lambda: customer.dry_run(route), saying="hostnames")


def test_origin_by_name_and_by_address(http_proxy: HttpProxyFactory, origin: OriginFactory, must: Promises) -> None:
    """An origin is reached whichever way it is written, and a change of the way is followed."""
    first, second = origin("first"), origin("second")
    proxy = http_proxy(backend=first.by_name)
    host = proxy.canonical()
    must.come_from(proxy, host, first)
    for other, backend in ((second, second.by_address), (first, first.by_name)):
        proxy.edit(backend=backend)
        must.come_from(proxy, host, other)
        must.say(proxy, "Programmed")
