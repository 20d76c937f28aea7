"""The reference operator in the lab: what a customer creates is served through the real edge."""

import logging
import secrets
import time
from collections.abc import Iterator

import pytest

from edgegate.clusters import kinds
from edgegate.edge import Edge
from edgegate.edge.customer import Customer
from edgegate.fixtures.proxies import HttpProxyFactory, ZoneFactory
from edgegate.settings import Settings

_log = logging.getLogger("edgegate.tests")


@pytest.fixture(scope="module")
def edge() -> Iterator[Edge]:
    """An edge with the reference operator."""
    with Edge.open(Settings(), f"operator-{secrets.token_hex(4)}", more_parts=("operator",)) as opened:
        yield opened


def test_a_proxy_is_served_under_its_canonical_name(http_proxy: HttpProxyFactory) -> None:
    began = time.monotonic()
    proxy = http_proxy()
    canonical = proxy.canonical()
    named = time.monotonic()
    answer = proxy.wait_served(canonical, within=10)
    served = time.monotonic()
    _log.info("canonical name after %.2f s", named - began)
    _log.info("HTTP 200 after %.2f s", served - began)
    assert answer.marker == proxy.marker
    assert served - began < 10


def test_a_custom_host_is_served_over_trusted_https(
    edge: Edge, dns_zone: ZoneFactory, http_proxy: HttpProxyFactory
) -> None:
    began = time.monotonic()
    zone = dns_zone()
    _log.info("zone ready after %.2f s", time.monotonic() - began)
    host, began = zone.host(), time.monotonic()
    proxy = http_proxy(host)
    proxy.wait_served(host, within=10)
    _log.info("HTTP 200 after %.2f s", time.monotonic() - began)
    answer = proxy.wait_served(host, tls=True, within=30)
    _log.info("HTTPS 200 after %.2f s", time.monotonic() - began)
    assert answer.certificate is not None
    assert answer.certificate.names == (host,)
    resolved = edge.dns.authoritative.query(host)
    assert resolved.values == (edge.site.address,)


def test_what_a_test_made_is_gone(edge: Edge, customer: Customer, http_proxy: HttpProxyFactory) -> None:
    proxy = http_proxy()
    proxy.wait_served(proxy.canonical(), within=10)
    proxy.remove(edge.limits.gone)
    assert [one for kind in (kinds.GATEWAY, kinds.HTTP_ROUTE) for one in edge.upstream.list(kind)] == []
    assert edge.downstream.list(kinds.GATEWAY, customer.below) == []
