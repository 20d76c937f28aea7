"""Ask one name all the time, and tell afterwards which answers were wrong."""

import threading
from types import TracebackType
from typing import Self

from edgegate.clock import RESOLUTION
from edgegate.probes.dns import DnsAnswer, DnsProbe, Right


class DnsWatch:
    """Asks from the beginning to the end of a `with` block, every 20 ms."""

    def __init__(self, probe: DnsProbe, name: str, type: str = "A", *, right: Right) -> None:  # noqa: A002
        """Prepare; nothing is asked yet."""
        self._probe, self._name, self._type, self._right = probe, name, type, right
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._ask, name=f"edgegate-dns {name}", daemon=True)
        self.asked = 0
        """How many answers there were."""
        self.wrong: list[DnsAnswer] = []
        """Those that were not right, oldest first."""

    def __enter__(self) -> Self:
        """Begin to ask."""
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Ask no more."""
        self._ending.set()
        self._thread.join()

    def _ask(self) -> None:
        while not self._ending.is_set():
            answer = self._probe.query(self._name, self._type)
            self.asked += 1
            if not self._right(answer):
                self.wrong.append(answer)
            self._ending.wait(RESOLUTION)
