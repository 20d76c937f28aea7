"""The environment of a container."""

import pytest

from edgegate.errors import PodTrouble
from edgegate.lab.node.environment import content, environment, expand, field, quantity, resource
from edgegate.lab.node.kube import Json
from node_parts import FACTS, config_map, nothing, objects, pod, secret


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$(A)", "1"),
        ("x$(A)y$(B)", "x1y2"),
        ("$$(A)", "$(A)"),
        ("$$$(A)", "$1"),
        ("$(MISSING)", "$(MISSING)"),
        ("$A ${A} $(A", "$A ${A} $(A"),
        ("cost: 5$", "cost: 5$"),
        ("$()", "$()"),
    ],
)
def test_references_expand_as_in_a_cluster(text: str, expected: str) -> None:
    assert expand(text, {"A": "1", "B": "2"}) == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("metadata.name", "web-1"),
        ("metadata.namespace", "shop"),
        ("metadata.uid", "11111111-2222-3333-4444-555555555555"),
        ("metadata.labels['app']", "web"),
        ("metadata.annotations['topology.kubernetes.io/zone']", ""),
        ("metadata.labels", 'app="web"\ntier="a\\"b"'),
        ("spec.nodeName", "lab"),
        ("spec.serviceAccountName", "default"),
        ("status.podIP", "10.88.7.130"),
        ("status.hostIP", "10.88.7.129"),
    ],
)
def test_fields_of_the_pod(path: str, expected: str) -> None:
    assert field(pod(), path, FACTS) == expected


def test_an_unknown_field_is_named() -> None:
    with pytest.raises(PodTrouble, match=r"fieldPath 'spec\.color' is not supported"):
        field(pod(), "spec.color", FACTS)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("250m", 0.25),
        ("2", 2),
        ("64Mi", 64 * 2**20),
        ("1.5Gi", 1.5 * 2**30),
        ("1e3", 1000),
        ("2E", 2e18),
        ("3Ei", 3 * 2**60),
    ],
)
def test_quantities(text: str, number: float) -> None:
    assert quantity(text) == number


def test_what_is_no_quantity_is_refused() -> None:
    with pytest.raises(ValueError, match="'many' is not a quantity"):
        quantity("many")


@pytest.mark.parametrize(
    ("ref", "expected"),
    [
        ({"resource": "limits.memory", "divisor": "1Mi"}, "64"),
        ({"resource": "limits.cpu"}, "1"),
        ({"resource": "limits.cpu", "divisor": "1m"}, "250"),
        ({"resource": "requests.cpu", "divisor": "0"}, "0"),
        ({"resource": "limits.memory", "containerName": "other"}, str(4 * 2**30)),
    ],
)
def test_resources_round_up_and_fall_back_to_the_node(ref: Json, expected: str) -> None:
    limited = {"name": "c", "resources": {"limits": {"memory": "64Mi", "cpu": "250m"}}}
    assert resource(pod(limited, {"name": "other"}), limited, ref, FACTS) == expected


@pytest.mark.parametrize(
    ("ref", "text"),
    [
        ({"resource": "limits.gpu"}, "resource 'limits.gpu' is not supported"),
        ({"resource": "limits.cpu", "containerName": "x"}, "no container 'x'"),
    ],
)
def test_resources_that_are_not_there_are_named(ref: Json, text: str) -> None:
    with pytest.raises(PodTrouble, match=text):
        resource(pod(), {"name": "c"}, ref, FACTS)


def test_the_environment_is_made_in_order() -> None:
    container = {
        "envFrom": [
            {"prefix": "P_", "configMapRef": {"name": "all"}},
            {"secretRef": {"name": "none", "optional": True}},
        ],
        "env": [
            {"name": "A", "value": "$(P_x)$(BASE)"},
            {"name": "B", "value": "$(A)!"},
            {"name": "K", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
            {"name": "N", "valueFrom": {"configMapKeyRef": {"name": "none", "key": "k", "optional": True}}},
            {"name": "EMPTY"},
        ],
    }
    lookup = objects(config_map("all", x="1"), secret("s", k="c2VjcmV0"))
    made = environment(pod(), container, FACTS, lookup, {"BASE": "b"})
    assert made == {"BASE": "b", "P_x": "1", "A": "1b", "B": "1b!", "K": "secret", "EMPTY": ""}


@pytest.mark.parametrize(
    ("container", "text"),
    [
        ({"envFrom": [{"secretRef": {"name": "s"}}]}, 'secret "s" not found'),
        (
            {"env": [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "m", "key": "k"}}}]},
            'configmap "m" not found',
        ),
        ({"env": [{"name": "A", "valueFrom": {"fileKeyRef": {}}}]}, "valueFrom fileKeyRef is not supported"),
    ],
)
def test_what_is_missing_is_a_configuration_error(container: Json, text: str) -> None:
    with pytest.raises(PodTrouble, match=text) as caught:
        environment(pod(), container, FACTS, nothing, {})
    assert caught.value.reason == "CreateContainerConfigError"


def test_a_missing_key_is_named() -> None:
    container = {"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "client-secret"}}}]}
    with pytest.raises(PodTrouble, match="couldn't find key client-secret in Secret shop/s"):
        environment(pod(), container, FACTS, objects(secret("s", other="eA==")), {})


def test_binary_data_of_a_config_map_counts() -> None:
    found = {**config_map("m", a="text"), "binaryData": {"b": "AAE="}}
    assert content(found) == {"a": b"text", "b": b"\x00\x01"}
