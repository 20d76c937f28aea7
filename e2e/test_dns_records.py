"""A record is answered, and reported where the customer looks, whatever was created first."""

import secrets

import pytest

from edgegate import Apply, Edge, Gate, HttpProxyFactory, Promises, Source, ZoneFactory

pytestmark = [
    pytest.mark.edge_gate("dns-records"),
    pytest.mark.edge_parts("operator"),
]

CHANGES = 5
"""How often a record changes its type, there and back; once takes 0.1 s, in which a gap could be missed."""


def test_record_of_a_host_name(dns_zone: ZoneFactory, http_proxy: HttpProxyFactory, must: Promises) -> None:
    """A custom host name and the canonical one resolve, and the HTTPProxy itself says that the record is there."""
    host = dns_zone().host("www")
    proxy = http_proxy(host)
    must.resolve(host)
    must.resolve(proxy.canonical())
    must.report(proxy, host, "DNSRecordProgrammed")


def test_record_before_its_zone(edge: Edge, dns_zone: ZoneFactory, apply: Apply, must: Promises) -> None:
    """A customer's record that was created before its zone is answered once the zone is there."""
    zone = dns_zone(ready=False)
    (record,) = apply(zone.record_set("early", "A", {"content": edge.site.address}), to=edge.upstream)
    must.never_come(record, "Programmed=True", lambda: zone.wait_record(record, edge.limits.settle))
    zone.create()
    must.come(zone, "Programmed=True", lambda: zone.wait_programmed(edge.limits.zone_ready))
    must.resolve(zone.host("early"), within=edge.limits.released)


def test_zone_before_its_class(edge: Edge, dns_zone: ZoneFactory, apply: Apply, must: Promises) -> None:
    """A zone that was created before its class is served once the class is there."""
    name = f"late-{secrets.token_hex(3)}"
    zone = dns_zone(ready=False, zone_class=name)
    zone.create()
    must.come(zone, "Accepted=False", lambda: zone.wait_waiting(edge.limits.accepted))
    for plane in (edge.downstream, edge.upstream):
        apply(edge.operator.zone_class(name), to=plane)
    must.come(zone, "Programmed=True", lambda: zone.wait_programmed(edge.limits.released))


def test_zone_whose_records_are_refused(
    edge: Edge, gate: Gate, dns_zone: ZoneFactory, apply: Apply, must: Promises
) -> None:
    """A zone says that it is programmed when its records are served, not when their objects exist.

    The server in its SOA has a label of 64 letters, which a schema does not see and a name server refuses. The SOA is
    there first, or the operator makes one of its own; it is touched once more, because whether a record is looked
    at again when its zone comes is another test's promise.
    """
    zone = dns_zone(ready=False)
    soa = {"mname": f"{'x' * 64}.edge.test.", "rname": f"hostmaster.{zone.name}."}
    (record,) = apply(zone.record_set("@", "SOA", soa), to=edge.upstream)
    zone.create()
    zone.wait_seen(edge.limits.accepted)
    edge.upstream.patch(record, {"metadata": {"annotations": {"edgegate.test/touched": "once"}}})
    if must.come(record, "not Programmed", lambda: zone.wait_record_refused(record, edge.limits.zone_ready)):
        gate.poison("the name server refuses the zone's SOA", live=True, evidence=f"{record} is not programmed")
    must.never_come(zone, "Programmed=True", lambda: zone.wait_programmed(edge.limits.settle))


@pytest.mark.edge_exclusive
def test_zone_while_the_server_is_down(edge: Edge, gate: Gate, dns_zone: ZoneFactory, must: Promises) -> None:
    """A zone that is created while the name server is down is served when that is back."""
    zone = dns_zone(ready=False)
    with edge.killed("powerdns"):
        zone.create()
        answer = edge.dns.authoritative.query(zone.name)
        gate.poison("the name server is down", live=bool(answer.error), evidence=answer.describe())
        must.never_come(zone, "Programmed=True", lambda: zone.wait_programmed(edge.limits.settle))
    must.come(zone, "Programmed=True", lambda: zone.wait_programmed(edge.limits.zone_ready))
    answer = edge.dns.authoritative.query(zone.name, "SOA")
    gate.check(Source.TRAFFIC, f"{zone.name} SOA", "an answer", answer.describe(), right=answer.found)


@pytest.mark.edge_exclusive
def test_record_that_changes_its_type(edge: Edge, dns_zone: ZoneFactory, apply: Apply, must: Promises) -> None:
    """A name whose record turns from A to CNAME and back never lacks an address."""
    zone = dns_zone()
    host, target = zone.host("swap"), zone.record_set("target", "A", {"content": edge.site.address})
    address = zone.record_set("swap", "A", {"content": edge.site.address})
    alias = zone.record_set("swap", "CNAME", {"content": f"{zone.host('target')}."})
    apply(target, address, to=edge.upstream)
    must.resolve(zone.host("target"))
    must.resolve(host)
    with must.keep_resolving(host):
        for record, type_ in ((alias, "CNAME"), (address, "A")) * CHANGES:
            edge.upstream.apply(record)
            must.answer_with(host, type_)
