"""A tenant: its objects, its origin, its edits, and that nothing of it stays."""

import base64
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cryptography.x509 import SubjectAlternativeName, load_pem_x509_certificate

from edgegate.clusters.kinds import ENDPOINT_SLICE, GATEWAY, HTTP_ROUTE, NAMESPACE, SECRET, SERVICE, Ref
from edgegate.clusters.plane import ControlPlane, Manifest
from edgegate.components.pki import Authority, sha256_of
from edgegate.edge import tenant as tenants
from edgegate.edge.tenancy import LabOrigins, Tenancy
from edgegate.edge.tenant import CANARY, Site, Tenant
from edgegate.errors import NeverReady, PortTaken
from edgegate.lab import Ready
from edgegate.records import Answer
from fakes import FakeLab, FakeProbe
from kube_api import KubeApi, condition, serve

SITE = Site("10.88.7.8", Path("/nowhere/ca.crt"))
ROUTE, EDGE = Ref(HTTP_ROUTE, "site", "shop-1"), Ref(GATEWAY, "edge", "shop-1")


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority.new("edgegate lab")


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[KubeApi, ControlPlane]]:
    with serve(tmp_path) as made:
        yield made


@pytest.fixture
def api(served: tuple[KubeApi, ControlPlane]) -> KubeApi:
    return served[0]


@pytest.fixture
def lab(tmp_path: Path) -> FakeLab:
    return FakeLab(tmp_path)


@pytest.fixture
def shop(served: tuple[KubeApi, ControlPlane], lab: FakeLab, authority: Authority) -> Tenant:
    """Return a tenant that has been built."""
    tenants.build("shop-1", served[1], Tenancy(LabOrigins(lab)), authority)
    return Tenant("shop", "shop-1", served[1], SITE, Tenancy(LabOrigins(lab)))


def test_names(shop: Tenant) -> None:
    assert (shop.host, shop.marker, repr(shop)) == ("shop-1.edge.test", "shop-1", "tenant shop (shop-1.edge.test)")
    assert (shop.gateway, shop.route) == (EDGE, ROUTE)


def test_its_gateway_listens_for_its_host_only(shop: Tenant, api: KubeApi) -> None:
    spec = api.objects[EDGE]["spec"]
    assert spec["gatewayClassName"] == "datum-downstream-gateway"
    assert spec["listeners"] == [
        {"name": "http", "port": 80, "hostname": "shop-1.edge.test", "protocol": "HTTP"},
        {
            "name": "https",
            "port": 443,
            "hostname": "shop-1.edge.test",
            "protocol": "HTTPS",
            "tls": {"mode": "Terminate", "certificateRefs": [{"name": "site"}]},
        },
    ]


def test_envoy_gateway_sees_its_namespace(shop: Tenant, api: KubeApi) -> None:
    labels = api.objects[Ref(NAMESPACE, "shop-1")]["metadata"]["labels"]
    assert labels == {"meta.datumapis.com/upstream-cluster-name": "edge"}


def test_its_route_leads_to_its_own_origin(shop: Tenant, api: KubeApi, lab: FakeLab) -> None:
    spec = lab.specs["origin-shop-1"]
    listen = spec.argv[spec.argv.index("--listen") + 1]
    address, _, port = listen.partition(":")
    assert spec.argv == (
        sys.executable,
        *("-m", "edgegate.components.origin_server", "--listen", listen, "--marker", "shop-1"),
    )
    assert spec.ready == Ready("http", f"http://{listen}/", limit=30)
    endpoints = api.objects[Ref(ENDPOINT_SLICE, "origin", "shop-1")]
    assert endpoints["endpoints"][0]["addresses"] == [address] == ["10.88.7.1"]
    assert endpoints["ports"][0]["port"] == int(port)
    assert api.objects[Ref(SERVICE, "origin", "shop-1")]["spec"]["ports"][0]["port"] == 80
    assert api.objects[ROUTE]["spec"] == {
        "parentRefs": [{"name": "edge"}],
        "rules": [{"backendRefs": [{"name": "origin", "port": 80}]}],
    }


def test_an_origin_takes_another_port_when_one_is_taken(
    served: tuple[KubeApi, ControlPlane], lab: FakeLab, authority: Authority
) -> None:
    tried: list[str] = []

    def start(fields: dict[str, Any]) -> None:
        tried.append(fields["spec"]["argv"][4])
        if len(tried) < 3:
            raise PortTaken("origin-shop-1", address=tried[-1], holder="origin-other")

    lab.answers["start"] = start
    tenants.build("shop-1", served[1], Tenancy(LabOrigins(lab)), authority)
    port = served[0].objects[Ref(ENDPOINT_SLICE, "origin", "shop-1")]["ports"][0]["port"]
    assert len(tried) == 3
    assert tried[-1] == f"10.88.7.1:{port}"


def _names(secret: Manifest) -> list[str]:
    certificate = load_pem_x509_certificate(base64.b64decode(secret["data"]["tls.crt"]))
    names = certificate.extensions.get_extension_for_class(SubjectAlternativeName).value
    return [str(name.value) for name in names]


def test_its_certificate_is_for_its_host_and_known_by_its_fingerprint(shop: Tenant, api: KubeApi) -> None:
    secret = api.objects[Ref(SECRET, "site", "shop-1")]
    assert (secret["type"], _names(secret)) == ("kubernetes.io/tls", ["shop-1.edge.test"])
    assert shop.fingerprint == sha256_of(base64.b64decode(secret["data"]["tls.crt"]))


def test_an_edit_of_its_route_adds_a_header_and_the_next_one_replaces_it(shop: Tenant, api: KubeApi) -> None:
    for value in ("one", "two"):
        shop.edit_route(value)
    (rule,) = api.objects[ROUTE]["spec"]["rules"]
    assert rule["filters"] == [
        {"type": "ResponseHeaderModifier", "responseHeaderModifier": {"set": [{"name": CANARY, "value": "two"}]}}
    ]
    assert rule["backendRefs"] == [{"name": "origin", "port": 80}]


def _asked(monkeypatch: pytest.MonkeyPatch, shop: Tenant, shown: Callable[[], str]) -> None:
    """Let the edge answer with what is shown."""
    made = Answer("GET", "http://shop/", "10.88.7.8:80", 0.0, 0.001, 200)
    monkeypatch.setattr(shop, "probe", lambda **_: FakeProbe(lambda _: replace(made, headers=((CANARY, shown()),))))


def test_an_edit_is_timed_until_an_answer_shows_it(shop: Tenant, api: KubeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    def edited() -> str:
        (rule,) = api.objects[ROUTE]["spec"]["rules"]
        return str(rule["filters"][0]["responseHeaderModifier"]["set"][0]["value"])

    seen = ["old", "old"]
    _asked(monkeypatch, shop, lambda: seen.pop() if seen else edited())
    took = shop.time_edit(5)
    assert not seen
    assert 0.02 < took < 5


def test_an_edit_that_no_answer_shows_is_an_error(shop: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    _asked(monkeypatch, shop, lambda: "old")
    with pytest.raises(NeverReady, match="an edit of shop's route on the wire"):
        shop.time_edit(0.1)


def test_a_further_host_has_a_listener_and_a_certificate_of_its_own(
    shop: Tenant, api: KubeApi, authority: Authority
) -> None:
    assert shop.add_host(authority, "canary-1") == "canary-1.shop-1.edge.test"
    *before, added = api.objects[EDGE]["spec"]["listeners"]
    assert [listener["name"] for listener in before] == ["http", "https"]
    assert (added["hostname"], added["port"]) == ("canary-1.shop-1.edge.test", 443)
    assert added["tls"]["certificateRefs"] == [{"name": "canary-1"}]
    assert _names(api.objects[Ref(SECRET, "canary-1", "shop-1")]) == ["canary-1.shop-1.edge.test"]


def test_further_hosts_can_be_dropped(shop: Tenant, api: KubeApi, authority: Authority) -> None:
    shop.add_host(authority, "canary-1")
    shop.drop_hosts()
    assert [listener["name"] for listener in api.objects[EDGE]["spec"]["listeners"]] == ["http", "https"]


def test_it_is_there_when_its_gateway_is_programmed(shop: Tenant, api: KubeApi) -> None:
    with pytest.raises(NeverReady) as raised:
        shop.wait_programmed(0.05)
    assert str(raised.value) == (
        "downstream: Gateway shop-1/edge programmed: not within 50 ms; last seen: no conditions yet"
    )
    programmed = api.objects[EDGE]
    condition(programmed, "Programmed")
    api.write(programmed)
    shop.wait_programmed(5)


def test_it_is_removed_with_its_origin(shop: Tenant, api: KubeApi, served: Any, lab: FakeLab) -> None:
    tenants.remove(shop, served[1], Tenancy(LabOrigins(lab)), within=5)
    assert [ref for ref in api.objects if "shop-1" in (ref.name, ref.namespace)] == []
    assert lab.asked[-1] == ("remove", "origin-shop-1")


def test_probes_ask_for_it_at_the_shared_address(shop: Tenant, tmp_path: Path) -> None:
    shop.site = Site("10.88.7.8", _ca(tmp_path))
    with shop.probe(tls=True, timeout=0.5) as probe:
        assert (probe.address, probe.port, probe.host) == ("10.88.7.8", 443, "shop-1.edge.test")
    with shop.probe(tls=False, host="x.shop-1.edge.test") as probe:
        assert (probe.port, probe.host) == (80, "x.shop-1.edge.test")


def _ca(folder: Path) -> Path:
    (folder / "ca.crt").write_bytes(Authority.new("x").certificate)
    return folder / "ca.crt"
