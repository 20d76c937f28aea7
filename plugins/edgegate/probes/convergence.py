"""Stage clocks: when each of many subjects came to each stage, and who saw it first.

Watches and probes tell several clocks at a time. A watch is a stream of changes that somebody else opens; nothing here
knows what an API is. All probes share one thread, because each thread that probes costs a part of Python's lock and a
part of a processor (measured: twenty of them took a whole one).
"""

import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Protocol, Self, TypeVar

from edgegate.clock import MONOTONIC, RESOLUTION, Clock, Deadline, wait_until
from edgegate.errors import EnvironmentFault, NeverReady
from edgegate.probes.machine import Machine, Reading, between
from edgegate.stages import Course, Stage, Stamp, course

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

SHARE = 0.1
"""Share of one processor that the probes may take. With many subjects the rounds become rarer; each stamp says by how
much its stage may be older."""


class Changes(Protocol[T_co]):
    """A stream of changes that can be ended from another thread; `clusters.changes.ObjectChanges` is one."""

    def __iter__(self) -> Iterator[T_co]:
        """Open the stream and yield what changes."""
        ...

    def stop(self) -> None:
        """Let the stream end soon, whoever reads it."""
        ...


class StageClock:
    """The stage clock of one subject. Any thread may stamp; the first stamp of a stage counts."""

    def __init__(
        self,
        subject: str,
        expected: Iterable[Stage] = Stage,
        *,
        clock: Clock = MONOTONIC,
        machine: Machine | None = None,
    ) -> None:
        """Begin with no stage.

        Args:
            subject: name of what goes through the stages.
            expected: the stages that it is meant to come to.
            clock: what stamps are read from.
            machine: tells how busy the machine is; clocks of one scenario may share it. Without it nothing is measured.
        """
        self.subject, self.expected = subject, tuple(expected)
        self._clock, self._machine = clock, machine
        self._stamps: dict[Stage, Stamp] = {}
        self._readings: dict[Stage, Reading] = {}
        self._lock = threading.Lock()

    def stamp(self, stage: Stage, by: str, *, at: float | None = None, blind: float = 0.0) -> bool:
        """Keep that a stage has come; return whether this was the first word of it.

        Args:
            stage: the stage.
            by: who saw it: name of a watch or a probe.
            at: monotonic second, now unless given.
            blind: seconds since the same one had looked in vain.
        """
        moment = self._clock.now() if at is None else at
        with self._lock:
            if stage in self._stamps:
                return False
            if self._machine is not None:
                self._readings[stage] = self._machine.reading()
            self._stamps[stage] = Stamp(stage, moment, by, blind)
            return True

    def seen(self, stage: Stage) -> bool:
        """Say whether a stage has come."""
        return stage in self._stamps

    @property
    def missing(self) -> list[Stage]:
        """The expected stages that have not come."""
        return [stage for stage in self.expected if stage not in self._stamps]

    def course(self) -> Course:
        """Return what is known now."""
        with self._lock:
            stamps, readings = list(self._stamps.values()), dict(self._readings)
        pairs = [(one, other) for one in readings for other in readings if readings[one].at <= readings[other].at]
        loads = {(one, other): between(readings[one], readings[other]) for one, other in pairs if one is not other}
        return course(self.subject, stamps, self.expected, loads)


@dataclass
class _Probe:
    """One thing to look for, until it is there."""

    clock: StageClock
    stage: Stage
    by: str
    look: Callable[[], object]
    after: Collection[Stage]
    in_a_row: int
    hits: int = 0
    last: float | None = None
    """Monotonic second of the last look in vain."""

    @property
    def open(self) -> bool:
        """Whether it is time to look."""
        return not self.clock.seen(self.stage) and all(map(self.clock.seen, self.after))


class Observers:
    """Everybody who looks on behalf of some clocks; they look from the beginning to the end of a `with` block.

    Add watches and probes before the block or within it.
    """

    def __init__(self, clocks: Sequence[StageClock], *, clock: Clock = MONOTONIC) -> None:
        """Prepare; nobody looks yet."""
        self.clocks = tuple(clocks)
        self._clock = clock
        self._probes: list[_Probe] = []
        self._ending = threading.Event()
        self._broken: list[BaseException] = []
        self._threads: list[threading.Thread] = []
        self._undo = ExitStack()
        self._spent: list[float] = []
        self._began = self._ended = 0.0

    def watch(self, by: str, changes: Changes[T], see: Callable[[T], object]) -> None:
        """Read a stream of changes in a thread of its own, until it ends or the block does.

        Args:
            by: name of the watch.
            changes: what is read.
            see: is told each change, and stamps clocks.
        """
        self._undo.callback(changes.stop)

        def read() -> None:
            for change in changes:
                see(change)

        self._begin(by, read)

    def probe(
        self,
        clock: StageClock,
        stage: Stage,
        by: str,
        look: Callable[[], object],
        *,
        after: Collection[Stage] = (),
        in_a_row: int = 1,
    ) -> None:
        """Look until something is there, at most every 20 ms; all probes share one thread.

        Args:
            clock: whom to tell.
            stage: what to tell.
            by: name of the probe.
            look: returns whether it is there; must answer soon, because others wait meanwhile.
            after: do not look before these stages have come; a server would remember that a name does not exist.
            in_a_row: how often it must be there one look after the other; the last of them is the stage's time.
        """
        self._probes.append(_Probe(clock, stage, by, look, after, in_a_row))

    @property
    def cost(self) -> float:
        """Share of one processor that probes and watches took, from the beginning of the block to its end."""
        return sum(self._spent) / (self._ended - self._began) if self._ended > self._began else 0.0

    def wait(self, within: float | Deadline, clocks: Sequence[StageClock] = ()) -> bool:
        """Return as soon as clocks have all their stages, or the time is up; say which it was.

        Args:
            within: seconds.
            clocks: whose; all of them unless given.

        Raises:
            EnvironmentFault: a watch or a probe could not go on.
        """

        def complete() -> bool:
            return not any(one.missing for one in clocks or self.clocks)

        try:
            return wait_until("stages", complete, deadline=within, failed=self._trouble, clock=self._clock)
        except NeverReady:
            return False

    def __enter__(self) -> Self:
        """Start to look."""
        self._began = self._clock.now()
        self._begin("probes", self._look)
        return self

    def __exit__(self, *_: object) -> None:
        """Stop to look, and wait until nobody does."""
        self._ending.set()
        self._undo.close()
        for thread in self._threads:
            thread.join()
        self._ended = self._clock.now()

    def _begin(self, name: str, run: Callable[[], None]) -> None:
        def guarded() -> None:
            try:
                run()
            except BaseException as broken:  # nobody waits for this thread: `wait` raises it instead
                if not self._ending.is_set():
                    self._broken.append(broken)
            finally:
                self._spent.append(time.thread_time())

        thread = threading.Thread(target=guarded, name=f"edgegate-stages {name}", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _trouble(self) -> Exception | None:
        for broken in self._broken:
            return broken if isinstance(broken, Exception) else EnvironmentFault(f"an observer ended: {broken!r}")
        return None

    def _look(self) -> None:
        """Look at everything that is open, round by round."""
        while not self._ending.is_set():
            began, before = self._clock.now(), time.thread_time()
            for probe in list(self._probes):
                if probe.open and not self._ending.is_set():
                    self._ask(probe)
            spent = time.thread_time() - before
            self._ending.wait(max(RESOLUTION, spent / SHARE) - (self._clock.now() - began))

    def _ask(self, probe: _Probe) -> None:
        began = self._clock.now()
        probe.hits = probe.hits + 1 if probe.look() else 0
        if not probe.hits:
            probe.last = began
        elif probe.hits >= probe.in_a_row:
            seen = self._clock.now()
            blind = seen - probe.last if probe.last is not None and probe.in_a_row == 1 else 0.0
            probe.clock.stamp(probe.stage, probe.by, at=seen, blind=blind)
