"""The operator as a process would run it, against real API servers; Envoy Gateway and cert-manager are stand-ins."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from typing import Any

import pytest

from edgegate.clock import wait_until
from edgegate_operator import conditions, kinds, names
from edgegate_operator.config import settings_from
from edgegate_operator.core.kube import ApiError
from edgegate_operator.kinds import Kind, Obj
from edgegate_operator.manager import Manager, SamePlane
from operator_objects import login_policy, proxy, record_set
from operator_planes import FakePowerDns, Plane, Planes, cert_manager, envoy_gateway, free_port

pytestmark = pytest.mark.needs_apiserver
LIMIT = 20.0
"""Seconds for anything; it usually takes a tenth of one, but the machine may be busy."""


def soon(what: str, ready: Callable[[], Any]) -> Any:
    return wait_until(what, ready, deadline=LIMIT)


@pytest.fixture(scope="module")
def operator(planes: Planes, upstream: Plane, downstream: Plane, powerdns: FakePowerDns) -> Iterator[Manager]:
    """Return a running operator with its neighbours."""
    klass = kinds.GATEWAY_CLASS.named("", "datum-external-global-proxy")
    controller = "gateway.networking.datumapis.com/external-global-proxy-controller"
    upstream.put(kinds.NAMESPACE.named("", "tenant-a"), klass | {"spec": {"controllerName": controller}})
    zones = kinds.DNS_ZONE_CLASS.named("", "pdns") | {"spec": {"controllerName": "powerdns"}}
    zones["spec"]["nameServerPolicy"] = {"mode": "Static", "static": {"servers": ["ns1.edge.test", "ns2.edge.test"]}}
    upstream.put(zones)
    downstream.put(zones, kinds.NAMESPACE.named("", "datum-downstream-gateway-hostnames"))
    settings = settings_from(
        {
            "projects": [{"name": "single", "kubeconfig": planes.kubeconfig(upstream)}],
            "downstream": {"kubeconfig": planes.kubeconfig(downstream)},
            "webhook": {"host": "127.0.0.1", "port": free_port()},
            "gateway": {"ipFamilies": ["IPv4"], "clusterIssuerMap": {"auto": "lab-acme"}},
            "dns": {"pdnsUrl": powerdns.url, "pdnsKey": "secret"},
            "domain": {"resolver": "127.0.0.1:9"},
            "quota": {"claims": True},
        }
    )
    with ExitStack() as undo:
        undo.enter_context(envoy_gateway(downstream))
        undo.enter_context(cert_manager(downstream))
        manager = Manager(settings)
        undo.callback(manager.stop)
        manager.start()
        yield manager


def test_one_control_plane_for_both_is_refused(planes: Planes, upstream: Plane) -> None:
    path = planes.kubeconfig(upstream)
    data = {"projects": [{"name": "single", "kubeconfig": path}], "downstream": {"kubeconfig": path}}
    manager = Manager(settings_from(data))
    with pytest.raises(SamePlane, match=r"^single is the same control plane as downstream; give each its own$"):
        manager.start()
    manager.stop()


def user_object(thing: Obj) -> Obj:
    """Return an object as a user would apply it."""
    meta = {key: thing["metadata"][key] for key in ("name", "namespace")}
    return {key: value for key, value in thing.items() if key not in ("metadata", "status")} | {"metadata": meta}


def verified(upstream: Plane, name: str) -> None:
    """Let a Domain be verified, as a user who has published the record would see it."""
    made = kinds.DOMAIN.named("tenant-a", name) | {"spec": {"domainName": name}}
    upstream.put(made)
    condition = {"type": "Verified", "status": "True", "reason": "Verified", "message": ""}
    status = {"conditions": [condition | {"lastTransitionTime": "2026-01-01T00:00:00Z"}]}
    status["nameservers"] = [{"hostname": "ns1.edge.test"}]
    upstream.set_status(made, status, "user")


def below_of(upstream: Plane) -> str:
    return names.namespace_for(upstream.get(kinds.NAMESPACE, "", "tenant-a"))


def is_true(plane: Plane, kind: Kind, name: str, condition: str) -> bool:
    return conditions.is_true(plane.find(kind, "tenant-a", name), condition)


def listener_names(plane: Plane, space: str) -> list[str]:
    return [item["name"] for item in plane.get(kinds.GATEWAY, space, "shop")["spec"]["listeners"]]


def none_left(plane: Plane, kind: Kind) -> bool:
    return not plane.list(kind, names.CLUSTER_LABEL)[0]


def gone(plane: Plane, kind: Kind, space: str, name: str) -> bool:
    return plane.find(kind, space, name) is None


def test_a_proxy_with_a_custom_host_name_converges_and_leaves_nothing(
    operator: Manager, upstream: Plane, downstream: Plane, powerdns: FakePowerDns
) -> None:
    below = below_of(upstream)
    zone = kinds.DNS_ZONE.named("tenant-a", "shop-test")
    upstream.put(zone | {"spec": {"domainName": "shop.test", "dnsZoneClassName": "pdns"}})
    soon("zone programmed", lambda: is_true(upstream, kinds.DNS_ZONE, "shop-test", "Programmed"))
    verified(upstream, "shop.test")
    began = time.monotonic()
    upstream.put(user_object(proxy("www.shop.test")))
    soon("programmed", lambda: is_true(upstream, kinds.HTTP_PROXY, "shop", "Programmed"))
    soon("certificates", lambda: is_true(upstream, kinds.HTTP_PROXY, "shop", "CertificatesReady"))
    took = time.monotonic() - began

    listeners = ["default-http", "default-https", "http-hostname-0", "https-hostname-0"]
    soon("listeners", lambda: listener_names(downstream, below) == listeners)
    status = upstream.get(kinds.HTTP_PROXY, "tenant-a", "shop")["status"]
    soon("record", lambda: ("www.shop.test.", "CNAME") in powerdns.zones["shop.test."])
    assert powerdns.zones["shop.test."]["www.shop.test.", "CNAME"] == [status["canonicalHostname"] + "."]
    assert took < LIMIT

    upstream.delete(kinds.HTTP_PROXY, "tenant-a", "shop")
    for plane, kind, space in (
        (upstream, kinds.HTTP_PROXY, "tenant-a"),
        (upstream, kinds.GATEWAY, "tenant-a"),
        (upstream, kinds.HTTP_ROUTE, "tenant-a"),
        (downstream, kinds.GATEWAY, below),
        (downstream, kinds.HTTP_ROUTE, below),
        (downstream, kinds.DNS_ENDPOINT, below),
    ):
        soon(f"{kind.kind} gone {plane.name}", partial(gone, plane, kind, space, "shop"))
    soon(
        "claim gone", lambda: gone(downstream, kinds.CONFIG_MAP, "datum-downstream-gateway-hostnames", "www.shop.test")
    )
    soon("record gone", lambda: ("www.shop.test.", "CNAME") not in powerdns.zones["shop.test."])
    for kind in (kinds.CERTIFICATE, kinds.SECRET, kinds.SERVICE):
        soon(f"every {kind.kind} is gone", partial(none_left, downstream, kind))
    upstream.delete(kinds.DNS_ZONE, "tenant-a", "shop-test")
    soon("zone gone", lambda: "shop.test." not in powerdns.zones)


def claims(plane: Plane, name: str) -> set[str]:
    """Return the names of the claims of quota that stand for objects of that name."""
    every = [one["metadata"]["name"] for one in plane.list(kinds.RESOURCE_CLAIM)[0]]
    return {claim for claim in every if claim.partition("-")[2] == name}


def test_claims_of_quota_go_with_their_objects_and_come_back(operator: Manager, upstream: Plane) -> None:
    wanted = {"httpproxy-counted", "gateway-counted", "httproute-counted"}
    for _ in range(2):
        upstream.put(user_object(proxy(name="counted")))
        soon("claims", lambda: wanted <= claims(upstream, "counted"))
        upstream.delete(kinds.HTTP_PROXY, "tenant-a", "counted")
        soon("no Gateway", lambda: gone(upstream, kinds.GATEWAY, "tenant-a", "counted"))
        soon("no claims", lambda: not claims(upstream, "counted"))


def is_held(downstream: Plane, below: str, name: str) -> bool:
    route = downstream.find(kinds.HTTP_ROUTE, below, name) or {"metadata": {}}
    return names.HELD_ANNOTATION in (route["metadata"].get("annotations") or {})


def accepted_reason(upstream: Plane) -> str:
    policy = upstream.find(kinds.SECURITY_POLICY, "tenant-a", "login") or {}
    ancestors = (policy.get("status") or {}).get("ancestors") or [{}]
    return str(conditions.find(ancestors[0].get("conditions"), "Accepted").get("reason"))


def test_a_login_without_its_secret_is_held_and_released(operator: Manager, upstream: Plane, downstream: Plane) -> None:
    below = below_of(upstream)
    upstream.put(user_object(proxy(name="guarded")))
    soon("route", lambda: not gone(downstream, kinds.HTTP_ROUTE, below, "guarded"))
    policy = user_object(login_policy(target="guarded"))
    policy["spec"]["oidc"] |= {"redirectURL": "https://www.shop.test/cb", "logoutPath": "/out"}
    upstream.put(policy)
    soon("held", lambda: is_held(downstream, below, "guarded") and accepted_reason(upstream) == "PendingSecret")
    assert gone(downstream, kinds.SECURITY_POLICY, below, "login")

    secret = kinds.SECRET.named("tenant-a", "oidc") | {"data": {"client-secret": "c2VjcmV0"}}
    upstream.put(secret)
    soon("released", lambda: not is_held(downstream, below, "guarded") and accepted_reason(upstream) == "Accepted")
    assert not gone(downstream, kinds.SECURITY_POLICY, below, "login")

    upstream.delete(kinds.SECRET, "tenant-a", "oidc")
    soon("withdrawn", lambda: gone(downstream, kinds.SECURITY_POLICY, below, "login"))
    assert is_held(downstream, below, "guarded")
    soon("secret gone", lambda: gone(upstream, kinds.SECRET, "tenant-a", "oidc"))
    assert gone(downstream, kinds.SECRET, below, "oidc")
    for kind, name in ((kinds.SECURITY_POLICY, "login"), (kinds.HTTP_PROXY, "guarded")):
        upstream.delete(kind, "tenant-a", name)
        soon(f"{name} gone", partial(gone, upstream, kind, "tenant-a", name))


def test_an_origin_can_change_between_name_and_address(operator: Manager, upstream: Plane, downstream: Plane) -> None:
    below = below_of(upstream)

    def is_kind_below(kind: str) -> bool:
        found = downstream.list(kinds.ENDPOINT_SLICE, names.CLUSTER_LABEL)[0]
        return [item["addressType"] for item in found if item["metadata"]["namespace"] == below] == [kind]

    for endpoint, kind in (("http://origin.test", "FQDN"), ("http://10.0.0.9", "IPv4"), ("http://origin.test", "FQDN")):
        upstream.put(user_object(proxy(name="moving", endpoint=endpoint)))
        soon(f"slice is {kind}", partial(is_kind_below, kind))
    upstream.delete(kinds.HTTP_PROXY, "tenant-a", "moving")
    soon("proxy gone", lambda: gone(upstream, kinds.HTTP_PROXY, "tenant-a", "moving"))


def refusal(upstream: Plane, thing: Obj) -> str:
    with pytest.raises(ApiError) as refused:
        upstream.create(user_object(thing))
    return refused.value.message


def gateway_object(**listener: Any) -> Obj:
    body = {"name": "h", "port": 80, "protocol": "HTTP", "hostname": "w.shop.test"} | listener
    spec = {"gatewayClassName": "datum-external-global-proxy", "listeners": [{k: v for k, v in body.items() if v}]}
    return kinds.GATEWAY.named("tenant-a", "bare") | {"spec": spec}


def rules(**backend: Any) -> list[Any]:
    return [{"backends": [backend]}]


@pytest.mark.parametrize(
    ("thing", "text"),
    [
        (proxy("*.shop.test"), "full host names, without wildcard"),
        (proxy(name="a.b"), "must be a DNS label"),
        (proxy(rules=[{}]), "a rule without a backend needs a RequestRedirect"),
        (proxy(rules=rules(endpoint="http://o.test/x")), "no user, path, query or fragment"),
        (proxy(rules=rules(endpoint="http://127.0.0.1")), "must not be unspecified, loopback or link-local"),
        (proxy(rules=rules(endpoint="http://localhost")), "must have two labels or more"),
        (proxy(rules=rules(endpoint="https://10.0.0.1")), "needs tls.hostname"),
        (proxy(rules=rules(endpoint="http://o.test:70000")), "port of an endpoint must be 1 to 65535"),
        (gateway_object(hostname=None), "hostname"),
        (gateway_object(port=8080), "only HTTP on port 80 and HTTPS on port 443"),
        (
            kinds.HTTP_ROUTE.named("tenant-a", "r") | {"spec": {"parentRefs": [{"name": "x"}], "hostnames": ["a.b"]}},
            "spec.hostnames: forbidden",
        ),
    ],
)
def test_what_must_not_be_said_is_refused(operator: Manager, upstream: Plane, thing: Obj, text: str) -> None:
    assert text in refusal(upstream, thing)


def test_a_class_of_others_is_refused_with_ours_named(operator: Manager, upstream: Plane) -> None:
    upstream.put(kinds.GATEWAY_CLASS.named("", "theirs") | {"spec": {"controllerName": "other.io/x"}})

    def told() -> bool:
        parameters = upstream.find(kinds.CONFIG_MAP, "kube-system", "edgegate-admission") or {}
        return bool(parameters.get("data", {}).get("foreign") == "theirs")

    soon("the policy knows the class", told)
    thing = gateway_object()
    thing["spec"]["gatewayClassName"] = "theirs"
    assert "theirs is not supported; supported: datum-external-global-proxy" in refusal(upstream, thing)
    upstream.delete(kinds.GATEWAY_CLASS, "", "theirs")


def test_a_gateway_gets_its_default_listeners(operator: Manager, upstream: Plane) -> None:
    made = upstream.create(gateway_object())
    assert [item["name"] for item in made["spec"]["listeners"]] == ["default-http", "default-https", "h"]
    upstream.delete(kinds.GATEWAY, "tenant-a", "bare")
    soon("gateway gone", lambda: gone(upstream, kinds.GATEWAY, "tenant-a", "bare"))


def test_a_second_domain_of_a_name_is_refused(operator: Manager, upstream: Plane) -> None:
    upstream.put(kinds.DOMAIN.named("tenant-a", "first") | {"spec": {"domainName": "twice.test"}})
    soon("seen", lambda: operator.sites["single"].up(kinds.DOMAIN).get("tenant-a", "first"))
    second = kinds.DOMAIN.named("tenant-a", "second") | {"spec": {"domainName": "twice.test"}}
    assert "Domain first is for twice.test already" in refusal(upstream, second)


def test_a_record_before_its_zone_is_served_when_the_zone_comes(
    operator: Manager, upstream: Plane, powerdns: FakePowerDns
) -> None:
    early = record_set("early", "A", {"name": "www", "a": {"content": "10.0.0.1"}}, zone="late-test")
    upstream.put(user_object(early))
    soon("it says why", lambda: not is_true(upstream, kinds.DNS_RECORD_SET, "early", "Accepted"))
    zone = kinds.DNS_ZONE.named("tenant-a", "late-test")
    upstream.put(zone | {"spec": {"domainName": "late.test", "dnsZoneClassName": "pdns"}})
    soon("programmed", lambda: is_true(upstream, kinds.DNS_RECORD_SET, "early", "Programmed"))
    assert powerdns.zones["late.test."]["www.late.test.", "A"] == ["10.0.0.1"]
    upstream.delete(kinds.DNS_ZONE, "tenant-a", "late-test")
    soon("the zone takes its records along", lambda: gone(upstream, kinds.DNS_RECORD_SET, "tenant-a", "early"))


def test_nothing_failed_and_the_names_of_metrics_are_standard(operator: Manager) -> None:
    """Runs last: all that happened above went without an error that was not a lost race."""
    text = operator.metrics.text()
    for family in (
        "controller_runtime_reconcile_total", "controller_runtime_reconcile_time_seconds_bucket", "workqueue_depth",
        "workqueue_queue_duration_seconds_bucket", "workqueue_adds_total", "nso_gateway_listener_cert_gating_total",
    ):  # fmt: skip
        assert f"\n{family}{{" in text
    assert 'project="single"' in text
    total = sum(
        float(line.split()[-1]) for line in text.splitlines() if line.startswith("controller_runtime_reconcile_total")
    )
    errors = sum(float(line.split()[-1]) for line in text.splitlines() if 'result="error"' in line)
    assert errors < total / 20
