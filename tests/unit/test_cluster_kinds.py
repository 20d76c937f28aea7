"""Kinds and references as paths, manifests and words."""

import pytest

from edgegate.clusters.kinds import GATEWAY, NAMESPACE, Kind, Ref


@pytest.mark.parametrize(
    ("kind", "path"),
    [(NAMESPACE, "/api/v1"), (GATEWAY, "/apis/gateway.networking.k8s.io/v1"), (Kind("apps/v1", "X"), "/apis/apps/v1")],
)
def test_the_core_group_has_a_path_of_its_own(kind: Kind, path: str) -> None:
    assert kind.group_path == path


@pytest.mark.parametrize("ref", [Ref(GATEWAY, "edge", "a"), Ref(NAMESPACE, "a")])
def test_a_manifest_describes_what_refers_to_it(ref: Ref) -> None:
    assert Ref.of(ref.manifest()) == ref


def test_a_manifest_has_a_spec_and_further_fields_where_given() -> None:
    metadata = {"name": "edge", "namespace": "a"}
    head = {"apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway", "metadata": metadata}
    ref = Ref(GATEWAY, "edge", "a")
    assert ref.manifest() == head
    assert ref.manifest({}, type="Opaque") == {**head, "spec": {}, "type": "Opaque"}


def test_cluster_scoped_kinds_have_no_namespace() -> None:
    assert Ref(NAMESPACE, "a").manifest()["metadata"] == {"name": "a"}


def test_references_are_told_as_people_say_them() -> None:
    assert (str(Ref(GATEWAY, "edge", "a")), str(Ref(NAMESPACE, "a"))) == ("Gateway a/edge", "Namespace a")
