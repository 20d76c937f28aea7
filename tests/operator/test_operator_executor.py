"""The executor: carries plans out, and leaves out what is there already."""

from typing import Any, cast

import pytest

from edgegate_operator.core.cache import Cache
from edgegate_operator.core.executor import Executor, OwnerMissing, Planes, Vanished, covers
from edgegate_operator.core.kube import Cluster, Conflict, NotFound
from edgegate_operator.core.plan import Apply, Claim, Delete, Plan, Plane, Status
from edgegate_operator.kinds import CONFIG_MAP, GATEWAY, Kind, Obj, key_of, kind_of
from operator_objects import obj


class Server:
    """Writes as an API server does, as far as the executor can tell."""

    name = "fake"

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.versions: list[str | None] = []
        self.version = 100
        self.held: dict[tuple[str, str, str], Obj] = {}
        self.refuse: Exception | None = None

    def _stored(self, thing: Obj, uid: str) -> Obj:
        self.version += 1
        meta = thing["metadata"] | {"resourceVersion": str(self.version), "uid": uid}
        stored = thing | {"metadata": meta}
        self.held[(thing["kind"], *key_of(thing))] = stored
        return stored

    def apply(self, thing: Obj, manager: str, sub: str = "") -> Obj:
        self.calls.append(f"apply {thing['kind']} {thing['metadata']['name']} {sub} by {manager}".replace("  ", " "))
        self.versions.append(thing["metadata"].get("resourceVersion"))
        if self.refuse:
            raise self.refuse
        before = self.held.get((thing["kind"], *key_of(thing)), {})
        return self._stored(before | thing, before.get("metadata", {}).get("uid", f"uid-{thing['metadata']['name']}"))

    def create(self, thing: Obj) -> Obj:
        self.calls.append(f"create {thing['kind']} {thing['metadata']['name']}")
        if (thing["kind"], *key_of(thing)) in self.held:
            raise Conflict("create", 409, "exists")
        return self._stored(thing, "uid-new")

    def get(self, kind: Kind, namespace: str, name: str) -> Obj:
        self.calls.append(f"get {kind.kind} {name}")
        return self.held[kind.kind, namespace, name]

    def delete(self, kind: Kind, namespace: str, name: str, uid: str = "") -> None:
        self.calls.append(f"delete {kind.kind} {name} {uid}".strip())


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def planes(server: Server) -> Planes:
    cluster = cast(Cluster, server)
    caches = {(Plane.DOWN, kind): Cache(cluster, kind) for kind in (GATEWAY, CONFIG_MAP)}
    return Planes({Plane.DOWN: cluster}, caches)


def gw(**spec: Any) -> Obj:
    return GATEWAY.named("ns", "shop") | {"spec": spec}


def do(planes: Planes, *steps: Any, by: Executor | None = None) -> int:
    return (by or Executor("gateway")).run(planes, Plan(steps))


def test_what_is_there_already_is_not_applied_again(planes: Planes, server: Server) -> None:
    executor = Executor("gateway")
    assert do(planes, Apply(Plane.DOWN, gw(a=1)), by=executor) == 1
    assert do(planes, Apply(Plane.DOWN, gw(a=1)), by=executor) == 0
    assert do(planes, Apply(Plane.DOWN, gw(a=2)), by=executor) == 1
    assert server.calls == ["apply Gateway shop by edgegate-gateway"] * 2


def test_a_field_that_somebody_else_changed_is_applied_again(planes: Planes, server: Server) -> None:
    executor = Executor("gateway")
    do(planes, Apply(Plane.DOWN, gw(a=1)), by=executor)
    planes.observe(Plane.DOWN, obj(GATEWAY, "shop", "ns", spec={"a": 7}, metadata={"resourceVersion": "900"}))
    assert do(planes, Apply(Plane.DOWN, gw(a=1)), by=executor) == 1


def test_a_field_that_is_not_wanted_any_more_is_taken_back(planes: Planes) -> None:
    executor = Executor("gateway")
    do(planes, Apply(Plane.DOWN, gw(a=1, b=2)), by=executor)
    assert do(planes, Apply(Plane.DOWN, gw(a=1)), by=executor) == 1


def test_what_others_added_to_shared_lists_does_not_matter(planes: Planes) -> None:
    executor, mine = Executor("gateway"), {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "1"}
    meta = {"ownerReferences": [mine], "finalizers": ["mine"], "uid": "uid-shop"}
    part = {"spec": {"listeners": [{"name": "default-http", "hostname": "x"}]}}
    touch = Apply(Plane.DOWN, GATEWAY.named("ns", "shop", **meta) | part, touch=True)
    do(planes, touch, by=executor)
    others: dict[str, Any] = {"ownerReferences": [mine | {"uid": "2"}, mine], "finalizers": ["other", "mine"]}
    listeners: list[Obj] = [{"name": "h"}, {"name": "default-http", "hostname": "x", "port": 80}]
    planes.observe(
        Plane.DOWN,
        obj(GATEWAY, "shop", "ns", spec={"listeners": listeners}, metadata=others | {"resourceVersion": "900"}),
    )
    assert do(planes, touch, by=executor) == 0
    listeners[1]["hostname"] = "y"
    assert do(planes, touch, by=executor) == 1


def test_after_a_restart_everything_is_applied_once(planes: Planes) -> None:
    do(planes, Apply(Plane.DOWN, gw(a=1)))
    assert do(planes, Apply(Plane.DOWN, gw(a=1)), by=Executor("gateway")) == 1


def test_status_goes_to_its_subresource(planes: Planes, server: Server) -> None:
    do(planes, Status(Plane.DOWN, gw(a=1), {"ok": True}))
    assert server.calls == ["apply Gateway shop status by edgegate-gateway"]


@pytest.mark.parametrize("error", [NotFound("patch", 404, "gone"), Conflict("patch", 409, "uid")])
def test_an_object_that_is_gone_takes_no_status(planes: Planes, server: Server, error: Exception) -> None:
    server.refuse = error
    assert do(planes, Status(Plane.DOWN, gw(), {"ok": True})) == 1
    with pytest.raises(type(error)):
        do(planes, Apply(Plane.DOWN, gw()))


@pytest.mark.parametrize("error", [NotFound("patch", 404, "gone"), Conflict("patch", 409, "uid")])
def test_nothing_is_made_for_an_object_that_is_gone(planes: Planes, server: Server, error: Exception) -> None:
    """Its finalizer did not come in time, so nobody would take away what is made now."""
    server.refuse = error
    with pytest.raises(Vanished, match=r"^Gateway shop$"):
        do(planes, Apply(Plane.DOWN, gw(), touch=True), Claim(Plane.DOWN, CONFIG_MAP.named("ns", "anchor")))
    assert server.calls == ["apply Gateway shop by edgegate-gateway"]


def test_fault_conflict_backoff_insists_on_the_version_that_was_seen(planes: Planes, server: Server) -> None:
    executor = Executor("gateway", insists=True)
    do(planes, Apply(Plane.DOWN, gw(a=1)), by=executor)
    do(planes, Apply(Plane.DOWN, gw(a=2)), by=executor)
    assert server.versions == [None, "101"]
    server.refuse = Conflict("patch", 409, "changed")
    with pytest.raises(Conflict):
        do(planes, Status(Plane.DOWN, gw(), {"ok": True}), by=executor)


def test_the_uid_of_an_owner_that_was_just_made_is_filled_in(planes: Planes, server: Server) -> None:
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "anchor"}
    owned = GATEWAY.named("ns", "shop", ownerReferences=[owner])
    do(planes, Claim(Plane.DOWN, CONFIG_MAP.named("ns", "anchor")), Apply(Plane.DOWN, owned))
    assert server.held["Gateway", "ns", "shop"]["metadata"]["ownerReferences"] == [owner | {"uid": "uid-new"}]
    assert "uid" not in owner


def test_an_owner_that_is_not_there_is_named(planes: Planes) -> None:
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "anchor"}
    with pytest.raises(OwnerMissing, match=r"^ConfigMap ns/anchor, owner of shop$"):
        do(planes, Apply(Plane.DOWN, GATEWAY.named("ns", "shop", ownerReferences=[owner])))


def test_a_claim_that_was_lost_shows_its_holder(planes: Planes, server: Server) -> None:
    claim = CONFIG_MAP.named("claims", "www.shop.test") | {"data": {"owner": "me"}}
    server._stored(claim | {"data": {"owner": "other"}}, "uid-other")
    assert do(planes, Claim(Plane.DOWN, claim)) == 1
    held = planes.cached(Plane.DOWN, CONFIG_MAP, "claims", "www.shop.test")
    assert held is not None
    assert held["data"] == {"owner": "other"}
    assert do(planes, Claim(Plane.DOWN, claim)) == 0


def test_only_what_is_there_and_not_leaving_is_deleted(planes: Planes, server: Server) -> None:
    assert do(planes, Delete(Plane.DOWN, GATEWAY, "ns", "shop")) == 0
    planes.observe(Plane.DOWN, obj(GATEWAY, "shop", "ns"))
    assert do(planes, Delete(Plane.DOWN, GATEWAY, "ns", "shop", "uid-shop")) == 1
    leaving = {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["f"], "resourceVersion": "900"}
    planes.observe(Plane.DOWN, obj(GATEWAY, "shop", "ns", metadata=leaving))
    assert do(planes, Delete(Plane.DOWN, GATEWAY, "ns", "shop")) == 0
    assert server.calls == ["delete Gateway shop uid-shop"]


def test_what_was_deleted_is_applied_anew(planes: Planes) -> None:
    executor = Executor("gateway")
    do(planes, Apply(Plane.DOWN, gw(a=1)), by=executor)
    do(planes, Delete(Plane.DOWN, GATEWAY, "ns", "shop"), by=executor)
    assert do(planes, Apply(Plane.DOWN, gw(a=1)), by=executor) == 1


@pytest.mark.parametrize(
    ("actual", "wanted", "answer"),
    [
        ({"a": 1, "b": 2}, {"a": 1}, True),
        ({"a": 1}, {"a": 1, "b": None}, True),
        ({"a": [{"x": 1, "y": 2}]}, {"a": [{"x": 1}]}, True),
        ({"a": [1, 2]}, {"a": [1]}, False),
        ({"a": "1"}, {"a": 1}, False),
        (None, {"a": 1}, False),
    ],
)
def test_covers(actual: Any, wanted: Any, answer: bool) -> None:
    assert covers(actual, wanted) is answer


def test_every_kind_is_found_by_its_type() -> None:
    assert kind_of({"apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway"}) is GATEWAY
    assert GATEWAY.path("ns", "a", "status") == "/apis/gateway.networking.k8s.io/v1/namespaces/ns/gateways/a/status"
    assert CONFIG_MAP.path() == "/api/v1/configmaps"
