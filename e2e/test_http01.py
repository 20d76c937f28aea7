"""A host name gets its certificate by HTTP-01 through the edge, whatever else acts on it or goes wrong beside it."""

import pytest

from edgegate import (
    Apply,
    Customer,
    CustomerLoginFactory,
    DomainFactory,
    Edge,
    ElsewhereFactory,
    Gate,
    GatewayFactory,
    HttpProxyFactory,
    Promises,
    Source,
    Target,
    ZoneFactory,
)

pytestmark = [
    pytest.mark.edge_gate("http01"),
    pytest.mark.edge_parts("operator"),
    pytest.mark.timeout(240),
]

WRONG_ANSWERS = (404, 500, 503)


def test_challenge_comes_through_the_edge(
    edge: Edge, gate: Gate, dns_zone: ZoneFactory, http_proxy: HttpProxyFactory, must: Promises
) -> None:
    """From nothing to a trusted certificate; the authority's own request reached the edge and was answered there."""
    host = dns_zone().host("www")
    proxy = http_proxy(host)
    gate.check(Source.STATUS, host, "no certificate yet", "one", right=not proxy.customer.certificate_of(host))
    if must.serve(proxy, host, tls=True):
        asked = edge.acme.challenges(host)
        gate.note("; ".join(f"{one.agent} asked for {one.token[:8]}…: {one.status}" for one in asked))
    must.report(proxy, host, "CertificateReady")


def test_challenge_behind_redirect_login_and_firewall(
    edge: Edge,
    gate: Gate,
    dns_zone: ZoneFactory,
    http_proxy: HttpProxyFactory,
    customer_login: CustomerLoginFactory,
    apply: Apply,
    must: Promises,
) -> None:
    """A host name gets its certificate although all visitors are redirected, must log in, and pass a firewall."""
    zone = dns_zone()
    host = zone.host("www")
    proxy = http_proxy()
    canonical = proxy.canonical()
    proxy.edit(redirect=zone.host("new"))
    must.answer(proxy, canonical, 301)
    (firewall,) = apply(proxy.firewall(), to=edge.upstream)
    must.come(firewall, "Accepted=True", lambda: proxy.customer.wait_accepted(firewall, edge.limits.accepted))
    login = customer_login(proxy, Target.GATEWAY, canonical)
    login.create_secret()
    login.create()
    login.wait_asked(edge.limits.converge)
    gate.poison("the Gateway demands a login", live=True, evidence=f"{canonical} sends visitors to {login.provider}")
    proxy.edit(hostnames=(host,))
    must.report(proxy, host, "CertificateReady", within=edge.limits.converged)
    with gate.must(Source.TRAFFIC, f"https://{host}", f"302 to {login.provider}, with a trusted certificate"):
        login.wait_asked(edge.limits.converge, host=host, tls=True)


def test_challenge_seen_from_everywhere(
    edge: Edge,
    gate: Gate,
    customer: Customer,
    dns_zone: ZoneFactory,
    customer_gateway: GatewayFactory,
    must: Promises,
) -> None:
    """The issuer's self check, the authority and a visitor all find the answer; the self check is production's."""
    host = dns_zone().host("www")
    customer_gateway("shop", host, issuers={host: "production"}).create()
    must.see_challenge(customer, host)
    must.secure(host)
    with gate.must(Source.TRAFFIC, f"challenge of {host}", "answered for issuer, authority and runner"):
        edge.acme.seen_by_all(host)


def test_issuer_that_does_not_exist(
    edge: Edge,
    gate: Gate,
    customer: Customer,
    dns_zone: ZoneFactory,
    customer_gateway: GatewayFactory,
    must: Promises,
) -> None:
    """A host name whose issuer does not exist waits for ever, and holds nobody back on its own Gateway."""
    zone = dns_zone()
    bad, good = zone.host("bad"), zone.host("good")
    gateway = customer_gateway("shop", bad, good, issuers={bad: "nobody", good: "auto"})
    gateway.create()
    must.resolve(good, within=edge.limits.released)
    must.secure(good, within=edge.limits.converge)  # a whole issuance; the floor that would hold it is a minute
    must.resolve(bad, within=edge.limits.released)
    waiting = customer.certificate_of(bad)
    gate.poison(
        "the issuer does not exist", live="Ready=True" not in waiting, evidence=f"certificate for {bad}: {waiting}"
    )


def test_bad_names_beside_a_good_one(
    edge: Edge,
    gate: Gate,
    dns_zone: ZoneFactory,
    domain: DomainFactory,
    elsewhere: ElsewhereFactory,
    http_proxy: HttpProxyFactory,
    must: Promises,
) -> None:
    """Names that lead nowhere or to wrong answers get no certificate, hold nobody back, and get one once repaired."""
    zone, kept_elsewhere = dns_zone(), domain()
    wrong = {f"s{status}.{kept_elsewhere.name}": status for status in WRONG_ANSWERS}
    bad, good, later = (f"none.{kept_elsewhere.name}", *wrong), zone.host("good"), zone.host("later")
    kept_elsewhere.lead(edge.dns, elsewhere(wrong), *wrong)
    kept_elsewhere.prove(edge.dns, within=edge.limits.converge)
    proxy = http_proxy(*bad, good)
    must.resolve(good, within=edge.limits.released)
    # Six certificates are asked for at once, and the authority looks for 15 s at each of the bad ones.
    must.serve(proxy, good, tls=True, within=edge.limits.converge)
    failed = {host: proxy.customer.wait_certificate_failed(host, edge.limits.converged) for host in bad}
    gate.poison("four names lead elsewhere", live=True, evidence="; ".join(failed.values()))
    for host in bad:
        must.serve(proxy, host)
        must.report(proxy, host, "CertificateReady", status="False", reason="ProvisioningFailed")
    proxy.edit(hostnames=(*bad, good, later))
    must.resolve(later, within=edge.limits.released)
    must.serve(proxy, later, tls=True, within=edge.limits.released)
    kept_elsewhere.lead(edge.dns, edge.site.address, *bad)
    for host in bad:
        if not must.serve(proxy, host, tls=True):
            break  # the others wait for the same
