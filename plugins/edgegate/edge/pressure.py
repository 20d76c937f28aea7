"""What a crowd of large uploads does to a firewall: the answer that each got, and the memory that it took."""

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from edgegate.components import ladder, waf
from edgegate.components.launch import Launch
from edgegate.edge.http_proxy import HttpProxy
from edgegate.edge.proxies import Proxy
from edgegate.errors import EnvironmentFault
from edgegate.probes.ladder import Body, Place, Reply, Rung, Sight, climb
from edgegate.probes.rungs import FORM

MIB = 2**20
EVERY = 0.1
"""Seconds between two looks at the memory; one costs 5 ms."""
OVERLOADED = 503
"""What a request is answered that finds no room; source: docs/waf.md, limits."""


@dataclass(frozen=True)
class Memory:
    """Memory of the two that bodies pass, in MiB."""

    held: float
    """Bodies that the firewall holds and counts; it promises a limit for them."""
    firewall: float
    """Resident memory of the firewall."""
    proxy: float
    """What the proxy's Envoy has allocated."""

    def describe(self) -> str:
        """Return it in a few words."""
        return f"firewall {self.firewall:.0f} MiB (bodies {self.held:.0f}), proxy {self.proxy:.0f} MiB"


class MemoryWatch:
    """Looks at the memory of firewall and proxy while a block runs, ten times a second."""

    def __init__(self, launch: Launch, proxy: Proxy, held: Callable[[], float]) -> None:
        """Look at nothing yet. `held` returns how many bytes of bodies the firewall says that it holds."""
        self._lab, self._proxy, self._held = launch.lab, proxy, held
        self._ending, self._undo = threading.Event(), ExitStack()
        self._broken: EnvironmentFault | None = None
        self._seen: list[Memory] = []
        self._thread = threading.Thread(target=self._look, name="edgegate-memory", daemon=True)

    def __enter__(self) -> Self:
        self._admin = self._undo.enter_context(self._proxy.admin())
        self._seen.append(self.now())
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._ending.set()
        self._thread.join()
        self._undo.close()
        if self._broken is not None and error is None:
            raise self._broken

    @property
    def first(self) -> Memory:
        """What it was when the block began."""
        return self._seen[0]

    @property
    def peak(self) -> Memory:
        """The most of each that was seen."""
        seen = self._seen
        return Memory(*(max(getattr(one, name) for one in seen) for name in ("held", "firewall", "proxy")))

    def now(self) -> Memory:
        """Return what it is, within the block. Raises AdminUnreachable, LabGone, MetricsUnreachable."""
        resident = next(one.rss_bytes for one in self._lab.status() if one.name == waf.NAME)
        return Memory(self._held() / MIB, resident / MIB, self._admin.allocated() / MIB)

    def _look(self) -> None:
        try:
            while not self._ending.wait(EVERY):
                self._seen.append(self.now())
        except EnvironmentFault as broken:
            self._broken = broken


class Uploads:
    """Files that are sent to one proxy, all at the same time; its origin has to be that of the ladder."""

    def __init__(self, launch: Launch, proxy: HttpProxy, host: str) -> None:
        self._program = ladder.program(launch)
        self._proxy, self._host = proxy, host

    def send(self, count: int, size: int, *, within: int) -> "Sent":
        """Send so many files of so many bytes, each on a connection of its own; return what became of them.

        Args:
            count: how many.
            size: bytes of each.
            within: seconds for one of them.
        """
        reply = Reply(Body(20, "text/plain"))
        rungs = [
            Rung(f"file {number}", "/answer/u", method="POST", body=Body(size, FORM), answer=reply, limit=within * 1000)
            for number in range(count)
        ]
        place = Place(f"{self._proxy.address}:80", self._host)
        return Sent(size, climb(self._program, place, rungs, at_once=count, within=2.0 * within))


@dataclass(frozen=True)
class Sent:
    """What became of some uploads."""

    size: int
    """Bytes of each file."""
    sights: Sequence[Sight]
    """What each of their senders saw."""

    @property
    def whole(self) -> list[Sight]:
        """Those that the origin has received, every byte."""
        return [one for one in self.sights if one.status == 200 and _received(one) > self.size]

    @property
    def refused(self) -> list[Sight]:
        """Those that the firewall had no room for, and said so."""
        return [one for one in self.sights if one.status == OVERLOADED and not one.received]

    @property
    def others(self) -> list[Sight]:
        """Those of which neither is true."""
        fine = {one.name for one in [*self.whole, *self.refused]}
        return [one for one in self.sights if one.name not in fine]

    def describe(self) -> str:
        """Return how many of each there are, and what the others were."""
        wrong = Counter(one.describe() for one in self.others).most_common(3)
        told = "".join(f"; {count} × {what}" for what, count in wrong)
        return f"{len(self.whole)} arrived, {len(self.refused)} were refused with {OVERLOADED}{told}"


def _received(sight: Sight) -> int:
    """Return how many bytes the origin says that it received."""
    words = dict(word.split("=", 1) for word in sight.received.split() if "=" in word)
    return int(words.get("length", 0))
