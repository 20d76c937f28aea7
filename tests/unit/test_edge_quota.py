"""What is amiss between a customer's objects and his claims of quota is named."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from edgegate.clusters import kinds
from edgegate.clusters.kinds import Kind
from edgegate.clusters.plane import ControlPlane
from edgegate.edge import quota
from edgegate.edge.customer import Customer
from kube_api import KubeApi, serve

COUNTED = [kinds.HTTP_PROXY, kinds.GATEWAY]


@pytest.fixture
def plane(tmp_path: Path) -> Iterator[tuple[KubeApi, ControlPlane]]:
    with serve(tmp_path) as made:
        yield made


@pytest.fixture
def customer(plane: tuple[KubeApi, ControlPlane]) -> Customer:
    made = Customer("shop", plane[1], plane[1])
    made.create()
    return made


def _there(api: KubeApi, customer: Customer, *found: tuple[Kind, str]) -> None:
    for kind, name in found:
        api.write(customer.ref(kind, name).manifest({}))


def test_each_object_has_its_claim(plane: tuple[KubeApi, ControlPlane], customer: Customer) -> None:
    _there(
        plane[0], customer, (kinds.HTTP_PROXY, "p"), (kinds.GATEWAY, "p"),
        (kinds.RESOURCE_CLAIM, "httpproxy-p"), (kinds.RESOURCE_CLAIM, "gateway-p"),
    )  # fmt: skip
    assert quota.difference(customer, COUNTED, {"p"}) == []


def test_what_is_amiss_is_named(plane: tuple[KubeApi, ControlPlane], customer: Customer) -> None:
    _there(plane[0], customer, (kinds.GATEWAY, "old"), (kinds.RESOURCE_CLAIM, "httpproxy-old"))
    assert quota.difference(customer, COUNTED, {"new"}) == [
        "Gateway old still there",
        "Gateway new missing",
        f"Gateway {customer.namespace}/old without claim",
        "claim httpproxy-old without object",
    ]
