"""A real edge of the backend kind: what is done to Envoy Gateway there, and what is seen of it.

It runs where an engine and the images of the nodes are, as in continuous integration.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from edgegate.clock import wait_until
from edgegate.components import pods
from edgegate.components.envoy_gateway import NAMESPACE_NAME
from edgegate.edge import Edge
from edgegate.edge.asking import wait_for_answer
from edgegate.edge.backends.kind import KindBackend
from edgegate.edge.tenant import CANARY
from edgegate.errors import CrashedUnderTest
from edgegate.kind.engine import Engine
from edgegate.settings import Settings
from kind_parts import engine_or_skip

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def engine() -> Engine:
    """Whatever `docker` talks to."""
    found = engine_or_skip()
    if not list((Settings().cache / "images").glob("node-*.tar")):
        pytest.skip("the nodes have no image yet: `edgegate images build`")
    return found


@pytest.fixture(scope="module")
def edge(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Edge]:
    with Edge.open(Settings(backend="kind"), f"kind-{tmp_path_factory.getbasetemp().name}") as found:
        yield found


def _pods(edge: Edge) -> dict[str, int]:
    """Return how often each pod of Envoy Gateway was started again, by its name."""
    found = pods.of(edge.downstream, NAMESPACE_NAME, pods.GATEWAY)
    return {pod["metadata"]["name"]: pod["status"]["containerStatuses"][0]["restartCount"] for pod in found}


def _edited(edge: Edge, value: str) -> None:
    edge.sentinel.edit_route(value)
    with edge.sentinel.probe(tls=True) as probe:
        wait_for_answer(probe, lambda one: one.header(CANARY) == value, what="edit on the wire", within=30)


def test_one_that_is_killed_stays_down_until_it_is_started(edge: Edge) -> None:
    before = _pods(edge)
    edge.kill(pods.GATEWAY)
    wait_until("gone", lambda: not _pods(edge), deadline=30)
    assert edge.trouble(thorough=True) is None
    edge.restart(pods.GATEWAY)
    assert len(_pods(edge)) == 1
    assert not _pods(edge).keys() & before.keys()
    _edited(edge, "after-kill")


def test_one_that_is_frozen_does_nothing_until_it_goes_on(edge: Edge) -> None:
    edge.pause(pods.GATEWAY)
    edge.sentinel.edit_route("while-frozen")
    with edge.sentinel.probe(tls=False) as probe:
        assert {probe.get().header(CANARY) == "while-frozen" for _ in range(10)} == {False}
    edge.resume(pods.GATEWAY)
    _edited(edge, "after-resume")


def test_one_that_crashes_is_told_although_its_kubelet_starts_it_again(edge: Edge, engine: Engine) -> None:
    assert edge.trouble(thorough=False) is None
    assert isinstance(edge.backend, KindBackend)
    clusters = edge.backend.edge.clusters
    for node in engine.containers(clusters.full_name("downstream")):
        engine.run("exec", node, "pkill", "-SEGV", "-of", "envoy-gateway server", check=False)
    wait_until("started again", lambda: set(_pods(edge).values()) == {1}, deadline=60)
    found = edge.trouble(thorough=False)
    assert isinstance(found, CrashedUnderTest)
    assert (found.name, found.what) == (pods.GATEWAY, "ended with status 2 (Error)")
    assert Path(found.log).read_text()
