"""Gateway: host names, claims, what goes downstream, records, status, and leaving."""

from dataclasses import replace
from typing import Any

import pytest

from edgegate_operator import conditions, faults, kinds, names
from edgegate_operator.controllers.gatewaydecision import Seen, decide, grants_of, prepare
from edgegate_operator.core.plan import Apply, Claim, Delete, Plan, Status, Step
from edgegate_operator.kinds import Obj
from operator_objects import (
    BELOW,
    NOW,
    PROJECT,
    cond,
    domain,
    gateway,
    listener,
    obj,
    record_set,
    settings,
    with_conditions,
    zone,
)
from operator_tls import certificate_for

CANONICAL = names.canonical("uid-shop", "edge.test")
CLAIMS = "datum-downstream-gateway-hostnames"
ME = "single/tenant-a/shop"


def claim(hostname: str, owner: str = ME) -> Obj:
    return obj(kinds.CONFIG_MAP, hostname, CLAIMS, data={"owner": owner})


def below(*served: str, **parts: Any) -> Obj:
    made = obj(kinds.GATEWAY, "shop", BELOW, metadata={"labels": {}}, **parts)
    made["spec"] = {"listeners": [listener(f"l{n}", name) for n, name in enumerate(served)]}
    made = with_conditions(made, cond("Accepted"), cond("Programmed"))
    made["status"]["addresses"] = [{"type": "IPAddress", "value": "192.0.2.10"}]
    return made


def seen(*hostnames: str, **parts: Any) -> Seen:
    return replace(Seen(PROJECT, gateway(*hostnames), BELOW), **parts)


def served(*hostnames: str, **parts: Any) -> Seen:
    """Return a Gateway whose host names are verified and claimed, in a zone of ours."""
    base: dict[str, Any] = {
        "domains": [domain("shop.test")],
        "zones": [zone("shop-test")],
        "claims": [claim(name) for name in hostnames],
        "below": below(),
    }
    return seen(*hostnames, **(base | parts))


def plan(what: Seen, *switched_on: str, **config: Any) -> Plan:
    return decide(what, settings(*switched_on, **config), NOW)[0]


def applied(found: Plan, kind: kinds.Kind) -> list[Obj]:
    return [step.obj for step in found.steps if isinstance(step, Apply) and step.obj["kind"] == kind.kind]


def deleted(found: Plan) -> list[tuple[str, str]]:
    return [(step.kind.kind, step.name) for step in found.steps if isinstance(step, Delete)]


def status(found: Plan) -> Any:
    (only,) = [step.status for step in found.steps if isinstance(step, Status)]
    return only


def condition(found: Plan, kind: str) -> tuple[str, str]:
    return {c["type"]: (c["status"], c["reason"]) for c in status(found)["conditions"]}.get(kind, ("", ""))


def listener_conditions(found: Plan, name: str) -> dict[str, tuple[str, str]]:
    (only,) = [item for item in status(found)["listeners"] if item["name"] == name]
    return {c["type"]: (c["status"], c["reason"]) for c in only["conditions"]}


def down_listeners(found: Plan) -> list[str]:
    (only,) = applied(found, kinds.GATEWAY)
    return [item["name"] for item in only["spec"]["listeners"]]


# host names -----------------------------------------------------------------------------------------------------------


def prepared(what: Seen, *switched_on: str, **config: Any) -> list[Step]:
    return list(prepare(what, settings(*switched_on, **config)).steps)


def test_default_listeners_get_the_canonical_name_and_the_gateway_a_finalizer() -> None:
    (touch,) = [step for step in prepared(seen()) if isinstance(step, Apply)]
    assert touch.touch
    assert touch.obj["metadata"]["uid"] == "uid-shop"
    assert touch.obj["metadata"]["finalizers"] == ["gateway.networking.datumapis.com/gateway-controller"]
    assert {item["hostname"] for item in touch.obj["spec"]["listeners"]} == {CANONICAL}


def test_a_canonical_name_that_was_given_out_stays() -> None:
    made = gateway() | {"status": {"addresses": [{"type": "Hostname", "value": "old-name-bcd23.edge.test"}]}}
    (touch, *_) = prepared(seen(gateway=made))
    assert isinstance(touch, Apply)
    assert touch.obj["spec"]["listeners"][0]["hostname"] == "old-name-bcd23.edge.test"


def test_a_host_name_without_domain_gets_one_of_its_last_two_labels() -> None:
    made = [step.obj for step in prepared(seen("a.b.shop.test", "c.shop.test")) if isinstance(step, Claim)]
    assert [(item["kind"], item["metadata"]["name"]) for item in made] == [("Domain", "shop.test")]


def test_only_verified_host_names_are_claimed() -> None:
    what = seen("www.shop.test", "www.other.test", domains=[domain("shop.test"), domain("other.test", verified=False)])
    made = [step.obj for step in prepared(what) if isinstance(step, Claim)]
    assert [item["metadata"]["name"] for item in made] == ["www.shop.test"]
    assert made[0]["data"] == {"owner": ME}
    assert made[0]["metadata"]["namespace"] == CLAIMS


def test_without_verification_every_host_name_is_claimed() -> None:
    config = {"gateway": {"disableHostnameVerification": True}}
    made = [
        step.obj["metadata"]["name"] for step in prepared(seen("www.shop.test"), **config) if isinstance(step, Claim)
    ]
    assert made == ["www.shop.test"]


@pytest.mark.parametrize("name", ["shop.test", "test", "p.test"])
def test_a_domain_covers_itself_and_what_is_below(name: str) -> None:
    grants = grants_of(served("www.shop.test", domains=[domain(name)]), settings())
    assert grants.serves("www.shop.test") is (name in ("shop.test", "test"))


def test_what_is_served_stays_when_its_domain_goes() -> None:
    what = served("www.shop.test", domains=[], below=below("www.shop.test"))
    assert grants_of(what, settings()).serves("www.shop.test")


def test_an_unverified_host_name_is_not_served_and_says_so() -> None:
    found = plan(seen("www.shop.test", domains=[domain("shop.test", verified=False)], below=below()))
    assert down_listeners(found) == ["default-http"]
    assert listener_conditions(found, "http-hostname-0")["Accepted"] == ("False", "UnverifiedHostnamesPresent")
    assert condition(found, "Programmed") == ("False", "ListenersNotValid")


def test_a_host_name_that_another_project_holds_is_not_served_and_says_so() -> None:
    found = plan(served("www.shop.test", claims=[claim("www.shop.test", "other/tenant-b/shop")]))
    assert down_listeners(found) == ["default-http"]
    assert listener_conditions(found, "http-hostname-0")["Accepted"] == ("False", "HostnameInUse")


def test_claims_that_are_not_needed_are_released_and_those_of_others_are_not() -> None:
    claims = [claim("www.shop.test"), claim("old.shop.test"), claim("their.shop.test", "other/x/y")]
    assert ("ConfigMap", "old.shop.test") in deleted(plan(served("www.shop.test", claims=claims)))
    assert ("ConfigMap", "their.shop.test") not in deleted(plan(served("www.shop.test", claims=claims)))
    assert deleted(plan(served("www.shop.test", claims=claims), faults.CLAIM_KEPT)) == []


def test_a_listener_without_host_name_is_reported_truthfully() -> None:
    made = gateway()
    made["spec"]["listeners"].append(listener("bare", None))
    what = served(gateway=made)
    assert "bare" not in down_listeners(plan(what))
    assert listener_conditions(plan(what), "bare")["Programmed"] == ("False", "HostnameMissing")
    assert condition(plan(what), "Programmed") == ("False", "ListenersNotValid")
    assert condition(plan(what, faults.LISTENER_DROPPED_SILENTLY), "Programmed") == ("True", "Programmed")


# certificates ---------------------------------------------------------------------------------------------------------


def ready(name: str, hostname: str, **parts: Any) -> dict[str, dict[str, Obj]]:
    made, secret = certificate_for(name, hostname, NOW, **parts)
    return {"certificates": {name: made}, "secrets": {name: secret}}


def test_each_https_listener_gets_a_certificate() -> None:
    found = applied(plan(served("www.shop.test")), kinds.CERTIFICATE)
    assert [item["metadata"]["name"] for item in found] == ["shop-default-https", "shop-https-hostname-0"]
    assert found[1]["spec"]["dnsNames"] == ["www.shop.test"]
    assert found[1]["spec"]["issuerRef"]["name"] == "lab-acme"
    assert found[1]["spec"]["secretTemplate"]["labels"] == {names.CLUSTER_LABEL: "cluster-single"}


def test_https_waits_for_a_usable_certificate() -> None:
    found = plan(served("www.shop.test"))
    assert "https-hostname-0" not in down_listeners(found)
    wanted = {"Accepted": ("True", "Accepted"), "ResolvedRefs": ("False", "InvalidCertificateRef")}
    assert listener_conditions(found, "https-hostname-0") == wanted | {"Programmed": ("False", "Invalid")}
    assert condition(found, "Programmed") == ("True", "Programmed")


def test_https_is_served_with_its_secret_and_without_the_issuer_option() -> None:
    what = served("www.shop.test", **ready("shop-https-hostname-0", "www.shop.test"))
    (made,) = applied(plan(what), kinds.GATEWAY)
    (https,) = [item for item in made["spec"]["listeners"] if item["name"] == "https-hostname-0"]
    reference = {"group": "", "kind": "Secret", "name": "shop-https-hostname-0"}
    assert https["tls"] == {"mode": "Terminate", "certificateRefs": [reference]}


@pytest.mark.parametrize(
    "broken",
    [
        {"not_ready": True},
        {"days": -1},
        {"days": 30 / 86400},
        {"begins_in": 3600},
        {"foreign_key": True},
        {"hostname": "other.shop.test"},
        {"garbage": True},
    ],
)
def test_a_certificate_that_is_not_usable_is_withheld(broken: dict[str, Any]) -> None:
    hostname = broken.pop("hostname", "www.shop.test")
    what = served("www.shop.test", **ready("shop-https-hostname-0", hostname, **broken))
    assert "https-hostname-0" not in down_listeners(plan(what))


def test_one_broken_certificate_does_not_hold_back_its_neighbours() -> None:
    good = ready("shop-https-hostname-1", "api.shop.test")
    assert "https-hostname-1" in down_listeners(plan(served("www.shop.test", "api.shop.test", **good)))


def test_a_renamed_listener_goes_on_with_its_old_certificate() -> None:
    """Host name 0 was removed, so the kept one became number 0: it borrows until its new certificate is there."""
    what = served("api.shop.test", **ready("shop-https-hostname-1", "api.shop.test"))
    found = plan(what)
    (made,) = applied(found, kinds.GATEWAY)
    (https,) = [item for item in made["spec"]["listeners"] if item["name"] == "https-hostname-0"]
    assert https["tls"]["certificateRefs"][0]["name"] == "shop-https-hostname-1"
    assert deleted(found) == []
    assert "https-hostname-0" not in down_listeners(plan(what, faults.RENAMED_LISTENER_DARK))


@pytest.mark.parametrize(("seconds", "serves"), [(70, 1), (76, 0)])
def test_a_new_certificate_serves_once_the_proxy_has_forgotten_the_old_one(seconds: float, serves: int) -> None:
    """Its Secret has held another host's certificate before; until that is forgotten, the old one goes on."""
    old, new = (ready(f"shop-https-hostname-{number}", "api.shop.test") for number in (1, 0))
    at = {"lastTransitionTime": conditions.timestamp(NOW - seconds)}
    new["certificates"]["shop-https-hostname-0"]["status"]["conditions"][0] |= at
    found = plan(served("api.shop.test", **{part: old[part] | new[part] for part in old}))
    (made,) = applied(found, kinds.GATEWAY)
    (https,) = [item for item in made["spec"]["listeners"] if item["name"] == "https-hostname-0"]
    assert https["tls"]["certificateRefs"][0]["name"] == f"shop-https-hostname-{serves}"
    assert bool(deleted(found)) == (not serves)
    assert found.after == (pytest.approx(5, abs=1) if serves else None)


def test_certificate_and_secret_of_a_removed_host_name_go() -> None:
    what = served("www.shop.test", **ready("shop-https-hostname-1", "api.shop.test"))
    assert deleted(plan(what)) == [("Certificate", "shop-https-hostname-1"), ("Secret", "shop-https-hostname-1")]
    assert deleted(plan(what, faults.ORPHANED_CERTIFICATE)) == []


def test_a_shared_certificate_serves_names_of_the_target_domain() -> None:
    found = plan(served(), gateway={"defaultListenerTLSSecretName": "wildcard"})
    assert applied(found, kinds.CERTIFICATE) == []
    (made,) = applied(found, kinds.GATEWAY)
    assert made["spec"]["listeners"][1]["tls"]["certificateRefs"][0]["name"] == "wildcard"


def failed(seconds_ago: float) -> dict[str, Any]:
    made, secret = certificate_for("shop-https-hostname-0", "www.shop.test", NOW, failed_ago=seconds_ago)
    return {"certificates": {"shop-https-hostname-0": made}, "secrets": {"shop-https-hostname-0": secret}}


def test_a_failed_certificate_is_tried_anew_after_the_interval_and_counted() -> None:
    found = plan(served("www.shop.test", **failed(301)))
    assert deleted(found) == [("Certificate", "shop-https-hostname-0")]
    (made,) = applied(found, kinds.GATEWAY)
    assert made["metadata"]["annotations"] == {"networking.datumapis.com/reissuance-count-shop-https-hostname-0": "1"}


def test_before_the_interval_is_over_nothing_else_is_held_back() -> None:
    found = plan(served("www.shop.test", **failed(100)))
    assert deleted(found) == []
    assert found.after == pytest.approx(200, abs=1)
    assert status(found)["addresses"][0]["value"] == CANONICAL
    blocked = plan(served("www.shop.test", **failed(100)), faults.FAILED_CERTIFICATE_BLOCKS)
    assert [step for step in blocked.steps if isinstance(step, Status)] == []


def test_a_certificate_is_not_tried_for_ever() -> None:
    counted = {"networking.datumapis.com/reissuance-count-shop-https-hostname-0": "3"}
    assert deleted(plan(served("www.shop.test", **failed(301)), faults.CERTIFICATE_GIVEN_UP)) == []
    made = below()
    made["metadata"]["annotations"] = counted
    assert deleted(plan(served("www.shop.test", below=made, **failed(301)))) == []


def test_fault_requeue_floor_holds_everything_for_a_minute_while_a_certificate_is_pending() -> None:
    young = served("www.shop.test")
    young.gateway["metadata"]["creationTimestamp"] = "2027-01-15T07:59:50Z"
    assert plan(young, faults.REQUEUE_FLOOR).after == 60
    assert applied(plan(young, faults.REQUEUE_FLOOR), kinds.DNS_ENDPOINT) == []
    assert applied(plan(served("www.shop.test"), faults.REQUEUE_FLOOR), kinds.DNS_ENDPOINT) != []


# downstream and DNS ---------------------------------------------------------------------------------------------------


def test_namespace_and_anchor_come_before_what_hangs_on_them() -> None:
    order = [
        (type(step).__name__, step.obj["kind"]) for step in plan(served()).steps if isinstance(step, Apply | Claim)
    ]
    assert order[:3] == [("Claim", "Namespace"), ("Claim", "ConfigMap"), ("Apply", "Gateway")]


def test_canonical_names_get_addresses_when_the_edge_has_one_of_every_family() -> None:
    (made,) = applied(plan(served()), kinds.DNS_ENDPOINT)
    assert [(e["dnsName"], e["recordType"], e["targets"]) for e in made["spec"]["endpoints"]] == [
        (CANONICAL, "A", ["192.0.2.10"]),
        (f"v4.{CANONICAL}", "A", ["192.0.2.10"]),
    ]
    both = plan(served(), gateway={"ipFamilies": ["IPv4", "IPv6"]})
    assert applied(both, kinds.DNS_ENDPOINT) == []


def test_fault_address_late() -> None:
    young = served()
    young.gateway["metadata"]["creationTimestamp"] = "2027-01-15T07:59:50Z"
    assert applied(plan(young, faults.ADDRESS_LATE), kinds.DNS_ENDPOINT) == []
    assert plan(young, faults.ADDRESS_LATE).after == pytest.approx(55)


def test_fault_certificate_first() -> None:
    young = served("www.shop.test")
    young.gateway["metadata"]["creationTimestamp"] = "2027-01-15T07:59:59Z"
    early = plan(young, faults.CERTIFICATE_FIRST)
    assert [applied(early, kind) for kind in (kinds.DNS_ENDPOINT, kinds.DNS_RECORD_SET)] == [[], []]
    assert applied(early, kinds.CERTIFICATE) != []
    assert early.after == pytest.approx(9)
    old = served("www.shop.test")
    old.gateway["metadata"]["creationTimestamp"] = "2027-01-15T07:59:30Z"
    assert applied(plan(old, faults.CERTIFICATE_FIRST), kinds.DNS_RECORD_SET) != []


def test_a_custom_host_name_gets_a_record_set() -> None:
    (made,) = applied(plan(served("www.shop.test")), kinds.DNS_RECORD_SET)
    assert made["metadata"]["name"] == names.record_set("shop", "www.shop.test")
    assert made["metadata"]["annotations"]["dns.datumapis.com/hostname"] == "www.shop.test"
    record = {"name": "www", "ttl": 300, "cname": {"content": f"{CANONICAL}."}}
    assert made["spec"] == {"dnsZoneRef": {"name": "shop-test"}, "recordType": "CNAME", "records": [record]}
    assert condition(plan(served("www.shop.test")), "DNSRecordsProgrammed") == ("True", "AllRecordsCreated")


def test_at_an_apex_the_record_is_an_alias() -> None:
    apex = domain("shop.test")
    apex["status"]["apex"] = True
    (made,) = applied(plan(served("shop.test", domains=[apex])), kinds.DNS_RECORD_SET)
    assert (made["spec"]["recordType"], made["spec"]["records"][0]["name"]) == ("ALIAS", "@")


def test_the_start_of_a_record_set_is_written_once() -> None:
    old = {"dns.datumapis.com/sync-started-at": "2020-01-01T00:00:00Z", "dns.datumapis.com/hostname": "www.shop.test"}
    labels = managed_record("www.shop.test")["metadata"]["labels"]
    name = names.record_set("shop", "www.shop.test")
    held = record_set(name, "CNAME", {"name": "www"}, metadata={"annotations": old, "labels": labels})
    (made,) = applied(plan(served("www.shop.test", records=[held])), kinds.DNS_RECORD_SET)
    assert made["metadata"]["annotations"]["dns.datumapis.com/sync-started-at"] == "2020-01-01T00:00:00Z"


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ({"zones": []}, None),
        ({"zones": [zone("shop-test", programmed=False)]}, "DNSAuthorityMissing"),
        ({"domains": [domain("shop.test", nameservers=("ns.other.test",))]}, "DNSAuthorityMissing"),
        (
            {"records": [record_set("mine", "A", {"name": "www", "a": {"content": "10.0.0.1"}})]},
            "ConflictWithUserRecord",
        ),
    ],
)
def test_without_authority_or_beside_a_users_record_nothing_is_written(
    parts: dict[str, Any], reason: str | None
) -> None:
    found = plan(served("www.shop.test", **parts))
    assert applied(found, kinds.DNS_RECORD_SET) == []
    expected = ("False", "PartialFailure") if reason else ("", "")
    assert condition(found, "DNSRecordsProgrammed") == expected
    texts = [c["message"] for c in status(found)["conditions"] if c["type"] == "DNSRecordsProgrammed"]
    assert texts == ([f"www.shop.test: {reason}"] if reason else [])


def managed_record(hostname: str) -> Obj:
    labels = {"dns.datumapis.com/source-name": "shop", "dns.datumapis.com/managed": "true"}
    labels["app.kubernetes.io/managed-by"] = "networking.datumapis.com"
    meta = {"labels": labels, "annotations": {"dns.datumapis.com/hostname": hostname}}
    return record_set(names.record_set("shop", hostname), "CNAME", {"name": "x"}, metadata=meta)


def test_the_record_of_a_removed_host_name_goes() -> None:
    what = served("www.shop.test", records=[managed_record("old.shop.test")])
    assert deleted(plan(what)) == [("DNSRecordSet", names.record_set("shop", "old.shop.test"))]
    assert deleted(plan(what, faults.STALE_RECORDS)) == []


def test_a_record_whose_authority_is_in_doubt_stays() -> None:
    doubtful = [zone("shop-test", programmed=False)]
    assert deleted(plan(served("www.shop.test", zones=doubtful, records=[managed_record("www.shop.test")]))) == []


# status and leaving ---------------------------------------------------------------------------------------------------


def test_status_waits_until_the_edge_speaks_of_the_present_form() -> None:
    stale = below()
    stale["metadata"]["generation"] = 2
    assert condition(plan(served(below=stale)), "Programmed") == ("False", "Pending")


def test_a_class_that_is_missing_is_waited_for() -> None:
    what = seen(managed=False)
    assert plan(what) == Plan(after=30.0)


def test_a_deleted_gateway_leaves_nothing_whether_its_class_exists_or_not() -> None:
    leaving = {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": [names.GATEWAY_FINALIZER]}
    what = served(
        "www.shop.test",
        gateway=gateway("www.shop.test", metadata=leaving),
        managed=False,
        endpoint=obj(kinds.DNS_ENDPOINT, "shop", BELOW),
        records=[managed_record("www.shop.test")],
        **ready("shop-https-hostname-0", "www.shop.test"),
    )
    found = plan(what)
    assert deleted(found) == [
        ("DNSRecordSet", names.record_set("shop", "www.shop.test")),
        ("DNSEndpoint", "shop"),
        ("Gateway", "shop"),
        ("Certificate", "shop-https-hostname-0"),
        ("Secret", "shop-https-hostname-0"),
        ("ConfigMap", "www.shop.test"),
        ("ConfigMap", "anchor-uid-shop"),
    ]
    last = found.steps[-1]
    assert isinstance(last, Apply)
    assert "finalizers" not in last.obj["metadata"]


def test_attached_routes_are_counted() -> None:
    route = obj(kinds.HTTP_ROUTE, "r", spec={"parentRefs": [{"name": "shop", "sectionName": "default-http"}]})
    listeners = {item["name"]: item["attachedRoutes"] for item in status(plan(served(routes=[route])))["listeners"]}
    assert listeners == {"default-http": 1, "default-https": 0}
