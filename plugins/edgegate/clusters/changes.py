"""Every change of many objects of one kind, as one stream that another thread can end."""

import threading
from collections.abc import Iterator
from contextlib import suppress

import urllib3

from edgegate.clock import Deadline
from edgegate.clusters.kinds import Kind
from edgegate.clusters.plane import ControlPlane, Manifest
from edgegate.errors import PlaneUnreachable


class ObjectChanges:
    """The objects of a kind as they are now, and then each change, until `stop` or the time is up.

    One list and one watch serve any number of objects; nothing is asked twice. An object that is deleted is yielded
    once more, as it was, with `deletionTimestamp` or without.
    """

    def __init__(
        self, plane: ControlPlane, kind: Kind, namespace: str = "", *, labels: str = "", within: float = 600.0
    ) -> None:
        """Prepare; nothing is asked yet.

        Args:
            plane: whom to ask.
            kind: which objects.
            namespace: of which namespace; all of them unless given.
            labels: narrows them by a label selector.
            within: seconds after which the stream ends by itself, from its beginning on.
        """
        self._plane, self._kind, self._namespace, self._within = plane, kind, namespace, within
        self._query = {"labelSelector": labels} if labels else {}
        self._lock = threading.Lock()
        self._stream: urllib3.BaseHTTPResponse | None = None
        self._stopped = False

    def __iter__(self) -> Iterator[Manifest]:
        """List once, then watch; list again only where the server has forgotten where the watch was.

        Raises:
            PlaneRefused: the server does not let us look.
            PlaneUnreachable: there was no answer.
        """
        collection = self._plane.collection(self._kind, self._namespace)
        deadline = Deadline.after(self._within)
        while deadline.left() > 0 and not self._stopped:
            listed = self._plane.request("GET", collection, query=self._query)
            yield from listed["items"]
            query = {**self._query, "resourceVersion": listed["metadata"]["resourceVersion"]}
            try:
                for _, found in self._plane.events(collection, query, deadline, self._opened):
                    yield found
            except PlaneUnreachable:
                if not self._stopped:
                    raise

    def stop(self) -> None:
        """Let the stream end at once, whoever reads it."""
        with self._lock:
            self._stopped = True
            self._end()

    def _opened(self, stream: urllib3.BaseHTTPResponse) -> None:
        with self._lock:
            self._stream = stream
            if self._stopped:
                self._end()

    def _end(self) -> None:
        # A watch that has ended by itself has no connection any more, or has given it back.
        with suppress(ValueError, RuntimeError, OSError):
            if isinstance(self._stream, urllib3.HTTPResponse):
                self._stream.shutdown()
