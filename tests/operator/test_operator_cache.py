"""The cache: fed by list and watch, never older than what a write returned, and it does not give up."""

import threading
from collections.abc import Iterator
from typing import Any, cast

from edgegate_operator.core.cache import Cache
from edgegate_operator.core.kube import ApiError, Cluster, Gone, NotFound
from edgegate_operator.kinds import GATEWAY, Kind, Obj
from operator_objects import obj

Event = tuple[str, Obj]


class Script:
    """An API server that answers lists and watches from a script, then stops the cache."""

    name = "fake"

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []
        self.cache: Cache | None = None

    def _next(self, what: str) -> Any:
        self.asked.append(what)
        if not self.answers:
            assert self.cache
            self.cache.stop()
            raise ApiError(what, 0, "the script is over")
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def list(self, kind: Kind, selector: str = "") -> tuple[list[Obj], str]:
        return cast(tuple[list[Obj], str], self._next(f"list {kind.plural} {selector}".strip()))

    def watch(self, kind: Kind, version: str, selector: str = "") -> "Stream":
        return Stream(self._next(f"watch {version}"))


class Stream:
    """A watch that ends with its events."""

    def __init__(self, events: list[Event]) -> None:
        self._events = events

    def __iter__(self) -> Iterator[Event]:
        return iter(self._events)

    def close(self) -> None:
        """Nothing is open."""


def run(*answers: Any) -> tuple[Cache, Script, list[tuple[str | None, str | None]]]:
    script = Script(*answers)
    cache = Cache(cast(Cluster, script), GATEWAY, "who=me")
    cache._stop.wait = lambda timeout=None: False  # type: ignore[method-assign]  # a pause must not slow the test
    script.cache = cache
    told: list[tuple[str | None, str | None]] = []
    cache.subscribe(lambda before, after: told.append((_version(before), _version(after))))
    cache.run()
    return cache, script, told


def _version(thing: Obj | None) -> str | None:
    return thing["metadata"]["resourceVersion"] if thing else None


def gw(version: int, name: str = "a", uid: str = "u1", **meta: Any) -> Obj:
    return obj(GATEWAY, name, metadata={"resourceVersion": str(version), "uid": uid} | meta)


def test_list_then_watch_from_there() -> None:
    cache, script, told = run(([gw(5)], "7"), [("MODIFIED", gw(8)), ("BOOKMARK", gw(9))])
    assert script.asked[:3] == ["list gateways who=me", "watch 7", "watch 9"]
    assert told == [(None, "5"), ("5", "8")]
    assert cache.synced.is_set()


def test_a_version_that_is_too_old_means_a_new_list() -> None:
    _, script, told = run(([gw(5)], "7"), Gone("watch", 410, "too old"), ([], "9"), [])
    assert script.asked[:4] == ["list gateways who=me", "watch 7", "list gateways who=me", "watch 9"]
    assert told == [(None, "5"), ("5", None)]


def test_an_error_event_in_the_stream_means_a_new_list_too() -> None:
    _, script, _ = run(([], "7"), [("ERROR", {"code": 410, "message": "too old"})], ([], "9"), [])
    assert script.asked[2] == "list gateways who=me"


def test_a_broken_connection_goes_on_from_the_last_version() -> None:
    _, script, _ = run(([], "7"), [("ADDED", gw(8))], ApiError("watch", 0, "reset"), [])
    assert script.asked[2:4] == ["watch 8", "watch 8"]


def test_a_kind_that_is_not_served_is_empty_and_not_waited_for() -> None:
    cache, _, _ = run(NotFound("list", 404, "no such kind"))
    assert cache.synced.is_set()
    assert not cache.served


def test_an_older_event_does_not_replace_what_a_write_returned() -> None:
    cache, _, _ = run(([], "1"), [])
    cache.observe(gw(10))
    cache.changed(gw(9))
    assert _version(cache.get("tenant-a", "a")) == "10"


def test_the_event_of_our_own_write_is_news_to_those_who_were_not_told() -> None:
    """Whoever only wants to hear of some change compares before and after: a write's answer must not come between."""
    cache, _, told = run(([], "1"), [])
    cache.observe(gw(10))
    cache.changed(gw(10))
    cache.observe(gw(12))
    cache.changed(gw(11))
    cache.changed(gw(12))
    assert told == [(None, "10"), ("10", "12"), ("12", "12")]


def test_an_object_that_was_made_anew_is_a_new_one() -> None:
    cache, _, told = run(([], "1"), [])
    cache.changed(gw(10))
    cache.observe(gw(20, uid="u2"))
    cache.deleted(gw(11))
    cache.changed(gw(20, uid="u2"))
    assert told == [(None, "10"), ("11", None), (None, "20")]


def test_the_answer_of_a_write_does_not_bring_a_deleted_object_back() -> None:
    cache, _, _ = run(([], "1"), [])
    cache.changed(gw(10))
    cache.deleted(gw(11))
    cache.observe(gw(10))
    assert cache.get("tenant-a", "a") is None


def test_the_last_write_of_a_leaving_object_takes_it_out() -> None:
    cache, _, _ = run(([], "1"), [])
    cache.changed(gw(10, finalizers=["f"]))
    cache.observe(gw(11, deletionTimestamp="2026-01-01T00:00:00Z"))
    assert cache.get("tenant-a", "a") is None


def test_deleting_an_older_object_leaves_its_successor() -> None:
    cache, _, _ = run(([], "1"), [])
    cache.observe(gw(20, uid="u2"))
    cache.deleted(gw(11, uid="u1"))
    assert cache.get("tenant-a", "a") is not None


def test_indexes_follow_changes() -> None:
    cache = Cache(cast(Cluster, Script()), GATEWAY)
    cache.index("label", lambda thing: (thing["metadata"].get("labels") or {}).values())
    cache.changed(gw(1, labels={"k": "x"}))
    cache.changed(gw(2, labels={"k": "y"}))
    assert cache.find("label", "x") == []
    assert [item["metadata"]["name"] for item in cache.find("label", "y")] == ["a"]
    cache.deleted(gw(3))
    assert cache.find("label", "y") == []


def test_namespaces_are_told_apart_and_field_managers_are_not_kept() -> None:
    cache = Cache(cast(Cluster, Script()), GATEWAY)
    cache.changed(gw(1, managedFields=[{"manager": "x"}]))
    cache.changed(obj(GATEWAY, "a", "other"))
    assert len(cache.all()) == 2
    assert "managedFields" not in cache.all("tenant-a")[0]["metadata"]


def test_stopping_ends_the_thread() -> None:
    cache = Cache(cast(Cluster, Script()), GATEWAY)
    cache.stop()
    thread = threading.Thread(target=cache.run)
    thread.start()
    thread.join(timeout=5)
    assert not thread.is_alive()
