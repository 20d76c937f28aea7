"""HTTPProxy: the objects that it becomes, in order, and its status."""

from typing import Any

import pytest

from edgegate_operator import faults, kinds
from edgegate_operator.controllers.httpproxy import decide
from edgegate_operator.controllers.proxyobjects import gateway_of, route_of, slices_of
from edgegate_operator.controllers.proxystatus import Seen
from edgegate_operator.core.plan import Apply, Delete, Plan, Status
from edgegate_operator.kinds import Obj
from operator_objects import NOW, cond, gateway, obj, proxy, record_set, settings, with_conditions


def applied(plan: Plan) -> list[str]:
    return [step.obj["kind"] for step in plan.steps if isinstance(step, Apply)]


def status(plan: Plan) -> Any:
    (found,) = [step.status for step in plan.steps if isinstance(step, Status)]
    return found


def condition(plan: Plan, kind: str) -> tuple[str, str]:
    found = {item["type"]: (item["status"], item["reason"]) for item in status(plan)["conditions"]}
    return found.get(kind, ("", ""))


def live_gateway(*hostnames: str, **listeners: Obj) -> Obj:
    """Return a Gateway that has been looked at; `listeners` gives conditions by listener name."""
    made = with_conditions(gateway(*hostnames), cond("Accepted"), cond("Programmed"))
    made["status"]["addresses"] = [{"type": "Hostname", "value": "calm-reef-bcd23.edge.test"}]
    names = [item["name"] for item in made["spec"]["listeners"]]
    made["status"]["listeners"] = [
        {"name": n, "conditions": [listeners.get(n.replace("-", "_"), cond("Accepted"))]} for n in names
    ]
    return made


def test_each_host_name_gets_two_numbered_listeners() -> None:
    made = gateway_of(proxy("www.shop.test", "api.shop.test"), settings())
    named = [(item["name"], item.get("hostname"), item["port"]) for item in made["spec"]["listeners"]]
    assert named == [
        ("default-http", None, 80),
        ("default-https", None, 443),
        ("http-hostname-0", "www.shop.test", 80),
        ("https-hostname-0", "www.shop.test", 443),
        ("http-hostname-1", "api.shop.test", 80),
        ("https-hostname-1", "api.shop.test", 443),
    ]
    assert made["spec"]["gatewayClassName"] == "datum-external-global-proxy"
    assert made["metadata"]["ownerReferences"][0] | {"controller": True} == made["metadata"]["ownerReferences"][0]


@pytest.mark.parametrize(
    ("endpoint", "kind", "address", "port", "scheme"),
    [
        ("http://Origin.test", "FQDN", "origin.test", 80, "http"),
        ("https://origin.test", "FQDN", "origin.test", 443, "https"),
        ("http://10.0.0.9:8081", "IPv4", "10.0.0.9", 8081, "http"),
        ("http://[2001:db8::1]:80", "IPv6", "2001:db8::1", 80, "http"),
    ],
)
def test_an_endpoint_becomes_a_slice(endpoint: str, kind: str, address: str, port: int, scheme: str) -> None:
    (made,) = slices_of(proxy(endpoint=endpoint))
    assert made["metadata"]["name"] == "shop-0-0"
    assert (made["addressType"], made["endpoints"][0]["addresses"]) == (kind, [address])
    assert made["ports"] == [{"name": "httpproxy-0-0", "appProtocol": scheme, "port": port}]


def test_a_connector_has_a_placeholder_for_an_address() -> None:
    rules = [{"backends": [{"endpoint": "http://127.0.0.1:8080", "connector": {"name": "laptop"}}]}]
    (made,) = slices_of(proxy(rules=rules))
    assert (made["addressType"], made["endpoints"][0]["addresses"]) == ("FQDN", ["connector.local"])
    assert "filters" not in route_of(proxy(rules=rules))["spec"]["rules"][0]


def rewritten(**rule: Any) -> Any:
    backend = {"endpoint": "http://origin.test"} | rule.pop("backend", {})
    (made,) = route_of(proxy(rules=[{"backends": [backend]} | rule]))["spec"]["rules"]
    return made.get("filters")


def test_the_origin_sees_its_own_name() -> None:
    assert rewritten() == [{"type": "URLRewrite", "urlRewrite": {"hostname": "origin.test"}}]


def test_the_origin_at_an_address_sees_the_clients_name_unless_tls_names_one() -> None:
    assert rewritten(backend={"endpoint": "http://10.0.0.9"}) is None
    by_tls = rewritten(backend={"endpoint": "https://10.0.0.9", "tls": {"hostname": "Origin.test"}})
    assert by_tls == [{"type": "URLRewrite", "urlRewrite": {"hostname": "origin.test"}}]


def test_a_host_header_of_the_user_wins_and_leaves_the_modifier() -> None:
    headers = {"set": [{"name": "Host", "value": "Other.test"}, {"name": "X-A", "value": "1"}]}
    found = rewritten(filters=[{"type": "RequestHeaderModifier", "requestHeaderModifier": headers}])
    assert found == [
        {"type": "RequestHeaderModifier", "requestHeaderModifier": {"set": [{"name": "X-A", "value": "1"}]}},
        {"type": "URLRewrite", "urlRewrite": {"hostname": "other.test"}},
    ]


def test_a_rewrite_of_the_user_is_kept_and_completed() -> None:
    path = {"type": "ReplaceFullPath", "replaceFullPath": "/x"}
    found = rewritten(filters=[{"type": "URLRewrite", "urlRewrite": {"path": path}}])
    assert found == [{"type": "URLRewrite", "urlRewrite": {"hostname": "origin.test", "path": path}}]


def test_a_new_proxy_becomes_gateway_slice_and_route_in_one_go() -> None:
    plan = decide(Seen(proxy("www.shop.test")), settings(), NOW)
    assert applied(plan) == ["Gateway", "EndpointSlice", "HTTPRoute", "HTTPProxy"]
    assert condition(plan, "Accepted") == ("False", "Pending")
    assert condition(plan, "HostnamesVerified") == ("False", "Pending")


def test_an_invalid_proxy_makes_nothing_and_is_looked_at_again() -> None:
    plan = decide(Seen(proxy("*.shop.test")), settings(), NOW)
    assert applied(plan) == []
    assert condition(plan, "Accepted") == ("False", "Invalid")
    assert plan.after == 300


def test_a_name_that_something_else_controls_is_a_conflict() -> None:
    owner = {"apiVersion": "x/v1", "kind": "Other", "name": "shop", "uid": "u", "controller": True}
    plan = decide(Seen(proxy(), gateway=gateway(metadata={"ownerReferences": [owner]})), settings(), NOW)
    assert applied(plan) == []
    assert condition(plan, "Programmed") == ("False", "Conflict")


def test_an_instance_that_does_not_exist_is_said_and_looked_for_again() -> None:
    plan = decide(Seen(proxy(rules=[{"backends": [{"instance": {"name": "vm", "port": 80}}]}])), settings(), NOW)
    assert condition(plan, "Programmed") == ("False", "InstanceBackendNotFound")
    assert plan.after == 1


def held_slice(kind: str) -> Obj:
    owner = {"apiVersion": "x", "kind": "HTTPProxy", "name": "shop", "uid": "uid-shop", "controller": True}
    return obj(kinds.ENDPOINT_SLICE, "shop-0-0", addressType=kind, metadata={"ownerReferences": [owner]})


def test_an_origin_that_becomes_an_address_gets_a_new_slice() -> None:
    seen = Seen(proxy(endpoint="http://10.0.0.9"), slices={"shop-0-0": held_slice("FQDN")})
    steps = decide(seen, settings(), NOW).steps
    removed = [at for at, step in enumerate(steps) if isinstance(step, Delete)]
    made = [at for at, step in enumerate(steps) if isinstance(step, Apply) and step.obj["kind"] == "EndpointSlice"]
    assert len(removed) == len(made) == 1
    assert removed < made


def test_fault_origin_switch_stuck() -> None:
    seen = Seen(proxy(endpoint="http://10.0.0.9"), slices={"shop-0-0": held_slice("FQDN")})
    assert "EndpointSlice" not in applied(decide(seen, settings(faults.ORIGIN_SWITCH_STUCK), NOW))


def test_a_slice_of_a_rule_that_is_gone_is_removed() -> None:
    old = held_slice("FQDN") | {"metadata": held_slice("FQDN")["metadata"] | {"name": "shop-1-0"}}
    steps = decide(Seen(proxy(), slices={"shop-1-0": old}), settings(), NOW).steps
    assert [step.name for step in steps if isinstance(step, Delete)] == ["shop-1-0"]


def test_a_deleted_proxy_takes_gateway_and_route_along_then_lets_go() -> None:
    leaving = {
        "deletionTimestamp": "2026-01-01T00:00:00Z",
        "finalizers": ["networking.datumapis.com/httpproxy-cleanup"],
    }
    gone = proxy() | {"metadata": proxy()["metadata"] | leaving}
    own = gateway(metadata={"ownerReferences": held_slice("FQDN")["metadata"]["ownerReferences"]})
    plan = decide(Seen(gone, gateway=own), settings(), NOW)
    kinds_ = [(type(s).__name__, getattr(s, "name", "")) for s in plan.steps]
    assert kinds_ == [("Delete", "shop"), ("Apply", "")]


def test_status_follows_the_gateway() -> None:
    plan = decide(Seen(proxy("www.shop.test"), gateway=live_gateway("www.shop.test")), settings(), NOW)
    assert condition(plan, "Accepted") == ("True", "Accepted")
    assert condition(plan, "HostnamesVerified") == ("True", "HostnamesVerified")
    assert condition(plan, "CertificatesReady") == ("False", "CertificatesPending")
    assert status(plan)["canonicalHostname"] == "calm-reef-bcd23.edge.test"
    assert status(plan)["hostnames"] == ["calm-reef-bcd23.edge.test", "www.shop.test"]


def test_a_gateway_that_speaks_of_an_older_generation_changes_nothing() -> None:
    stale = live_gateway("www.shop.test")
    stale["metadata"]["generation"] = 2
    before = with_conditions(proxy("www.shop.test"), cond("Accepted"), cond("Programmed"))
    plan = decide(Seen(before, gateway=stale), settings(), NOW)
    assert condition(plan, "Programmed") == ("True", "Programmed")


def test_a_host_name_that_waits_for_its_domain_has_no_entry() -> None:
    waiting = cond("Accepted", "False", "UnverifiedHostnamesPresent")
    plan = decide(Seen(proxy("w.x"), gateway=live_gateway("w.x", http_hostname_0=waiting)), settings(), NOW)
    assert condition(plan, "HostnamesVerified") == ("False", "UnverifiedHostnamesPresent")
    assert "hostnameStatuses" not in status(plan)


def test_a_host_name_that_another_holds_is_said() -> None:
    taken = cond("Accepted", "False", "HostnameInUse")
    plan = decide(Seen(proxy("w.x"), gateway=live_gateway("w.x", http_hostname_0=taken)), settings(), NOW)
    assert condition(plan, "HostnamesInUse") == ("True", "HostnameInUse")
    (entry,) = status(plan)["hostnameStatuses"]
    assert [(c["type"], c["status"], c["reason"]) for c in entry["conditions"]] == [("Available", "False", "InUse")]


def certificate(*conditions: Obj, **status_: Any) -> dict[str, Obj]:
    made = obj(kinds.CERTIFICATE, "shop-https-hostname-0", status={"conditions": list(conditions)} | status_)
    return {"shop-https-hostname-0": made}


@pytest.mark.parametrize(
    ("held", "reason", "overall"),
    [
        ({}, "Pending", "CertificatesPending"),
        (certificate(cond("Ready", "False"), cond("Issuing")), "ChallengeInProgress", "CertificatesPending"),
        (certificate(cond("Ready", "False"), lastFailureTime="x"), "ProvisioningFailed", "CertificatesFailed"),
        (certificate(cond("Ready")), "CertificateIssued", "AllCertificatesReady"),
    ],
)
def test_certificates_are_reported_for_each_host_name(held: dict[str, Obj], reason: str, overall: str) -> None:
    seen = Seen(proxy("w.x"), gateway=live_gateway("w.x"), certificates=held)
    plan = decide(seen, settings(), NOW)
    (entry,) = status(plan)["hostnameStatuses"]
    assert next(c["reason"] for c in entry["conditions"] if c["type"] == "CertificateReady") == reason
    assert condition(plan, "CertificatesReady")[1] == overall


@pytest.mark.parametrize(
    ("found", "answer"),
    [
        ([cond("Programmed")], ("True", "RecordCreated")),
        ([cond("Programmed", "False", "Conflict")], ("False", "Conflict")),
        ([], ("False", "Pending")),
    ],
)
def test_the_record_is_reported_on_the_proxy_itself(found: list[Obj], answer: tuple[str, str]) -> None:
    record = with_conditions(record_set("r", "CNAME", {"name": "w"}), *found)
    plan = decide(Seen(proxy("w.x"), gateway=live_gateway("w.x"), records={"w.x": record}), settings(), NOW)
    (entry,) = status(plan)["hostnameStatuses"]
    (seen,) = [(c["status"], c["reason"]) for c in entry["conditions"] if c["type"] == "DNSRecordProgrammed"]
    assert seen == answer


def test_times_of_conditions_stay_while_their_status_does() -> None:
    before = with_conditions(proxy(), cond("Accepted"), cond("Programmed", "False", "Pending"))
    plan = decide(Seen(before, gateway=live_gateway()), settings(), NOW)
    times = {item["type"]: item["lastTransitionTime"] for item in status(plan)["conditions"]}
    assert times == {"Accepted": "2026-01-01T00:00:00Z", "Programmed": "2027-01-15T08:00:00Z"}
