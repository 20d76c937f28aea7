"""A stage clock keeps the first sight of each stage, whoever saw it; observers look without an API of their own."""

import threading
import time
from collections.abc import Iterator
from itertools import pairwise
from queue import Queue

import pytest

from edgegate.clock import MONOTONIC, RESOLUTION
from edgegate.errors import EnvironmentFault, LabFault
from edgegate.probes.convergence import SHARE, Observers, StageClock
from edgegate.probes.machine import Machine
from edgegate.stages import Stage
from fakes import FakeClock

WITHIN = 5.0


class _Stream:
    """Changes that the test puts in; None ends them."""

    def __init__(self) -> None:
        self.queue: Queue[str | None] = Queue()

    def __iter__(self) -> Iterator[str]:
        return iter(self.queue.get, None)

    def stop(self) -> None:
        self.queue.put(None)


class _Sequence:
    """A look that finds what it is told to, one look after the other; the last for ever."""

    def __init__(self, *found: bool) -> None:
        self.found, self.looks = list(found), 0

    def __call__(self) -> bool:
        self.looks += 1
        return self.found.pop(0) if len(self.found) > 1 else self.found[0]


def test_the_first_stamp_counts() -> None:
    clock = StageClock("shop", clock=FakeClock(7.0))

    assert clock.stamp(Stage.CREATED, "POST", at=1.0)
    assert clock.stamp(Stage.ACCEPTED, "watch of HTTPProxies", at=1.5)
    assert not clock.stamp(Stage.ACCEPTED, "somebody else", at=1.2)

    accepted = clock.course().time(Stage.ACCEPTED)
    assert accepted is not None
    assert (accepted.seconds, accepted.by, accepted.after) == (0.5, "watch of HTTPProxies", Stage.CREATED)


def test_what_is_missing_is_of_what_was_expected() -> None:
    clock = StageClock("shop", [Stage.CREATED, Stage.ACCEPTED])

    clock.stamp(Stage.CREATED, "POST")

    assert clock.missing == [Stage.ACCEPTED]
    assert clock.course().missing == (Stage.ACCEPTED,)


def test_each_time_has_the_load_meanwhile() -> None:
    clock = StageClock("shop", machine=Machine())
    clock.stamp(Stage.CREATED, "POST")
    clock.stamp(Stage.ACCEPTED, "watch")

    accepted = clock.course().time(Stage.ACCEPTED)

    assert accepted is not None
    assert accepted.load is not None
    assert accepted.load == accepted.own_load


def test_one_watch_tells_several_clocks() -> None:
    clocks = {name: StageClock(name, [Stage.ACCEPTED]) for name in ("a", "b")}
    stream = _Stream()
    with Observers(list(clocks.values())) as observers:
        observers.watch("watch", stream, lambda name: clocks[name].stamp(Stage.ACCEPTED, "watch"))
        stream.queue.put("a")
        stream.queue.put("b")

        assert observers.wait(WITHIN)


def test_a_probe_looks_until_it_is_there_and_says_how_blind_it_was() -> None:
    clock, look = StageClock("shop", [Stage.FIRST_200]), _Sequence(False, False, True)
    with Observers([clock]) as observers:
        observers.probe(clock, Stage.FIRST_200, "HTTP probe", look)

        assert observers.wait(WITHIN)

    seen = clock.course().time(Stage.FIRST_200)
    assert seen is not None
    assert look.looks == 3
    assert seen.blind >= RESOLUTION


def test_a_probe_waits_for_the_stage_before() -> None:
    """A resolver that is asked too early would remember that there is no such name."""
    clock = StageClock("shop", [Stage.RECORD_PROGRAMMED, Stage.RECORD_ANSWERS])
    look = _Sequence(True)
    with Observers([clock]) as observers:
        observers.probe(clock, Stage.RECORD_ANSWERS, "DNS", look, after=[Stage.RECORD_PROGRAMMED])
        assert not observers.wait(0.1)
        assert look.looks == 0

        clock.stamp(Stage.RECORD_PROGRAMMED, "watch")

        assert observers.wait(WITHIN)


def test_in_a_row_begins_again_after_a_wrong_answer() -> None:
    clock, look = StageClock("shop", [Stage.IN_A_ROW]), _Sequence(True, True, False, True)
    with Observers([clock]) as observers:
        observers.probe(clock, Stage.IN_A_ROW, "HTTPS probe", look, in_a_row=3)

        assert observers.wait(WITHIN)

    assert look.looks == 6


def test_a_wait_that_runs_out_says_so() -> None:
    with Observers([StageClock("shop", [Stage.ACCEPTED])]) as observers:
        assert not observers.wait(0.05)


def test_a_watch_that_breaks_ends_the_wait() -> None:
    class Broken(_Stream):
        def __iter__(self) -> Iterator[str]:
            raise LabFault("the supervisor is gone")

    with Observers([StageClock("shop", [Stage.ACCEPTED])]) as observers:
        observers.watch("watch", Broken(), lambda change: None)
        with pytest.raises(LabFault, match="the supervisor is gone"):
            observers.wait(WITHIN)


def test_a_probe_that_breaks_ends_the_wait() -> None:
    def look() -> bool:
        raise SystemExit(3)

    clock = StageClock("shop", [Stage.ACCEPTED])
    with Observers([clock]) as observers:
        observers.probe(clock, Stage.ACCEPTED, "probe", look)
        with pytest.raises(EnvironmentFault, match=r"an observer ended: SystemExit\(3\)"):
            observers.wait(WITHIN)


def test_nobody_looks_after_the_end() -> None:
    before = threading.active_count()
    clock, look = StageClock("shop", [Stage.ACCEPTED]), _Sequence(False)
    with Observers([clock]) as observers:
        observers.watch("watch", _Stream(), lambda change: None)
        observers.probe(clock, Stage.ACCEPTED, "probe", look)

    assert threading.active_count() == before


def test_probes_take_a_part_of_one_processor_only() -> None:
    """A look that takes 10 ms of it is made once in 100 ms; the stamp says how blind that was."""
    clock = StageClock("shop", [Stage.FIRST_200])
    looks = []

    def busy() -> bool:
        looks.append(MONOTONIC.now())
        spent = time.thread_time()
        while time.thread_time() < spent + 0.01:
            pass
        return len(looks) == 4

    with Observers([clock]) as observers:
        observers.probe(clock, Stage.FIRST_200, "HTTP probe", busy)
        assert observers.wait(WITHIN)

    assert min(later - before for before, later in pairwise(looks)) >= 0.01 / SHARE
    seen = clock.course().time(Stage.FIRST_200)
    assert seen is not None
    assert seen.blind >= 0.01 / SHARE
    assert 0.5 * SHARE <= observers.cost <= 2 * SHARE


def test_many_subjects_share_one_thread() -> None:
    clocks = [StageClock(f"shop-{number}", [Stage.FIRST_200]) for number in range(100)]
    with Observers(clocks) as observers:
        before = threading.active_count()
        for clock in clocks:
            observers.probe(clock, Stage.FIRST_200, "HTTP probe", _Sequence(False, True))
        assert observers.wait(WITHIN)
        assert threading.active_count() == before
