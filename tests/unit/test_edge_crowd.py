"""Many objects at a time are made and taken away together, and somebody who quarrels is refused now and then."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from edgegate.clock import wait_until
from edgegate.clusters import kinds
from edgegate.clusters.kinds import Ref
from edgegate.clusters.plane import ControlPlane, Manifest
from edgegate.edge.crowd import Crowd, ManyNames, Quarrel
from edgegate.edge.customer import Customer
from edgegate.edge.http_proxy import HttpProxy, Wish
from edgegate.edge.zone import Zone
from edgegate.errors import EnvironmentFault, NeverReady
from kube_api import KubeApi, condition, serve

SOON = 5.0


@pytest.fixture
def planes(tmp_path: Path) -> Iterator[tuple[KubeApi, ControlPlane]]:
    """Return one control plane for both: nothing here minds."""
    with serve(tmp_path) as made:
        yield made


@pytest.fixture
def customer(planes: tuple[KubeApi, ControlPlane]) -> Customer:
    made = Customer("shop", planes[1], planes[1])
    made.create()
    return made


def _crowd(customer: Customer, count: int) -> Crowd:
    acme: Any = None
    return Crowd(customer, [HttpProxy(f"p{n}", customer, Wish(f"m{n}"), acme, "10.88.7.8") for n in range(count)])


def _operator(api: KubeApi, customer: Customer, *, late: str = "") -> None:
    """Let every proxy be programmed and have a certificate, which is ready except one."""

    def act(stored: Manifest) -> None:
        if stored["kind"] == "HTTPProxy":
            condition(stored, "Programmed")
            api.write(Ref(kinds.CERTIFICATE, stored["metadata"]["name"], customer.below).manifest({}))
        elif stored["kind"] == "Certificate" and stored["metadata"]["name"] != late:
            condition(stored, "Ready")

    api.controllers.append(act)


def test_a_crowd_is_settled_when_each_has_its_certificate(
    planes: tuple[KubeApi, ControlPlane], customer: Customer
) -> None:
    assert customer.below
    _operator(planes[0], customer)
    crowd = _crowd(customer, 10)
    crowd.create()
    crowd.wait_settled(SOON)
    assert len(crowd) == len(planes[1].list(kinds.HTTP_PROXY, customer.namespace)) == 10


def test_a_crowd_that_lacks_a_certificate_is_not_settled(
    planes: tuple[KubeApi, ControlPlane], customer: Customer
) -> None:
    assert customer.below
    _operator(planes[0], customer, late="p1")
    crowd = _crowd(customer, 3)
    crowd.create()
    with pytest.raises(NeverReady, match="3 proxies are programmed, 2 of 3 certificates are there"):
        crowd.wait_settled(0.1)


def test_a_crowd_goes_together(planes: tuple[KubeApi, ControlPlane], customer: Customer) -> None:
    assert customer.below
    crowd = _crowd(customer, 10)
    crowd.create()
    crowd.remove(SOON)
    assert not planes[1].list(kinds.HTTP_PROXY)


def test_a_crowd_that_leaves_gateways_behind(planes: tuple[KubeApi, ControlPlane], customer: Customer) -> None:
    crowd = _crowd(customer, 2)
    crowd.create()
    planes[0].write(Ref(kinds.GATEWAY, "p1", customer.below).manifest({}))
    with pytest.raises(NeverReady, match="every Gateway of 2 proxies gone"):
        crowd.remove(0.1)


def test_names_come_in_sets_of_a_hundred(planes: tuple[KubeApi, ControlPlane], customer: Customer) -> None:
    planes[0].controllers.append(lambda stored: condition(stored, "Programmed"))
    names = ManyNames(Zone("shop.test", customer), 250, "10.88.7.8")
    names.create()
    assert len(names) == names.wait_served(SOON) == 250
    found = planes[1].list(kinds.DNS_RECORD_SET, customer.namespace)
    assert sorted(len(one["spec"]["records"]) for one in found) == [50, 100, 100]
    assert found[0]["spec"]["dnsZoneRef"] == {"name": "shop-test"}


def test_names_that_nobody_serves_are_counted(customer: Customer) -> None:
    names = ManyNames(Zone("shop.test", customer), 100, "10.88.7.8")
    names.create()
    assert names.wait_served(0.05) == 0


def test_an_edit_is_one_name_of_each_set(planes: tuple[KubeApi, ControlPlane], customer: Customer) -> None:
    names = ManyNames(Zone("shop.test", customer), 200, "10.88.7.8")
    names.create()
    names.edit(ttl=61)
    for one in planes[1].list(kinds.DNS_RECORD_SET, customer.namespace):
        assert [entry["ttl"] for entry in one["spec"]["records"]] == [61] + [60] * 99


def test_a_quarrel_refuses_those_who_insist(planes: tuple[KubeApi, ControlPlane], customer: Customer) -> None:
    api, plane = planes
    ref = customer.ref(kinds.GATEWAY, "edge")
    api.write(ref.manifest({}))
    with Quarrel(customer, ref, customer.ref(kinds.HTTP_ROUTE, "none")) as quarrel:
        wait_until("ten tries", lambda: quarrel.tried > 10, deadline=SOON)
    assert quarrel.live
    assert quarrel.refused <= quarrel.tried
    held = plane.get(ref)
    assert held is not None
    assert held["metadata"]["annotations"]["edgegate/quarrel"]


def test_a_quarrel_that_nobody_feels_is_not_live(
    planes: tuple[KubeApi, ControlPlane], customer: Customer, monkeypatch: pytest.MonkeyPatch
) -> None:
    ref = customer.ref(kinds.GATEWAY, "edge")
    planes[0].write(ref.manifest({}))
    monkeypatch.setattr(Quarrel, "_change", lambda quarrel, wanted: None)
    with Quarrel(customer, ref) as quarrel:
        wait_until("three tries", lambda: quarrel.tried > 3, deadline=SOON)
    assert not quarrel.live


def test_a_quarrel_that_breaks_says_so(planes: tuple[KubeApi, ControlPlane], customer: Customer) -> None:
    ref = customer.ref(kinds.GATEWAY, "edge")
    planes[0].write(ref.manifest({}))
    planes[0].refusals["PATCH", planes[1].path(ref)] = (403, {"message": "not you"})
    with Quarrel(customer, ref) as quarrel, pytest.raises(EnvironmentFault, match="not you"):
        quarrel.last(SOON)
