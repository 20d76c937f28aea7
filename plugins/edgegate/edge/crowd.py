"""Many objects of one customer at a time: proxies that nobody measures, names in a zone, writers that quarrel."""

import secrets
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import Self, TypeVar

from edgegate.clock import Deadline, wait_until
from edgegate.clusters import kinds
from edgegate.clusters.access import refused
from edgegate.clusters.kinds import Kind, Ref
from edgegate.clusters.plane import ControlPlane, Manifest, is_true
from edgegate.edge.customer import Customer
from edgegate.edge.http_proxy import HttpProxy
from edgegate.edge.zone import Zone
from edgegate.errors import EnvironmentFault, NeverReady

T = TypeVar("T")

AT_ONCE = 4
"""Requests to a control plane at a time: more only queue up on two cores."""
A_SET = 100
"""Owner names in one record set of a filled zone."""
TTL = 60
GONE, CONFLICT = 404, 409
QUARREL_EVERY = 0.01
"""Seconds between two changes of an object in a quarrel; each takes some 5 ms more."""
THINKS = 0.01
"""Seconds between what a witness reads and what he writes. The reference operator takes about as long."""


def _all(do: Callable[[T], object], subjects: Iterable[T]) -> None:
    """Do something to each subject, several at a time; raises what the first that failed raised."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(do, subjects))


class Crowd:
    """Proxies that are there so that there are many."""

    def __init__(self, customer: Customer, proxies: Sequence[HttpProxy]) -> None:
        self._customer, self.proxies = customer, tuple(proxies)

    def __len__(self) -> int:
        return len(self.proxies)

    def create(self) -> None:
        """Create them all, and wait for none."""
        _all(HttpProxy.create, self.proxies)

    def wait_settled(self, within: float) -> None:
        """Return when each of them is programmed, and every certificate that was asked for is there.

        Raises:
            NeverReady: not within that many seconds; says what is missing.
        """
        upstream, downstream, customer = self._customer.upstream, self._customer.downstream, self._customer
        lacking = ""

        def settled() -> bool:
            nonlocal lacking
            proxies = _count(upstream.list(kinds.HTTP_PROXY, customer.namespace), "Programmed")
            asked = downstream.list(kinds.CERTIFICATE, customer.below)
            ready = _count(asked, "Ready")
            lacking = f"{proxies} proxies are programmed, {ready} of {len(asked)} certificates are there"
            return proxies >= len(self) and ready == len(asked)

        what = f"{len(self)} proxies programmed, with certificates"
        wait_until(what, settled, deadline=within, every=0.5, last=lambda: lacking)

    def remove(self, within: float) -> None:
        """Delete them all, and return when nothing of them is left.

        Raises:
            NeverReady: not within that many seconds.
        """
        upstream, downstream, deadline = self._customer.upstream, self._customer.downstream, Deadline.after(within)
        _all(HttpProxy.delete, self.proxies)
        names = {proxy.name for proxy in self.proxies}
        for plane, kind, space in (
            (upstream, kinds.HTTP_PROXY, self._customer.namespace),
            (upstream, kinds.GATEWAY, self._customer.namespace),
            (downstream, kinds.GATEWAY, self._customer.below),
            (downstream, kinds.HTTP_ROUTE, self._customer.below),
        ):
            wait_until(
                f"every {kind.name} of {len(names)} proxies gone",
                partial(_without, names, plane, kind, space),
                deadline=deadline,
                every=0.5,
            )


def _count(found: Sequence[Manifest], condition: str) -> int:
    return sum(is_true(one, condition) for one in found)


def _without(names: set[str], plane: ControlPlane, kind: Kind, space: str) -> bool:
    """Tell whether no object of a kind in a namespace has one of these names."""
    return names.isdisjoint(one["metadata"]["name"] for one in plane.list(kind, space))


class ManyNames:
    """Owner names in a zone, a hundred in each record set. They go with the zone."""

    def __init__(self, zone: Zone, count: int, address: str) -> None:
        """Prepare; nothing exists yet. Each name gets that address."""
        self.zone, self._address = zone, address
        names = [f"n{number}" for number in range(count)]
        sets = [names[first : first + A_SET] for first in range(0, count, A_SET)]
        self._sets = {self.zone.customer.ref(kinds.DNS_RECORD_SET, f"many-{n}"): some for n, some in enumerate(sets)}

    def create(self) -> None:
        """Create the record sets; waits for none of them."""
        _all(lambda ref: self.zone.customer.upstream.create(ref.manifest(self._spec(ref))), self._sets)

    def edit(self, ttl: int) -> None:
        """Let the customer give the first name of each record set another time to live."""
        _all(lambda ref: self.zone.customer.upstream.patch(ref, {"spec": self._spec(ref, ttl)}), self._sets)

    def _spec(self, ref: Ref, first_ttl: int = TTL) -> Manifest:
        entries = [{"name": name, "ttl": TTL, "a": {"content": self._address}} for name in self._sets[ref]]
        entries[0]["ttl"] = first_ttl
        return {"dnsZoneRef": {"name": self.zone.ref.name}, "recordType": "A", "records": entries}

    def served(self) -> int:
        """Return how many names are in record sets that are served as they are wanted now."""
        found = self.zone.customer.upstream.list(kinds.DNS_RECORD_SET, self.zone.customer.namespace)
        names = {ref.name for ref in self._sets}
        good = [one for one in found if one["metadata"]["name"] in names and is_true(one, "Programmed")]
        return sum(len(one["spec"]["records"]) for one in good)

    def wait_served(self, within: float) -> int:
        """Return how many are served as soon as all are, or when so many seconds are over."""
        with suppress(NeverReady):
            wait_until("all names served", lambda: self.served() == len(self), deadline=within, every=0.25)
        return self.served()

    def __len__(self) -> int:
        return sum(map(len, self._sets.values()))


class Quarrel:
    """Somebody who changes the same objects as the operator all the time, and a witness of what that does to others.

    The witness works as an operator does that insists on the version it has seen: he reads, thinks, and writes. How
    often he is refused with 409 tells whether such an operator would be. Use as a context manager.
    """

    def __init__(self, customer: Customer, *refs: Ref) -> None:
        self._customer, self._refs = customer, refs
        self._ending = threading.Event()
        self._broken: EnvironmentFault | None = None
        rounds = [*(partial(self._change, ref) for ref in refs), self._witness]
        self._threads = [threading.Thread(target=self._repeat, args=(one,), daemon=True) for one in rounds]
        self.tried = self.refused = 0
        """Writes of the witness, and those of them that were refused with 409."""

    @property
    def live(self) -> bool:
        """Whether a writer who insists was refused in more than a quarter of his tries.

        Measured in seven runs: 5 of 9 to 11 of 12. An operator writes some ten times for a new host name.
        """
        return self.refused * 4 > self.tried

    def last(self, seconds: float) -> None:
        """Return when the quarrel has gone on for so long. Raises what ended it before."""
        self._ending.wait(seconds)
        if self._broken is not None:
            raise self._broken

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._ending.set()
        for thread in self._threads:
            thread.join()

    def _repeat(self, act: Callable[[], None]) -> None:
        try:
            while not self._ending.wait(QUARREL_EVERY):
                act()
        except EnvironmentFault as broken:
            self._broken = broken
            self._ending.set()

    def _change(self, ref: Ref) -> None:
        change = {"metadata": {"annotations": {"edgegate/quarrel": secrets.token_hex(4)}}}
        refused(lambda: self._customer.upstream.patch(ref, change), GONE)

    def _witness(self) -> None:
        plane = self._customer.upstream
        for ref in self._refs:
            found = plane.get(ref)
            self._ending.wait(THINKS)
            if found is not None:
                self.tried += 1
                self.refused += refused(partial(plane.request, "PUT", plane.path(ref), body=found), CONFLICT)
