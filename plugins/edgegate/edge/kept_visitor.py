"""A visitor who keeps his connection: whatever changes, he may be served by what his connection began with."""

import threading
from typing import Self

from edgegate.edge.http_proxy import HttpProxy
from edgegate.probes.http import HttpProbe
from edgegate.records import Answer, Source
from edgegate.report.gate import Gate

EVERY = 0.005
"""Seconds between an answer and the next request."""


class KeptVisitor:
    """Asks for a host name over one connection, and a new one when that is closed, while a block runs.

    An answer other than 200 is a finding. None at all is not: between a request and the closing of its connection there
    is a race, and browsers ask again.
    """

    def __init__(self, gate: Gate, name: str, probe: HttpProbe) -> None:
        """Ask for nothing yet. `name` is what the gate calls it; `probe` keeps its connections."""
        self._gate, self._name, self._probe = gate, f"{name} (kept connection)", probe
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._ask, name="edgegate-visitor", daemon=True)
        self._asked = 0
        self._wrong: list[Answer] = []

    @classmethod
    def of(cls, gate: Gate, proxy: HttpProxy, host: str) -> Self:
        """Return a visitor of one of a proxy's host names."""
        return cls(gate, f"{proxy.name} http://{host}", HttpProbe(proxy.address, host, keep_alive=True))

    def __enter__(self) -> Self:
        """Begin to ask."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Ask no more, and add what was wrong to the gate."""
        self._ending.set()
        self._thread.join()
        seen = "; ".join(answer.describe() for answer in self._wrong[:3])
        expected = f"200 in each of {self._asked} answers"
        found = f"{len(self._wrong)} others, as {seen}"
        self._gate.check(Source.TRAFFIC, self._name, expected, found, right=bool(self._asked) and not self._wrong)

    def _ask(self) -> None:
        with self._probe as probe:
            while not self._ending.wait(EVERY):
                answer = probe.get("/")
                self._asked += answer.status is not None
                if answer.status not in (200, None):
                    self._wrong.append(answer)
