"""Claims of quota: who holds one, whose it is, and when it is made anew."""

import pytest

from edgegate_operator import faults, kinds
from edgegate_operator.controllers import quota
from edgegate_operator.core.plan import Claim, Plan
from edgegate_operator.kinds import Kind, Obj
from operator_objects import PROJECT, SPACE, obj, proxy, settings


def claim_of(holder: Obj, *switched_on: str) -> Obj:
    (step,) = quota.decide(PROJECT, holder, settings(*switched_on)).steps
    assert isinstance(step, Claim)
    return step.obj


def test_an_object_holds_one_piece_of_its_kind_for_its_project() -> None:
    claim = claim_of(proxy())
    assert (claim["kind"], claim["metadata"]["name"], claim["metadata"]["namespace"]) == (
        "ResourceClaim", "httpproxy-shop", SPACE,
    )  # fmt: skip
    assert claim["spec"]["requests"] == [{"resourceType": "networking.datumapis.com/httpproxies", "amount": 1}]
    assert claim["spec"]["consumerRef"] == {
        "apiGroup": "resourcemanager.miloapis.com", "kind": "Project", "name": PROJECT,
    }  # fmt: skip
    assert claim["spec"]["resourceRef"] == {
        "apiGroup": "networking.datumapis.com", "kind": "HTTPProxy", "namespace": SPACE, "name": "shop",
    }  # fmt: skip


def test_a_claim_belongs_to_its_object_so_that_it_goes_with_it() -> None:
    owner = {"apiVersion": "networking.datumapis.com/v1alpha", "kind": "HTTPProxy", "name": "shop", "uid": "uid-shop"}
    assert claim_of(proxy())["metadata"]["ownerReferences"] == [owner]


def test_fault_quota_claim_kept_makes_claims_of_nobody() -> None:
    assert claim_of(proxy(), faults.QUOTA_CLAIM_KEPT)["metadata"]["ownerReferences"] == []


def test_an_object_that_is_being_deleted_gets_no_claim() -> None:
    leaving = proxy()
    leaving["metadata"]["deletionTimestamp"] = "x"
    assert quota.decide(PROJECT, leaving, settings()) == Plan()


@pytest.mark.parametrize("kind", quota.COUNTED, ids=lambda kind: kind.kind)
def test_a_claim_is_named_after_kind_and_object(kind: Kind) -> None:
    assert claim_of(obj(kind, "a-b"))["metadata"]["name"] == f"{kind.kind.lower()}-a-b"


def test_nobody_makes_claims_unless_he_is_told() -> None:
    assert not settings().quota.claims
    assert settings(quota={"claims": True}).quota.claims
    assert len(quota.COUNTED) == 13


def test_it_looks_again_when_a_claim_has_gone() -> None:
    """An object that was made anew under its old name finds the old claim there until that is collected."""
    watched = [watch.kind for watch in quota.controller(settings()).watches]
    assert watched == [*quota.COUNTED, kinds.RESOURCE_CLAIM]
