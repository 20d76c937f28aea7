"""A host name that is taken away leaves nothing behind, and the others never notice."""

import pytest

from edgegate import (
    Apply,
    Customer,
    CustomerLoginFactory,
    Edge,
    HttpProxyFactory,
    Promises,
    Target,
    ZoneFactory,
    inconclusive,
)

# Continuous looks: no other test may use the shared proxy meanwhile.
pytestmark = [
    pytest.mark.edge_gate("hostname-removal"),
    pytest.mark.edge_exclusive,
    pytest.mark.edge_parts("operator"),
]


@pytest.mark.parametrize("going_first", [True, False], ids=["first", "last"])
def test_one_of_two_is_removed(
    edge: Edge, must: Promises, dns_zone: ZoneFactory, http_proxy: HttpProxyFactory, going_first: bool
) -> None:
    """One of two names goes, with its record, certificate, Secret, order and claim; the other is never dark.

    It makes a difference which: operators number listeners, so the first one's removal renames the others.
    """
    zone = dns_zone()
    going, staying = zone.host("going"), zone.host("staying")
    proxy = http_proxy(*((going, staying) if going_first else (staying, going)))
    for host in (going, staying):
        proxy.wait_served(host, tls=True, within=edge.limits.converged)
    with must.stay_served((proxy, staying, True), (proxy, staying, False)):
        proxy.edit(hostnames=(staying,))
        must.not_resolve(going)
        must.answer(proxy, going, 404)
        must.vanish(proxy, going)


@pytest.mark.usefixtures("quota_claims")
def test_quota_is_given_back(edge: Edge, must: Promises, customer: Customer, http_proxy: HttpProxyFactory) -> None:
    """The claims of a deleted proxy's objects go with them, the others stay; made anew, it holds its claims again."""
    if not edge.has("quota-claims"):
        inconclusive("claims of quota are made by another service, Milo, which the lab does not run")
    going, staying = http_proxy(name="going"), http_proxy(name="staying")
    must.hold_claims(customer, going, staying)
    going.remove(edge.limits.gone)
    must.hold_claims(customer, staying)
    must.hold_claims(customer, staying, http_proxy(name="going"))


@pytest.mark.usefixtures("quota_claims")
def test_all_is_deleted(
    edge: Edge,
    must: Promises,
    customer: Customer,
    dns_zone: ZoneFactory,
    http_proxy: HttpProxyFactory,
    customer_login: CustomerLoginFactory,
    apply: Apply,
) -> None:
    """When a customer has deleted everything, nothing is left: on no plane, of no claim, at no name server."""
    zone = dns_zone()
    host = zone.host("www")
    proxy = http_proxy(host)
    canonical = proxy.canonical()
    proxy.wait_served(host, tls=True, within=edge.limits.converged)
    apply(proxy.firewall(), to=edge.upstream)
    login = customer_login(proxy, Target.ROUTE, canonical)
    login.create_secret()
    login.create()
    login.wait_asked(edge.limits.converge)
    must.hold_claims(customer, proxy)
    proxy.delete()
    for name in (host, canonical):
        must.not_resolve(name)  # while the zone is still served
    login.remove(edge.limits.gone)
    must.come(customer, "everything deleted", lambda: customer.delete_everything(edge.limits.gone))
    must.leave_nothing(customer, zone.name, canonical)
