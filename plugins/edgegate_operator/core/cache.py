"""Caches of what API servers hold, fed by one list and then watches."""

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable

from edgegate_operator.core.kube import Cluster, Gone, NotFound, Watch
from edgegate_operator.kinds import Kind, Obj, key_of

LOG = logging.getLogger("edgegate_operator.cache")

Handler = Callable[[Obj | None, Obj | None], None]
"""Told (before, after) of each change; `before` is None for a new object, `after` for a deleted one."""
Index = Callable[[Obj], Iterable[str]]
"""Values under which an object can be found."""

FIRST_PAUSE, LONGEST_PAUSE, STARTING_PAUSE = 0.05, 2.0, 0.3
"""Seconds between attempts to reach an API server that does not answer; doubled each time, up to the second one, or to
the third one until the first list: an API server that has just started answers 429 for some kinds for seconds."""
ABSENT_PAUSE = 30.0
"""Seconds until we look again for a kind that the API server does not serve."""
BURIED = 512
"""Uids of deleted objects that are remembered: a write's answer may arrive after the event that it is gone."""


def _version(obj: Obj) -> int:
    return int(obj["metadata"].get("resourceVersion") or 0)


class Cache:
    """The objects of one kind on one API server, as last seen."""

    def __init__(self, cluster: Cluster, kind: Kind, selector: str = "") -> None:
        self.cluster, self.kind, self.selector = cluster, kind, selector
        self.synced, self.served = threading.Event(), True
        self.trouble = ""
        self._objects: dict[tuple[str, str], Obj] = {}
        self._spaces: dict[str, dict[str, Obj]] = {}
        self._indexes: dict[str, Index] = {}
        self._entries: dict[str, dict[str, set[tuple[str, str]]]] = {}
        self._handlers: list[Handler] = []
        # What handlers know, which is less than what is stored: nobody has told them of our own writes yet.
        self._told: dict[tuple[str, str], Obj] = {}
        self._lock = threading.Lock()
        self._buried: deque[str] = deque(maxlen=BURIED)
        self._stop = threading.Event()
        self._watch: Watch | None = None
        self._from = ""

    def subscribe(self, handler: Handler) -> None:
        """Tell that handler of every change from now on. Call before `run`."""
        self._handlers.append(handler)

    def index(self, name: str, values: Index) -> None:
        """Keep an index that `find` can use. Call before `run`."""
        self._indexes[name] = values
        self._entries[name] = {}

    def get(self, namespace: str, name: str) -> Obj | None:
        """Return an object or None. It is shared: never change it."""
        with self._lock:
            return self._objects.get((namespace, name))

    def all(self, namespace: str | None = None) -> list[Obj]:
        """Return all objects, or those of one namespace."""
        with self._lock:
            return list(self._objects.values() if namespace is None else self._spaces.get(namespace, {}).values())

    def find(self, index: str, value: str) -> list[Obj]:
        """Return the objects that an index holds under a value."""
        with self._lock:
            return [self._objects[key] for key in sorted(self._entries[index].get(value, ()))]

    def observe(self, obj: Obj) -> None:
        """Take over an object that a write has just returned, so that nobody decides on an older one."""
        with self._lock:
            if "deletionTimestamp" in obj["metadata"] and not obj["metadata"].get("finalizers"):
                self._bury(obj)
            else:
                self._store(key_of(obj), obj)

    def _bury(self, obj: Obj) -> None:
        held = self._objects.get(key_of(obj))
        if held is not None and held["metadata"].get("uid") == obj["metadata"].get("uid"):
            self._drop(key_of(obj))
        self._buried.append(obj["metadata"].get("uid", ""))

    def _store(self, key: tuple[str, str], obj: Obj) -> None:
        """Keep an object unless a newer one is there already."""
        before = self._objects.get(key)
        if (before is not None and _version(before) > _version(obj)) or obj["metadata"].get("uid") in self._buried:
            return
        obj["metadata"].pop("managedFields", None)
        self._unindex(key, before)
        self._objects[key] = obj
        self._spaces.setdefault(key[0], {})[key[1]] = obj
        for name, values in self._indexes.items():
            for value in values(obj):
                self._entries[name].setdefault(value, set()).add(key)

    def _unindex(self, key: tuple[str, str], obj: Obj | None) -> None:
        for name, values in self._indexes.items():
            for value in values(obj) if obj else ():
                self._entries[name].get(value, set()).discard(key)

    def _drop(self, key: tuple[str, str]) -> None:
        before = self._objects.pop(key, None)
        self._spaces.get(key[0], {}).pop(key[1], None)
        self._unindex(key, before)

    def changed(self, obj: Obj) -> None:
        """Handle one ADDED or MODIFIED event."""
        obj.setdefault("apiVersion", self.kind.api_version)
        obj.setdefault("kind", self.kind.kind)
        key = key_of(obj)
        with self._lock:
            self._store(key, obj)
            after = self._objects.get(key)
        before = self._told.pop(key, None)
        if after is not None:
            self._told[key] = after
        self._tell(before, after)

    def deleted(self, obj: Obj) -> None:
        """Handle one DELETED event; a younger object of the same name stays."""
        with self._lock:
            self._bury(obj)
        self._told.pop(key_of(obj), None)
        self._tell(obj, None)

    def _tell(self, before: Obj | None, after: Obj | None) -> None:
        for handler in self._handlers:
            handler(before, after)

    def _relist(self) -> str:
        items, version = self.cluster.list(self.kind, self.selector)
        self.served = True
        present = {key_of(item) for item in items}
        with self._lock:
            lost = [held for key, held in self._objects.items() if key not in present]
        for item in items:
            self.changed(item)
        for held in lost:
            if _version(held) <= int(version):
                self.deleted(held)
        self.synced.set()
        return version

    def _follow(self, version: str) -> str:
        """Watch until the API server ends it; return the version to go on from."""
        self._watch = self.cluster.watch(self.kind, version, self.selector)
        if self._stop.is_set():
            self._watch.close()
        for event, obj in self._watch:
            if event == "ERROR":
                raise Gone("watch", int(obj.get("code") or 0), str(obj.get("message")))
            version = obj["metadata"]["resourceVersion"]
            self._from = version
            if event == "DELETED":
                self.deleted(obj)
            elif event != "BOOKMARK":
                self.changed(obj)
        return version

    def run(self) -> None:
        """Keep the cache true until `stop`; the body of a thread."""
        pause = FIRST_PAUSE
        while not self._stop.is_set():
            try:
                self._from = self._from or self._relist()
                self._from = self._follow(self._from)
                pause = FIRST_PAUSE
            except Gone:
                self._from = ""
            except NotFound:
                self._from, self.served = "", False
                self.synced.set()  # a kind that is not served has no objects; whoever needs it must not wait for ever
                self._stop.wait(ABSENT_PAUSE)
            except Exception as error:  # whatever it was: a cache that ends is an operator that is frozen
                self.trouble = str(error)
                if not self._stop.is_set() and self.synced.is_set():
                    LOG.warning("%s on %s: %s", self.kind.plural, self.cluster.name, error)
                self._stop.wait(pause)
                pause = min(pause * 2, LONGEST_PAUSE if self.synced.is_set() else STARTING_PAUSE)

    def stop(self) -> None:
        """Let `run` return soon."""
        self._stop.set()
        if self._watch is not None:
            self._watch.close()
