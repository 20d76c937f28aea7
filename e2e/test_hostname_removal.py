"""A host name that is taken away leaves nothing behind, and the others never notice."""

import pytest

from edgegate import Edge, HttpProxyFactory, Promises, ZoneFactory

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


def test_all_is_deleted(edge: Edge, must: Promises, dns_zone: ZoneFactory, http_proxy: HttpProxyFactory) -> None:
    """With the proxy everything goes that was made for it: on the edge cluster, and at the name servers."""
    zone = dns_zone()
    host = zone.host("www")
    proxy = http_proxy(host)
    canonical = proxy.canonical()
    proxy.wait_served(host, tls=True, within=edge.limits.converged)
    proxy.delete()
    for name in (host, canonical):
        must.not_resolve(name)
    must.vanish(proxy, host, canonical)
