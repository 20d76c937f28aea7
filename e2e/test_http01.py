"""A host name gets its certificate by HTTP-01 through the edge, whatever else acts on it or goes wrong beside it."""

import pytest

from edgegate import (
    CustomerLoginFactory,
    DomainFactory,
    Edge,
    Gate,
    HttpProxyFactory,
    Promises,
    Source,
    Target,
    ZoneFactory,
)

pytestmark = [
    pytest.mark.edge_gate("http01"),
    pytest.mark.edge_exclusive,
    pytest.mark.edge_parts("operator"),
    pytest.mark.timeout(240),
]


def test_challenge_comes_through_the_edge(
    edge: Edge, gate: Gate, dns_zone: ZoneFactory, http_proxy: HttpProxyFactory, must: Promises
) -> None:
    """From nothing to a trusted certificate; the authority's own request reached the edge and was answered there."""
    host = dns_zone().host("www")
    proxy = http_proxy(host)
    if must.serve(proxy, host, tls=True):
        asked = edge.acme.challenges(host)
        gate.note("; ".join(f"{one.agent} asked for {one.token[:8]}…: {one.status}" for one in asked))
    must.report(proxy, host, "CertificateReady")


def test_challenge_behind_login(
    edge: Edge,
    gate: Gate,
    dns_zone: ZoneFactory,
    http_proxy: HttpProxyFactory,
    customer_login: CustomerLoginFactory,
    must: Promises,
) -> None:
    """A host name that is added to a Gateway with login gets its certificate; its visitors have to log in."""
    zone = dns_zone()
    host = zone.host("www")
    proxy = http_proxy()
    canonical = proxy.canonical()
    must.serve(proxy, canonical)
    login = customer_login(proxy, Target.GATEWAY, canonical)
    login.create_secret()
    login.create()
    login.wait_asked(edge.limits.converge)
    gate.poison("the Gateway demands a login", live=True, evidence=f"{canonical} sends visitors to {login.provider}")
    proxy.edit(hostnames=(host,))
    must.report(proxy, host, "CertificateReady", within=edge.limits.converged)
    with gate.must(Source.TRAFFIC, f"https://{host}", f"302 to {login.provider}, with a trusted certificate"):
        login.wait_asked(edge.limits.converge, host=host, tls=True)


def test_one_bad_name_beside_a_good_one(
    edge: Edge,
    gate: Gate,
    dns_zone: ZoneFactory,
    domain: DomainFactory,
    http_proxy: HttpProxyFactory,
    must: Promises,
) -> None:
    """A host name that does not resolve gets no certificate and holds nobody back; once it resolves, it gets one."""
    good, kept_elsewhere = dns_zone().host("good"), domain()
    bad = f"www.{kept_elsewhere.name}"
    kept_elsewhere.prove(edge.dns, within=edge.limits.converge)
    proxy = http_proxy(bad, good)
    must.resolve(good, within=edge.limits.released)
    must.serve(proxy, good, tls=True, within=edge.limits.released)
    must.serve(proxy, bad)
    must.report(
        proxy, bad, "CertificateReady", status="False", reason="ProvisioningFailed", within=edge.limits.converged
    )
    gate.poison(f"{bad} does not resolve", live=True, evidence=edge.dns.authoritative.query(bad).describe())
    later = f"api.{good.partition('.')[2]}"
    proxy.edit(hostnames=(bad, good, later))
    must.resolve(later, within=edge.limits.released)
    must.serve(proxy, later, tls=True, within=edge.limits.released)
    edge.dns.api.replace(kept_elsewhere.name, bad, "A", [edge.site.address], ttl=1)
    must.serve(proxy, bad, tls=True)
