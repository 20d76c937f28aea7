"""HTTP-01 solver, firewall status, connectors, classes: the smaller decisions."""

from typing import Any

import pytest

from edgegate_operator import faults, kinds, names
from edgegate_operator.controllers import connector, gatewayclass, solver, trafficprotection
from edgegate_operator.core.plan import Apply, Claim, Delete, Plan, Status
from edgegate_operator.kinds import Obj
from operator_objects import BELOW, EARLIER, NOW, cond, obj, settings


def applied(found: Plan) -> list[Obj]:
    return [step.obj for step in found.steps if isinstance(step, Apply) and not step.touch]


def statuses(found: Plan) -> dict[str, Any]:
    return {step.obj["metadata"]["name"]: step.status for step in found.steps if isinstance(step, Status)}


def shown(conditions: list[Obj]) -> dict[str, tuple[str, str]]:
    return {item["type"]: (item["status"], item["reason"]) for item in conditions}


# HTTP-01 --------------------------------------------------------------------------------------------------------------


def challenge(issuer: str = "lab-acme", kind: str = "ClusterIssuer", **parts: Any) -> Obj:
    spec = {"type": "HTTP-01", "token": "tok", "key": "tok.thumb", "dnsName": "www.shop.test"}
    return obj(kinds.CHALLENGE, "ch", BELOW, spec=spec | {"issuerRef": {"name": issuer, "kind": kind}}, **parts)


def solved(what: Obj, *switched_on: str, gateway: bool = True) -> Plan:
    owner = obj(kinds.GATEWAY, "shop", BELOW) if gateway else None
    return solver.decide(solver.Seen(what, owner), settings(*switched_on))


def test_a_challenge_is_answered_on_the_gateway_that_asked() -> None:
    answer, route = applied(solved(challenge()))
    assert answer["spec"]["directResponse"]["body"]["inline"] == "tok.thumb"
    assert route["spec"]["parentRefs"][0]["name"] == "shop"
    assert route["spec"]["hostnames"] == ["www.shop.test"]
    (rule,) = route["spec"]["rules"]
    assert rule["matches"] == [{"path": {"type": "Exact", "value": "/.well-known/acme-challenge/tok"}}]
    assert {o["metadata"]["name"] for o in (answer, route)} == {"ch"}
    assert answer["metadata"]["labels"] == {names.SOLVER_LABEL: "true"}
    assert answer["metadata"]["ownerReferences"][0]["kind"] == "Challenge"


@pytest.mark.parametrize(
    "what", [challenge("other"), challenge(kind="Issuer"), challenge(metadata={"deletionTimestamp": "x"})]
)
def test_a_challenge_that_is_not_ours_is_left_alone(what: Obj) -> None:
    assert solved(what) == Plan()


def test_where_the_whole_gateway_asks_for_login_a_challenge_is_let_in() -> None:
    seen = solver.Seen(challenge(), obj(kinds.GATEWAY, "shop", BELOW), guarded=True)
    policy, _, route = applied(solver.decide(seen, settings()))
    target = {"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "name": route["metadata"]["name"]}
    assert policy["spec"] == {"targetRefs": [target], "authorization": {"defaultAction": "Allow"}}
    assert len(applied(solver.decide(seen, settings(faults.SOLVER_BEHIND_LOGIN)))) == 2


def test_without_its_gateway_a_challenge_waits() -> None:
    assert solved(challenge(), gateway=False) == Plan()


def test_an_errored_challenge_is_deleted_so_that_a_new_one_comes() -> None:
    found = solved(challenge(status={"state": "errored"}))
    assert [step.name for step in found.steps if isinstance(step, Delete)] == ["ch"]


def test_fault_wrong_solver_plane_hangs_the_route_where_nothing_serves_it() -> None:
    _, route = applied(solved(challenge(), faults.WRONG_SOLVER_PLANE))
    assert route["spec"]["parentRefs"][0]["name"] == "shop-hub"


def test_fault_solver_over_tls_answers_where_there_is_no_certificate_yet() -> None:
    _, route = applied(solved(challenge(), faults.SOLVER_OVER_TLS))
    assert [ref["port"] for ref in route["spec"]["parentRefs"]] == [443]


# firewall -------------------------------------------------------------------------------------------------------------

TARGET = {"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "shop"}


def tpp(name: str, created: str = EARLIER, blocking: int = 1, detection: int = 1, ref: Obj = TARGET) -> Obj:
    levels = {"blocking": blocking, "detection": detection}
    rules = [{"type": "OWASPCoreRuleSet", "owaspCoreRuleSet": {"paranoiaLevels": levels}}]
    return obj(
        kinds.TRAFFIC_PROTECTION_POLICY, name, spec={"targetRefs": [ref], "ruleSets": rules},
        metadata={"creationTimestamp": created},
    )  # fmt: skip


def protected(*policies: Obj, copies: dict[str, Obj] | None = None, faults_on: tuple[str, ...] = ()) -> dict[str, Any]:
    present = frozenset({("Gateway", "shop")})
    seen = trafficprotection.Seen(list(policies), copies or {}, present)
    found = statuses(trafficprotection.decide(seen, settings(*faults_on), NOW))
    return {name: shown(status["ancestors"][0]["conditions"]) for name, status in found.items()}


def test_the_oldest_policy_is_in_force_then_the_first() -> None:
    found = protected(tpp("z"), tpp("a"), tpp("b", created="2026-02-01T00:00:00Z"))
    assert {name: item["Accepted"] for name, item in found.items()} == {
        "a": ("True", "Accepted"),
        "z": ("False", "Conflicted"),
        "b": ("False", "Conflicted"),
    }
    accepted = protected(tpp("z"), tpp("a"), faults_on=(faults.CONFLICT_ACCEPTED,))
    assert accepted["z"]["Accepted"] == ("True", "Accepted")


def test_an_invalid_older_policy_does_not_silence_a_valid_one() -> None:
    found = protected(tpp("old", blocking=3), tpp("new", created="2026-02-01T00:00:00Z"))
    assert found["old"] == {"Accepted": ("False", "Invalid")}
    assert found["new"]["Accepted"] == ("True", "Accepted")


def test_a_target_that_does_not_exist_is_said() -> None:
    assert protected(tpp("a", ref=TARGET | {"name": "other"}))["a"] == {"Accepted": ("False", "TargetNotFound")}


def copy_of(policy: Obj, *conditions: Obj, **parts: Any) -> dict[str, Obj]:
    report = {"ancestorRef": {"name": "shop"}, "controllerName": trafficprotection.EDGE, "conditions": list(conditions)}
    made = policy | {"metadata": policy["metadata"] | {"generation": 7}, "status": {"ancestors": [report]}}
    return {policy["metadata"]["name"]: made | parts}


@pytest.mark.parametrize(
    ("copies", "answer"),
    [
        ({}, ("False", "Pending")),
        (copy_of(tpp("a"), cond("Programmed", generation=7)), ("True", "Programmed")),
        (copy_of(tpp("a"), cond("Programmed", generation=6)), ("False", "Pending")),
        (copy_of(tpp("a"), cond("Programmed", generation=7), spec={}), ("False", "Pending")),
        (copy_of(tpp("a"), cond("Programmed", "False", generation=7)), ("False", "Pending")),
    ],
)
def test_programmed_is_what_the_edge_says_of_the_present_form(copies: dict[str, Obj], answer: tuple[str, str]) -> None:
    assert protected(tpp("a"), copies=copies)["a"]["Programmed"] == answer


def test_edits_that_were_collapsed_do_not_matter() -> None:
    """Upstream is at generation 12, downstream at 7: what counts is that both say the same."""
    edited = tpp("a")
    edited["metadata"]["generation"] = 12
    found = protected(edited, copies=copy_of(tpp("a"), cond("Programmed", generation=7)))
    assert found["a"]["Programmed"] == ("True", "Programmed")


# connectors -----------------------------------------------------------------------------------------------------------

KLASS = obj(kinds.CONNECTOR_CLASS, "tunnel", spec={"controllerName": connector.CONTROLLER})
LAPTOP = obj(kinds.CONNECTOR, "laptop", spec={"connectorClassName": "tunnel"})


def lease(renewed: str = "2027-01-15T07:59:50.000000Z", seconds: int = 30) -> Obj:
    return obj(kinds.LEASE, "laptop", spec={"renewTime": renewed, "leaseDurationSeconds": seconds})


def looked_at(
    *, klass: Obj | None = KLASS, held: Obj | None = None, served: bool = True, on: tuple[str, ...] = ()
) -> Plan:
    return connector.decide(connector.Seen(LAPTOP, klass, held, served), settings(*on), NOW)


def test_a_connector_gets_a_lease_and_is_not_ready_before_somebody_renews_it() -> None:
    found = looked_at()
    (made,) = [step.obj for step in found.steps if isinstance(step, Claim)]
    assert (made["kind"], made["spec"]) == ("Lease", {"leaseDurationSeconds": 30})
    status = statuses(found)["laptop"]
    assert shown(status["conditions"]) == {"Accepted": ("True", "Accepted"), "Ready": ("False", "ConnectorNotReady")}
    assert status["leaseRef"] == {"name": "laptop"}
    assert found.after is None


def test_a_connector_is_ready_while_its_lease_lasts() -> None:
    found = looked_at(held=lease())
    assert shown(statuses(found)["laptop"]["conditions"])["Ready"] == ("True", "ConnectorReady")
    assert found.after is not None
    assert 20 <= found.after <= 22


def test_an_expired_lease_means_not_ready() -> None:
    old = lease("2027-01-15T07:00:00Z")
    assert shown(statuses(looked_at(held=old))["laptop"]["conditions"])["Ready"] == ("False", "ConnectorNotReady")
    stuck = looked_at(held=old, on=(faults.CONNECTOR_ALWAYS_READY,))
    assert shown(statuses(stuck)["laptop"]["conditions"])["Ready"] == ("True", "ConnectorReady")


@pytest.mark.parametrize("klass", [None, KLASS | {"spec": {"controllerName": "other"}}])
def test_a_class_that_is_missing_or_anothers_is_said(klass: Obj | None) -> None:
    found = looked_at(klass=klass)
    assert shown(statuses(found)["laptop"]["conditions"])["Accepted"] == ("False", "ConnectorClassNotFound")
    assert [step for step in found.steps if isinstance(step, Claim)] == []


def test_where_leases_are_not_served_a_connector_is_accepted_all_the_same() -> None:
    found = looked_at(served=False)
    assert shown(statuses(found)["laptop"]["conditions"])["Accepted"] == ("True", "Accepted")
    assert [step for step in found.steps if isinstance(step, Claim)] == []


def test_an_advertisement_belongs_to_its_connector() -> None:
    ad = obj(kinds.CONNECTOR_ADVERTISEMENT, "web", spec={"connectorRef": {"name": "laptop"}})
    found = connector.decide_advertisement(ad, LAPTOP, NOW)
    (touch,) = [step.obj for step in found.steps if isinstance(step, Apply)]
    assert touch["metadata"]["ownerReferences"][0]["name"] == "laptop"
    assert shown(statuses(found)["web"]["conditions"]) == {"Accepted": ("True", "Accepted")}
    orphan = connector.decide_advertisement(ad, None, NOW)
    assert shown(statuses(orphan)["web"]["conditions"]) == {"Accepted": ("False", "ConnectorNotFound")}


# classes --------------------------------------------------------------------------------------------------------------


def klass(name: str, controller: str = settings().gateway.controller_name, **spec: Any) -> Obj:
    return obj(kinds.GATEWAY_CLASS, name, spec={"controllerName": controller} | spec)


def test_our_class_is_accepted_unless_it_has_parameters() -> None:
    good = statuses(gatewayclass.decide(klass("ours"), settings(), NOW))["ours"]
    assert shown(good["conditions"]) == {"Accepted": ("True", "Accepted")}
    bad = statuses(gatewayclass.decide(klass("ours", parametersRef={}), settings(), NOW))["ours"]
    assert shown(bad["conditions"]) == {"Accepted": ("False", "InvalidParameters")}
    assert gatewayclass.decide(klass("theirs", "other.io/x"), settings(), NOW) == Plan()


def test_admission_policies_are_told_which_classes_are_ours() -> None:
    classes = [klass("b"), klass("a"), klass("theirs", "other.io/x")]
    data = gatewayclass.parameters(classes, settings()).obj["data"]
    assert data["managed"] == "a,b"
    assert data["foreign"] == "theirs"
    assert data["tlsOptions"] == "gateway.networking.datumapis.com/certificate-issuer"
    assert data["serviceBackends"] == "false"
    assert data["routeHostnames"] == "false"
    admitted = gatewayclass.parameters(classes, settings(faults.ROUTE_HOSTNAMES_ADMITTED)).obj["data"]
    assert admitted["routeHostnames"] == "true"
    assert gatewayclass.parameters(classes, settings(faults.FOREIGN_CLASS_ADMITTED)).obj["data"]["foreign"] == ""
