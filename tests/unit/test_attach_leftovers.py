"""What a run made goes with it; what a dead one left goes at the next start, and a living one's stays."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from edgegate.clusters.kinds import GATEWAY, NAMESPACE, Ref
from edgegate.edge.backends.attach import leftovers
from edgegate.edge.backends.attach.fence import Fence, FencedPlane
from edgegate.edge.backends.attach.leftovers import Claim, mark, remove, sweep_dead
from edgegate.errors import NeverReady
from kube_api import KubeApi, serve


@pytest.fixture
def api(tmp_path: Path) -> Iterator[tuple[KubeApi, FencedPlane]]:
    with serve(tmp_path) as (made, plane):
        made.controllers.append(_born)
        fence = Fence()
        fenced = FencedPlane("downstream", plane.kubeconfig, fence, mark(tmp_path, "mine"), tmp_path)
        yield made, fenced
        fenced.client.close()


def _born(manifest: dict[str, object], age: timedelta = timedelta()) -> None:
    metadata = manifest["metadata"]
    assert isinstance(metadata, dict)
    metadata.setdefault("creationTimestamp", (datetime.now(UTC) - age).isoformat())


def _left(api: KubeApi, cache: Path, run: str, name: str, age: timedelta = timedelta()) -> Ref:
    """Let a run have made a namespace with something in it."""
    ref = Ref(NAMESPACE, name)
    manifest = ref.manifest()
    manifest["metadata"] |= mark(cache, run)
    _born(manifest, age)
    api.write(manifest)
    api.write(Ref(GATEWAY, "edge", name).manifest({}))
    return ref


def _sweep(plane: FencedPlane, cache: Path) -> list[str]:
    return sweep_dead([plane], plane.fence, cache, 5)


def test_what_a_dead_run_left_is_removed_and_named(api: tuple[KubeApi, FencedPlane], tmp_path: Path) -> None:
    served, plane = api
    _left(served, tmp_path, "dead", "shop-1")
    assert _sweep(plane, tmp_path) == ["shop-1 of run dead"]
    assert served.objects == {}
    assert _sweep(plane, tmp_path) == []


def test_what_a_living_run_has_stays(api: tuple[KubeApi, FencedPlane], tmp_path: Path) -> None:
    served, plane = api
    claim = Claim.take(tmp_path, "alive")
    ref = _left(served, tmp_path, "alive", "shop-1")
    assert _sweep(plane, tmp_path) == []
    assert ref in served.objects
    claim.lock.close()  # as a kill does
    (leftovers.folder_of(tmp_path) / "alive.1.d").mkdir()
    assert _sweep(plane, tmp_path) == ["shop-1 of run alive"]
    assert [path.name for path in leftovers.folder_of(tmp_path).iterdir()] == ["name"]


def test_a_run_with_another_cache_is_dead_after_a_day(api: tuple[KubeApi, FencedPlane], tmp_path: Path) -> None:
    """Whether it lives cannot be told from here."""
    served, plane = api
    young = _left(served, tmp_path / "other", "r1", "young")
    _left(served, tmp_path / "other", "r2", "old", age=leftovers.FORGOTTEN + timedelta(minutes=1))
    assert _sweep(plane, tmp_path) == ["old of run r2"]
    assert [ref for ref in served.objects if ref.kind == NAMESPACE] == [young]


def test_namespaces_of_nobody_we_know_are_never_touched(api: tuple[KubeApi, FencedPlane], tmp_path: Path) -> None:
    served, plane = api
    served.write(Ref(NAMESPACE, "default").manifest())
    assert _sweep(plane, tmp_path) == []
    remove([plane], plane.fence, 5)
    assert set(served.objects) == {Ref(NAMESPACE, "default")}


def test_the_end_waits_until_all_is_gone(api: tuple[KubeApi, FencedPlane]) -> None:
    served, plane = api
    plane.namespace("shop")
    served.objects[Ref(NAMESPACE, "shop")]["metadata"]["finalizers"] = ["theirs"]
    with pytest.raises(NeverReady, match="Namespace shop deleted"):
        remove([plane], plane.fence, 0.2)
    served.objects[Ref(NAMESPACE, "shop")]["metadata"].pop("finalizers")
    remove([plane], plane.fence, 5)
    assert served.objects == {}


def test_the_last_process_of_a_run_takes_the_claim_along(tmp_path: Path) -> None:
    one, other = Claim.take(tmp_path, "run"), Claim.take(tmp_path, "run")
    one.drop()
    assert other.path.exists()
    other.drop()
    assert not other.path.exists()


def test_a_cache_has_one_name(tmp_path: Path) -> None:
    assert mark(tmp_path, "a")["annotations"] == mark(tmp_path, "b")["annotations"]
    assert mark(tmp_path, "a")["annotations"] != mark(tmp_path / "other", "a")["annotations"]
