"""Copies downstream: what is copied, what comes back, and the guard of login."""

from dataclasses import replace
from typing import Any

import pytest

from edgegate_operator import faults, kinds, names
from edgegate_operator.controllers.copies import SYNC, SYNC_MANAGED, Seen, decide
from edgegate_operator.core.plan import Apply, Delete, Plan, Status
from edgegate_operator.kinds import Obj
from operator_objects import BELOW, NOW, PROJECT, cond, login_policy, obj, settings

MARKED = {"finalizers": [names.REPLICATOR_FINALIZER]}
LEAVING = MARKED | {"deletionTimestamp": "2026-01-01T00:00:00Z"}


def seen(thing: Obj, **parts: Any) -> Seen:
    return replace(Seen(PROJECT, thing, BELOW), **parts)


def plan(what: Seen, *switched_on: str) -> Plan:
    return decide(what, settings(*switched_on), NOW)


def copy(found: Plan) -> Obj:
    (only,) = [step.obj for step in found.steps if isinstance(step, Apply) and not step.touch]
    return only


def copied(found: Plan) -> bool:
    return any(isinstance(step, Apply) and not step.touch for step in found.steps)


def touch(found: Plan) -> Obj:
    (only,) = [step.obj for step in found.steps if isinstance(step, Apply) and step.touch]
    metadata: Obj = only["metadata"]
    return metadata


def deleted(found: Plan) -> list[tuple[str, str]]:
    return [(step.kind.kind, step.name) for step in found.steps if isinstance(step, Delete)]


def status(found: Plan) -> list[Obj]:
    return [step.status for step in found.steps if isinstance(step, Status)]


def secret(**meta: Any) -> Obj:
    return obj(kinds.SECRET, "oidc", data={"client-secret": "c2VjcmV0"}, type="Opaque", metadata=meta)


def test_a_copy_has_the_spec_and_says_where_it_comes_from() -> None:
    made = copy(plan(seen(obj(kinds.BACKEND, "ext", spec={"endpoints": []}, metadata={"labels": {"mine": "x"}}))))
    assert made["spec"] == {"endpoints": []}
    assert made["metadata"]["namespace"] == BELOW
    assert made["metadata"]["labels"] == names.provenance(PROJECT, kinds.BACKEND, "tenant-a", "ext")
    assert made["metadata"]["ownerReferences"][0]["name"] == "anchor-uid-ext"


def test_a_tls_policy_is_written_in_the_version_that_the_edge_serves() -> None:
    assert copy(plan(seen(obj(kinds.BACKEND_TLS_UP, "t", spec={}))))["apiVersion"] == "gateway.networking.k8s.io/v1"


def test_a_connector_takes_its_status_along() -> None:
    made = copy(plan(seen(obj(kinds.CONNECTOR, "c", spec={}, status={"leaseRef": {"name": "c"}}))))
    assert made["metadata"]["annotations"] == {
        "networking.datumapis.com/upstream-status": '{"leaseRef": {"name": "c"}}'
    }


@pytest.mark.parametrize(
    ("meta", "users", "answer"),
    [
        ({}, (), False),
        ({"labels": {SYNC: "true"}}, (), True),
        ({}, ("login",), True),
        ({"labels": {SYNC: "true"}, "annotations": {SYNC_MANAGED: "true"}}, (), False),
    ],
)
def test_a_secret_is_copied_on_request_or_if_a_policy_needs_it(meta: Obj, users: tuple[str, ...], answer: bool) -> None:
    assert copied(plan(seen(secret(**meta), users=users))) is answer


def test_a_secret_that_a_policy_needs_is_labelled_and_its_type_is_not_copied() -> None:
    found = plan(seen(secret(), users=("login",)))
    assert touch(found)["labels"] == {SYNC: "true"}
    assert touch(found)["annotations"] == {SYNC_MANAGED: "true"}
    assert copy(found)["data"] == {"client-secret": "c2VjcmV0"}
    assert "type" not in copy(found)


def test_a_secret_that_nobody_needs_any_more_loses_label_and_copy() -> None:
    meta = MARKED | {"labels": {SYNC: "true"}, "annotations": {SYNC_MANAGED: "true"}}
    found = plan(seen(secret(**meta), below=obj(kinds.SECRET, "oidc", BELOW)))
    assert deleted(found) == [("Secret", "oidc"), ("ConfigMap", "anchor-uid-oidc")]
    assert set(touch(found)) == {"name", "namespace", "uid"}


def test_what_leaves_upstream_leaves_downstream_first() -> None:
    what = seen(obj(kinds.BACKEND, "ext", spec={}, metadata=LEAVING), below=obj(kinds.BACKEND, "ext", BELOW))
    assert deleted(plan(what)) == [("Backend", "ext"), ("ConfigMap", "anchor-uid-ext")]
    assert "finalizers" not in touch(plan(what))


def test_what_is_not_ours_to_finish_is_left_alone() -> None:
    assert plan(seen(obj(kinds.BACKEND, "ext", spec={}, metadata={"deletionTimestamp": "x"}))) == Plan()


# status back ----------------------------------------------------------------------------------------------------------


def policy_below(*conditions: Obj, generation: int = 4, **spec: Any) -> Obj:
    made = obj(kinds.SECURITY_POLICY, "login", BELOW, metadata={"generation": generation})
    made["spec"] = login_policy()["spec"] | spec
    ref = {"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "shop", "namespace": BELOW}
    ancestor = {"ancestorRef": ref, "controllerName": "edge", "conditions": list(conditions)}
    return made | {"status": {"ancestors": [ancestor]}}


def test_status_comes_back_with_our_names_and_generation() -> None:
    below = policy_below(cond("Accepted", "False", "Invalid", generation=4, message="no"))
    (found,) = status(plan(seen(login_policy(metadata={"generation": 9}), below=below)))
    (ancestor,) = found["ancestors"]
    assert ancestor["ancestorRef"]["namespace"] == "tenant-a"
    assert ancestor["controllerName"].startswith("gateway.networking.datumapis.com/")
    assert ancestor["conditions"][0]["observedGeneration"] == 9
    assert (ancestor["conditions"][0]["status"], ancestor["conditions"][0]["message"]) == ("False", "no")
    assert status(plan(seen(login_policy(), below=below), faults.POLICY_STATUS_LOST)) == []


@pytest.mark.parametrize(
    "below", [policy_below(cond("Accepted", generation=3)), policy_below(cond("Accepted", generation=4), cors={})]
)
def test_status_of_an_older_form_does_not_claim_the_present_generation(below: Obj) -> None:
    (found,) = status(plan(seen(login_policy(metadata={"generation": 9}), below=below)))
    assert found["ancestors"][0]["conditions"][0]["observedGeneration"] == 8


def test_the_status_of_a_backend_comes_back() -> None:
    below = obj(kinds.BACKEND, "ext", BELOW, spec={}, status={"conditions": [cond("Accepted")]})
    assert status(plan(seen(obj(kinds.BACKEND, "ext", spec={}), below=below)))[0]["conditions"][0]["type"] == "Accepted"


# the guard ------------------------------------------------------------------------------------------------------------


def test_a_policy_whose_secret_is_missing_stays_off_the_edge_and_says_why() -> None:
    found = plan(seen(login_policy(), missing=("oidc",)))
    assert not copied(found)
    (ancestor,) = status(found)[0]["ancestors"]
    condition = ancestor["conditions"][0]
    assert (condition["type"], condition["status"], condition["reason"]) == ("Accepted", "False", "PendingSecret")
    assert condition["message"] == "Held back: Secret oidc does not exist in namespace tenant-a"
    assert ancestor["ancestorRef"]["namespace"] == "tenant-a"
    assert copied(plan(seen(login_policy(), missing=("oidc",)), faults.NO_OIDC_GUARD))


def governed(*, held: bool, taken: bool) -> Obj:
    note = {"annotations": {names.HELD_ANNOTATION: "login"}} if held else {}
    made = obj(kinds.HTTP_ROUTE, "shop", BELOW, metadata={"generation": 5} | note)
    return made | {"status": {"parents": [{"conditions": [cond("Accepted", generation=5 if taken else 4)]}]}}


@pytest.mark.parametrize(("held", "taken", "gone"), [(False, True, False), (True, False, False), (True, True, True)])
def test_a_policy_leaves_the_edge_only_when_its_routes_are_stopped_there(held: bool, taken: bool, gone: bool) -> None:
    what = seen(login_policy(), missing=("oidc",), below=policy_below(), governed=(governed(held=held, taken=taken),))
    assert deleted(plan(what)) == ([("SecurityPolicy", "login")] if gone else [])
    assert bool(status(plan(what))) is gone
    assert deleted(plan(what, faults.POLICY_NOT_WITHDRAWN)) == []
    assert deleted(plan(what, faults.WITHDRAWAL_BEFORE_HOLD)) == [("SecurityPolicy", "login")]


def test_a_secret_that_leaves_waits_for_the_policies_that_use_it() -> None:
    below = obj(kinds.SECRET, "oidc", BELOW)
    assert plan(seen(secret(**LEAVING), below=below, copies_using=("login",))) == Plan()
    assert ("Secret", "oidc") in deleted(plan(seen(secret(**LEAVING), below=below)))


def test_a_secret_without_policy_is_let_go() -> None:
    """The finalizer goes with the last policy that names it; with the defect it stays for good."""
    forgotten = seen(secret(**LEAVING, labels={SYNC: "true"}, annotations={SYNC_MANAGED: "true"}))
    assert "finalizers" not in touch(plan(forgotten))
    assert plan(forgotten, faults.SECRET_NEVER_LET_GO).steps == ()
