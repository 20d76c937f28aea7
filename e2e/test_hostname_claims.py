"""A host name or a zone belongs to the customer who claimed it first; when he lets it go, the other one gets it."""

import pytest

from edgegate import (
    ControlPlane,
    Customer,
    CustomerFactory,
    DomainFactory,
    Edge,
    HttpProxyFactory,
    Promises,
    ZoneFactory,
)

pytestmark = [
    pytest.mark.edge_gate("hostname-claims"),
    pytest.mark.edge_parts("operator"),
]


@pytest.mark.edge_exclusive
def test_two_customers_want_the_same(
    edge: Edge, customers: CustomerFactory, domain: DomainFactory, http_proxy: HttpProxyFactory, must: Promises
) -> None:
    """The second one is told that the name is in use and is never served; after its release he is, within seconds."""
    _second_must_wait(edge, must, domain, http_proxy, customers("first"), customers("second"))


@pytest.mark.edge_exclusive
def test_two_projects_want_the_same(
    edge: Edge,
    project: ControlPlane,
    customers: CustomerFactory,
    domain: DomainFactory,
    http_proxy: HttpProxyFactory,
    must: Promises,
) -> None:
    """The same for customers of two projects, who see nothing of each other."""
    _second_must_wait(edge, must, domain, http_proxy, customers("first"), customers("second", project=project))


def _second_must_wait(
    edge: Edge,
    must: Promises,
    domain: DomainFactory,
    http_proxy: HttpProxyFactory,
    first: Customer,
    second: Customer,
) -> None:
    domains = [domain(customer=first)]
    domains.append(domain(domains[0].name, customer=second))
    proofs = [one.proof(edge.limits.accepted) for one in domains]
    edge.dns.publish(domains[0].name, proofs[0].name, *(one.content for one in proofs), within=edge.limits.converge)
    for one in domains:
        one.refresh()
        one.wait_verified(edge.limits.converge)
    host = f"www.{domains[0].name}"
    holder = http_proxy(host, name="holder", customer=first)
    must.serve(holder, host)
    loser = http_proxy(host, name="loser", customer=second)
    with must.stay_served((holder, host, False)):
        must.report(loser, host, "Available", status="False", reason="InUse")
        must.say(loser, "HostnamesInUse", reason="HostnameInUse")
        must.never_answer(loser, "served", lambda: loser.wait_served(host, within=edge.limits.settle))
    holder.remove(edge.limits.gone)
    must.serve(loser, host, within=edge.limits.released)
    must.report(loser, host, "Available")


def test_zone_of_two_customers(edge: Edge, customers: CustomerFactory, dns_zone: ZoneFactory, must: Promises) -> None:
    """The zone of a domain that another customer serves waits, and says why; once that one is gone it is served."""
    first, second = customers("first"), customers("second")
    holder = dns_zone(customer=first)
    loser = dns_zone(name=holder.name, customer=second, ready=False)
    loser.create()
    must.come(loser, "Accepted=False, DNSZoneInUse", lambda: loser.wait_waiting(edge.limits.accepted, "DNSZoneInUse"))
    must.never_come(loser, "Programmed=True", lambda: loser.wait_programmed(edge.limits.settle))
    holder.remove(edge.limits.gone)
    must.come(loser, "Programmed=True", lambda: loser.wait_programmed(edge.limits.released))
