"""Ask one name all the time, and tell afterwards which answers were wrong and how closely it was looked."""

import threading
from types import TracebackType
from typing import Self

from edgegate.probes import timeline
from edgegate.probes.dns import DnsAnswer, DnsProbe, Right
from edgegate.probes.target import INTERVAL
from edgegate.probes.watcher import Schedule, go_first
from edgegate.traffic import TargetReport


class DnsWatch:
    """Asks from the beginning to the end of a `with` block, every 18 ms unless an answer takes longer."""

    def __init__(self, probe: DnsProbe, name: str, type: str = "A", *, right: Right) -> None:  # noqa: A002
        """Prepare; nothing is asked yet."""
        self._probe, self._name, self._type, self._right = probe, name, type, right
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._ask, name=f"edgegate-dns {name}", daemon=True)
        self._samples = timeline.Samples()
        self._began = self._ended = 0.0
        self.wrong: list[DnsAnswer] = []
        """The answers that were not right, oldest first."""

    def __enter__(self) -> Self:
        """Begin to ask."""
        self._began = self._probe.clock.now()
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Ask no more."""
        self._ending.set()
        self._thread.join()
        self._ended = self._probe.clock.now()

    @property
    def seconds(self) -> float:
        """How long it asked."""
        return self._ended - self._began

    def report(self) -> TargetReport:
        """Return what was seen between the beginning and the end."""
        looks = self._samples.in_order()
        return timeline.report(self._name, INTERVAL, looks, began=self._began, ended=self._ended)

    def _ask(self) -> None:
        go_first()
        clock = self._probe.clock
        schedule = Schedule([INTERVAL], clock.now())
        while not self._ending.wait(schedule.left(clock.now())):
            if schedule.due(clock.now()):
                self._take(self._probe.query(self._name, self._type))

    def _take(self, answer: DnsAnswer) -> None:
        right = self._right(answer)
        self._samples.add(answer.at, answer.took, None if right else answer.error or answer.rcode)
        if not right:
            self.wrong.append(answer)
