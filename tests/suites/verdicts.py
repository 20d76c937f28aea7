"""One test for each way in which a test that uses the edge can end."""

import pytest

import edgegate
from edgegate import Gate, Source
from edgegate.errors import LabFault, NeverReady

LATE = {"limit": "30.00 s", "last": "Accepted=False"}


class Handle:
    running: dict[str, str]


def test_unit() -> None:
    """Uses no edge."""


def test_unit_wrong() -> None:
    assert False, "a plain failure"  # noqa: B011, PT015


@pytest.mark.edge_gate("sound")
def test_sound(gate: Gate) -> None:
    gate.poison("a policy without its secret", live=True, evidence="its own route answers 500")
    gate.expect(Source.TRAFFIC, "tenant-a https", 200, 200)
    gate.timing("accepted", 0.25)
    gate.note("measured on an idle host")
    gate.table("answers", ["tenant", "status"], [["a", 200]])


@pytest.mark.edge_gate("isolation")
def test_dark(gate: Gate) -> None:
    gate.poison("a valid policy on HTTPRoute b/route", live=True, evidence="302 to the provider")
    gate.expect(Source.DATA_PLANE, "listener 443", "0 rejected updates", "1: configuration is frozen")
    gate.expect(Source.TRAFFIC, "tenant-a https", 200, "connection reset")
    gate.expect(Source.STATUS, "policy b/oidc", True, True)


@pytest.mark.edge_gate("isolation")
def test_dark_then_late(gate: Gate) -> None:
    gate.expect(Source.TRAFFIC, "tenant-a https", 200, 404)
    raise NeverReady("recovery", limit="30.00 s", last="404")


@pytest.mark.edge_gate("isolation")
def test_dark_then_lab_gone(gate: Gate) -> None:
    gate.expect(Source.TRAFFIC, "tenant-a https", 200, "refused")
    raise LabFault("the supervisor is gone")


@pytest.mark.edge_gate("isolation")
def test_promise_broken(gate: Gate) -> None:
    with gate.must(Source.STATUS, "policy b/oidc", "Accepted=False that names the secret"):
        raise NeverReady("policy judged", limit="10.00 s", last="Accepted=True")


@pytest.mark.edge_gate("isolation")
def test_poison_not_live(gate: Gate) -> None:
    gate.poison("a missing secret", live=False, evidence="the bad route answers 200")


@pytest.mark.edge_gate("isolation")
def test_capability_missing(gate: Gate) -> None:
    edgegate.inconclusive("this backend has no contrib Envoy")


@pytest.mark.edge_gate("isolation")
@pytest.mark.skip(reason="not today")
def test_skipped(gate: Gate) -> None:
    """Would show something."""


def test_late(edge: Handle) -> None:
    raise NeverReady("HTTPRoute a/route accepted", **LATE)


def test_late_in_a_group(edge: Handle) -> None:
    raise ExceptionGroup("undo", [NeverReady("namespace a gone", **LATE), LabFault("the supervisor is gone")])


def test_mixed_group(edge: Handle) -> None:
    raise ExceptionGroup("undo", [NeverReady("namespace a gone", **LATE), ValueError("a bug")])


def test_late_as_cause(edge: Handle) -> None:
    try:
        raise NeverReady("the token endpoint", **LATE)
    except NeverReady as late:
        raise RuntimeError("no login") from late


def test_asserted_from_late(edge: Handle) -> None:
    try:
        raise NeverReady("the route", **LATE)
    except NeverReady as late:
        raise AssertionError("the route must be accepted") from late


@pytest.fixture
def broken_after(edge: Handle) -> object:
    yield
    raise LabFault("the supervisor is gone")


def test_late_in_teardown(broken_after: object) -> None:
    """Passes; then the lab is gone."""


def test_with_edge(edge: Handle) -> None:
    assert edge.running["envoy"] == "1.37.0"


def test_planes(downstream: str, upstream: str) -> None:
    assert (downstream, upstream) == ("the downstream plane", "the upstream plane")
