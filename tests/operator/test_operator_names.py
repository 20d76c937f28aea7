"""Names that are a promise: test vectors of the contract, and shapes."""

import re

from edgegate_operator import names
from edgegate_operator.kinds import GATEWAY
from operator_objects import CANONICAL_SHAPE, obj


def test_record_sets_are_named_by_the_hash_of_the_host_name() -> None:
    assert names.record_set("g", "test.e2e.env.datum.net") == "g-f9ab7844"
    assert names.record_set("g", "test-suffix.e2e.env.datum.net") == "g-b23024b7"


def test_a_slash_in_a_project_is_written_as_underscore() -> None:
    assert names.cluster_label("org/proj") == "cluster-org_proj"


def test_canonical_names_have_the_shape_and_depend_on_the_uid_alone() -> None:
    made = [names.canonical(f"uid-{n}", "edge.test") for n in range(200)]
    assert all(re.fullmatch(CANONICAL_SHAPE, name) for name in made)
    assert len(set(made)) == 200
    assert made == [names.canonical(f"uid-{n}", "edge.test") for n in range(200)]


def test_downstream_names() -> None:
    assert names.backend("u1", 2, 0) == "route-u1-rule-2-backendref-0"
    assert names.namespace_for(obj(GATEWAY, "x", metadata={"uid": "1234"})) == "ns-1234"
    assert names.claim_owner("single", "tenant-a", "shop") == "single/tenant-a/shop"


def test_provenance_has_five_labels() -> None:
    assert names.provenance("single", GATEWAY, "tenant-a", "shop") == {
        "meta.datumapis.com/upstream-cluster-name": "cluster-single",
        "meta.datumapis.com/upstream-namespace": "tenant-a",
        "meta.datumapis.com/upstream-group": "gateway.networking.k8s.io",
        "meta.datumapis.com/upstream-kind": "Gateway",
        "meta.datumapis.com/upstream-name": "shop",
    }
