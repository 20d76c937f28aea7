"""The part `dns`: authoritative servers, recursor, and external-dns."""

from functools import partial

from edgegate.components import external_dns, powerdns, recursor
from edgegate.components.bring_up import Planes
from edgegate.components.graph import Step
from edgegate.components.launch import Launch
from edgegate.components.part import Part
from edgegate.components.powerdns_api import PowerDnsApi

EDGE_ZONE = "edge.test"
"""The zone of canonical host names; external-dns writes to it."""
NAMESERVERS = ("ns1.edge.test", "ns2.edge.test")
"""What zones are delegated to; both are the authoritative server."""
# The last number is how long a resolver remembers that a name does not exist: in our own zones as short as can be.
ZONE_SOA = "ns1.edge.test. hostmaster.edge.test. 1 10800 3600 604800 1"


def steps(launch: Launch, planes: Planes) -> list[Step]:
    """Return the steps that start name resolution; nothing of the default edge waits for them."""
    start = launch.lab.start
    return [
        Step("dns-addresses", partial(take_addresses, launch)),
        Step("powerdns-data", partial(powerdns.prepare, launch)),
        Step("powerdns", lambda: start(powerdns.spec(launch)), needs=("dns-addresses", "powerdns-data")),
        Step("recursor", lambda: start(recursor.spec(launch)), needs=("dns-addresses",)),
        Step("zones", partial(_create_zones, launch), needs=("powerdns",)),
        Step("powerdns-cached", lambda: start(powerdns.cached_spec(launch)), needs=("zones",)),
        Step("external-dns", lambda: start(external_dns.spec(launch, EDGE_ZONE)), needs=("zones", "base")),
    ]


def take_addresses(launch: Launch) -> None:
    """Give the servers addresses of their own, so that each can have port 53, where resolvers expect it."""
    net = launch.lab.net
    for address in (net.authoritative_ip, net.cached_ip, net.recursor_ip):
        launch.lab.run(["ip", "addr", "replace", f"{address}/27", "dev", "uplink"])


def _create_zones(launch: Launch) -> None:
    """Create the zone of canonical names and its parent.

    The parent answers for every domain that has no zone of its own: such a name does not exist, as in the world, where
    an authoritative server that does not know a zone would refuse and a resolver would fail.
    """
    api = PowerDnsApi(launch.lab)
    for zone in (recursor.DOMAIN, EDGE_ZONE):
        api.create_zone(zone, NAMESERVERS, soa=ZONE_SOA)
    for nameserver in NAMESERVERS:
        api.replace(EDGE_ZONE, nameserver, "A", [launch.lab.net.authoritative_ip])
    api.close()


PART = Part(
    name="dns",
    pins=("powerdns", "pdns-recursor", "external-dns"),
    steps=steps,
    crds={"external-dns": external_dns.CRD_FILE},
    variants=(powerdns.LMDB, powerdns.SQLITE),
)
