"""What is left of a host name or of a proxy, on both planes and at the name servers."""

import base64
from collections.abc import Callable, Iterator, Sequence

from cryptography import x509

from edgegate.clock import wait_until
from edgegate.clusters import kinds
from edgegate.clusters.inventory import inventory, namespaced_kinds
from edgegate.clusters.plane import Manifest
from edgegate.components.dns import EDGE_ZONE
from edgegate.components.operator import CLAIMS
from edgegate.components.powerdns_api import PowerDnsApi
from edgegate.edge.convergence import HOSTNAME
from edgegate.edge.customer import Customer
from edgegate.edge.dns import Dns
from edgegate.edge.http_proxy import HttpProxy
from edgegate.probes.dns import DnsAnswer
from edgegate.records import Source
from edgegate.report.gate import Gate

_UPSTREAM_NAME = "meta.datumapis.com/upstream-name"
_OF_A_PROXY = (
    kinds.GATEWAY,
    kinds.HTTP_ROUTE,
    kinds.SERVICE,
    kinds.ENDPOINT_SLICE,
    kinds.CERTIFICATE,
    kinds.ORDER,
    kinds.CHALLENGE,
    kinds.SECRET,
    kinds.CONFIG_MAP,
    kinds.DNS_ENDPOINT,
)


def of_host(proxy: HttpProxy, host: str) -> list[str]:
    """Return every object that still stands for a host name, as `Certificate ns-1/shop-https-hostname-0`."""
    up, down = proxy.customer.upstream, proxy.customer.downstream
    here, below = proxy.customer.namespace, proxy.customer.below
    claims = [one for one in down.list(kinds.CONFIG_MAP, CLAIMS) if one["metadata"]["name"] == host]
    found = [f"claim {one['metadata']['name']}" for one in claims]
    for kind, plane, space, stands in (
        (kinds.DNS_RECORD_SET, up, here, _record),
        (kinds.GATEWAY, down, below, _listener),
        (kinds.HTTP_ROUTE, down, below, _route),
        (kinds.CERTIFICATE, down, below, _certificate),
        (kinds.ORDER, down, below, _certificate),
        (kinds.CHALLENGE, down, below, _challenge),
        (kinds.SECRET, down, below, _secret),
    ):
        names = [one["metadata"]["name"] for one in plane.list(kind, space) if stands(one, host)]
        found += [f"{kind.name} {space}/{name}" for name in names]
    return found


def of_proxy(proxy: HttpProxy) -> list[str]:
    """Return every object that still stands for a proxy on the edge cluster."""
    below, found = proxy.customer.below, []
    for kind in _OF_A_PROXY:
        for one in proxy.customer.downstream.list(kind, below):
            name, labels = one["metadata"]["name"], one["metadata"].get("labels") or {}
            if proxy.name in (name, labels.get(_UPSTREAM_NAME)) or name.startswith(f"{proxy.name}-"):
                found.append(f"{kind.name} {below}/{name}")
    return found


def of_customer(customer: Customer, api: PowerDnsApi, names: Sequence[str]) -> Callable[[], list[str]]:
    """Return what tells every object, claim, zone and record that still stands for a customer and for some names."""
    planes = ((customer.upstream, customer.namespace), (customer.downstream, customer.below))
    known = [(plane, space, namespaced_kinds(plane)) for plane, space in planes]

    def left() -> list[str]:
        found = [f"{ref} on {plane.name}" for plane, space, every in known for ref in inventory(plane, space, every)]
        found += [f"claim {name}" for name in _claims(customer)]
        found += [f"zone {zone}" for zone in api.zones() if zone in names]
        records = [
            f"{one.name} {one.type}" for one in api.records(EDGE_ZONE) if any(name in one.name for name in names)
        ]
        return [*found, *(f"record {record}" for record in records)]

    return left


def _claims(customer: Customer) -> Iterator[str]:
    """Yield the names of the claims that a customer holds: of host names, and of the domains of zones."""
    for one in customer.downstream.list(kinds.CONFIG_MAP):
        if f"/{customer.namespace}/" in (one.get("data") or {}).get("owner", ""):
            yield one["metadata"]["name"]


def must_vanish(gate: Gate, what: str, left: Callable[[], list[str]], within: float) -> None:
    """Wait until nothing is left; what still is becomes a finding."""
    seen: list[str] = []

    def gone() -> bool:
        seen[:] = left()
        return not seen

    with gate.must(Source.STATUS, what, "nothing of it left"):
        wait_until(f"{what} gone", gone, deadline=within, every=0.2, last=lambda: ", ".join(seen))


def must_not_resolve(gate: Gate, dns: Dns, host: str, within: float) -> None:
    """Wait until the authoritative server says that a name has no address; an error of the server is a finding."""
    answers: list[DnsAnswer] = []

    def absent() -> bool:
        answers.append(dns.authoritative.query(host))
        return answers[-1].absent

    with gate.must(Source.TRAFFIC, f"{host} at the authoritative server", "no such record"):
        wait_until(f"{host} absent", absent, deadline=within, last=lambda: answers and answers[-1].describe())
    failed = [answer.describe() for answer in answers if not (answer.found or answer.absent)]
    expected = f"a record or none in each of {len(answers)} answers, never an error"
    gate.check(Source.TRAFFIC, f"{host} while it goes", expected, "; ".join(failed[:3]), right=not failed)


def _record(one: Manifest, host: str) -> bool:
    return (one["metadata"].get("annotations") or {}).get(HOSTNAME) == host


def _listener(one: Manifest, host: str) -> bool:
    return any(listener.get("hostname") == host for listener in one["spec"]["listeners"])


def _route(one: Manifest, host: str) -> bool:
    return host in (one["spec"].get("hostnames") or [])


def _certificate(one: Manifest, host: str) -> bool:
    return host in (one["spec"].get("dnsNames") or [])


def _challenge(one: Manifest, host: str) -> bool:
    return bool(one["spec"].get("dnsName") == host)


def _secret(one: Manifest, host: str) -> bool:
    return host in _names(base64.b64decode((one.get("data") or {}).get("tls.crt") or ""))


def _names(pem: bytes) -> Iterator[str]:
    """Yield the host names of the first certificate in a Secret; of none that is not there yet."""
    if not pem.strip():
        return
    extensions = x509.load_pem_x509_certificate(pem).extensions
    yield from extensions.get_extension_for_class(x509.SubjectAlternativeName).value.get_values_for_type(x509.DNSName)
