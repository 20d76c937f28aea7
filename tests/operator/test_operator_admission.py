"""The webhook: duplicate Domains, Domains in use, default listeners; and its server."""

import base64
import json
import ssl
import urllib.request
from typing import Any

import pytest

from edgegate_operator import admission, faults, kinds
from edgegate_operator.core.executor import Planes
from edgegate_operator.core.metrics import Metrics
from edgegate_operator.core.webhook import WebhookServer
from edgegate_operator.kinds import Obj
from edgegate_operator.site import Site
from operator_objects import domain, gateway, listener, obj, proxy, settings, zone


def test_a_second_domain_of_the_same_name_is_refused() -> None:
    new = obj(kinds.DOMAIN, "d2", spec={"domainName": "shop.test"})
    answer = admission.duplicate(
        new, [domain("other.test"), obj(kinds.DOMAIN, "d1", spec={"domainName": " Shop.Test "})]
    )
    assert answer["allowed"] is False
    assert answer["status"]["code"] == 409
    assert answer["status"]["message"] == "Domain d1 is for shop.test already"
    assert admission.duplicate(new, [domain("other.test")]) == admission.ALLOWED


def test_a_domain_in_use_is_not_deleted() -> None:
    mine = domain("shop.test")
    by_proxy = admission.in_use(mine, [proxy("www.shop.test")], [])
    assert (by_proxy["status"]["code"], by_proxy["status"]["message"]) == (403, "HTTPProxy shop uses www.shop.test")
    depending = zone("z")
    depending["status"]["domainRef"] = {"name": "shop.test"}
    by_zone = admission.in_use(mine, [proxy("www.other.test")], [depending])
    assert by_zone["status"]["message"] == "DNSZone z depends on it"
    leaving = proxy("www.shop.test")
    leaving["metadata"]["deletionTimestamp"] = "x"
    assert admission.in_use(mine, [leaving], []) == admission.ALLOWED


def test_a_gateway_of_ours_gets_its_default_listeners() -> None:
    bare = gateway() | {"spec": gateway()["spec"] | {"listeners": [listener("h", "www.shop.test")]}}
    answer = admission.with_defaults(bare, settings())
    (change,) = json.loads(base64.b64decode(answer["patch"]))
    assert [item["name"] for item in change["value"]] == ["default-http", "default-https", "h"]
    assert change["value"][1]["tls"]["options"] == {"gateway.networking.datumapis.com/certificate-issuer": "auto"}


@pytest.mark.parametrize("change", [{}, {"gatewayClassName": "theirs", "listeners": []}])
def test_other_gateways_stay_as_they_are(change: Obj) -> None:
    assert admission.with_defaults(gateway() | {"spec": gateway()["spec"] | change}, settings()) == admission.ALLOWED


class Shelf:
    """A cache that always holds the same."""

    def __init__(self, *things: Obj) -> None:
        self._things = list(things)

    def all(self, namespace: str) -> list[Obj]:
        return [thing for thing in self._things if thing["metadata"]["namespace"] == namespace]


class StillSite(Site):
    """A site whose caches never change."""

    def up(self, kind: kinds.Kind) -> Any:
        return Shelf(domain("shop.test")) if kind == kinds.DOMAIN else Shelf(proxy("www.shop.test"))


def reviewed(path: str, request: Obj, *switched_on: str) -> Obj:
    config = settings(*switched_on)
    sites: dict[str, Site] = {n: StillSite(n, Planes({}, {}), config, Metrics()) for n in ("single", "org/two")}
    return admission.review(sites, config, path, request)


def test_a_review_is_about_the_project_of_its_path() -> None:
    create = {
        "operation": "CREATE",
        "namespace": "tenant-a",
        "object": obj(kinds.DOMAIN, "n", spec={"domainName": "shop.test"}),
    }
    assert reviewed("/validate-domain/single", create)["allowed"] is False
    assert reviewed("/validate-domain/org/two", create)["allowed"] is False
    assert reviewed("/validate-domain/single", create, faults.DUPLICATE_DOMAIN_ADMITTED)["allowed"] is True
    assert reviewed("/validate-domain/single", create | {"namespace": "tenant-b"})["allowed"] is True
    delete = {"operation": "DELETE", "namespace": "tenant-a", "oldObject": domain("shop.test")}
    assert reviewed("/validate-domain/single", delete)["allowed"] is False
    assert reviewed("/default-gateway/single", {"object": gateway()}) == admission.ALLOWED


def test_the_server_answers_over_tls_that_its_bundle_proves() -> None:
    asked: list[str] = []

    def review(path: str, request: Any) -> Obj:
        asked.append(path)
        return {"allowed": request["object"]["good"]}

    server = WebhookServer("127.0.0.1", 0, review)
    try:
        context = ssl.create_default_context(cadata=base64.b64decode(server.ca_bundle).decode())
        body: Obj = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}
        body["request"] = {"uid": "u1", "object": {"good": True}}
        call = urllib.request.Request(f"https://127.0.0.1:{server.port}/x/single?timeout=5s", json.dumps(body).encode())
        with urllib.request.urlopen(call, timeout=5, context=context) as answer:
            found = json.load(answer)
    finally:
        server.close()
    kind = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}
    assert found == kind | {"response": {"allowed": True, "uid": "u1"}}
    assert asked == ["/x/single"]


def test_api_servers_are_told_where_to_ask() -> None:
    server = WebhookServer("127.0.0.1", 0, lambda path, request: admission.ALLOWED)
    try:
        config = settings(webhook={"host": "10.88.1.1", "port": 9443})
        validating, mutating = admission.configurations("org/proj", server, config)
    finally:
        server.close()
    (hook,) = validating["webhooks"]
    assert hook["clientConfig"] == {
        "url": f"https://10.88.1.1:{server.port}/validate-domain/org/proj",
        "caBundle": server.ca_bundle,
    }
    assert hook["rules"][0]["operations"] == ["CREATE", "DELETE"]
    assert mutating["webhooks"][0]["rules"][0]["resources"] == ["gateways"]
