"""The queue: each key once, failures later and later, wishes for later kept."""

import threading

import pytest

from edgegate_operator.core.metrics import Metrics
from edgegate_operator.core.queue import Backoff, WorkQueue


class Time:
    """A clock that tests move."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def make(clock: Time | None = None, backoff: Backoff | None = None) -> tuple[WorkQueue[str], Metrics]:
    metrics = Metrics()
    return WorkQueue("things", backoff or Backoff(), metrics, clock or Time()), metrics


def test_a_key_waits_once_however_often_it_is_added() -> None:
    queue, metrics = make()
    queue.add("a")
    queue.add("a")
    assert metrics.value("workqueue_depth", name="things", controller="things") == 1
    assert queue.get() == "a"
    assert metrics.value("workqueue_depth", name="things", controller="things") == 0
    assert metrics.value("workqueue_adds_total", name="things", controller="things") == 1


def test_a_key_that_is_worked_on_comes_again_only_after_that() -> None:
    queue, _ = make()
    queue.add("a")
    queue.get()
    queue.add("a")
    queue.add("b")
    assert queue.get() == "b"
    queue.done("a", 0.1)
    assert queue.get() == "a"


def test_failures_wait_twice_as_long_each_time_and_at_most_the_cap() -> None:
    backoff = Backoff(base=0.005, cap=1000)
    assert [backoff.delay(n) for n in range(4)] == [0.005, 0.01, 0.02, 0.04]
    assert backoff.delay(200) == 1000


def test_a_retry_is_handed_out_when_its_back_off_is_over() -> None:
    clock = Time()
    queue, metrics = make(clock, Backoff(1, 30))
    queue.retry("a")
    queue.add("b")
    assert queue.get() == "b"
    clock.now += 1
    assert queue.get() == "a"
    assert metrics.value("workqueue_retries_total", name="things", controller="things") == 1


def test_forgetting_starts_the_back_off_anew() -> None:
    clock = Time()
    queue, _ = make(clock, Backoff(1, 30))
    for _ in range(3):
        queue.retry("a")
        clock.now += 30
        assert queue.get() == "a"
        queue.done("a", 0)
    queue.forget("a")
    queue.retry("a")
    clock.now += 1
    assert queue.get() == "a"


def test_of_two_wishes_for_later_the_earlier_one_wins() -> None:
    clock = Time()
    queue, _ = make(clock)
    queue.add_after("a", 5)
    queue.add_after("a", 2)
    queue.add_after("a", 9)
    clock.now += 2
    assert queue.get() == "a"
    queue.done("a", 0)
    queue.add("end")
    clock.now += 20
    assert queue.get() == "end"


def test_shutting_wakes_whoever_waits() -> None:
    queue, _ = make()
    got: list[str | None] = ["nothing yet"]
    waiter = threading.Thread(target=lambda: got.append(queue.get()))
    waiter.start()
    queue.shut()
    waiter.join(timeout=5)
    assert got[-1] is None


@pytest.mark.parametrize("family", ["workqueue_queue_duration_seconds", "workqueue_work_duration_seconds"])
def test_waits_and_work_are_measured(family: str) -> None:
    clock = Time()
    queue, metrics = make(clock)
    queue.add("a")
    clock.now += 0.2
    queue.get()
    queue.done("a", 0.2)
    assert f'{family}_bucket{{controller="things",name="things",le="0.1"}} 0' in metrics.text()
    assert f'{family}_bucket{{controller="things",name="things",le="0.25"}} 1' in metrics.text()


def test_fault_conflict_backoff_lets_no_event_shorten_a_wait() -> None:
    clock, metrics = Time(), Metrics()
    queue: WorkQueue[str] = WorkQueue("things", Backoff(5, 1000), metrics, clock, stubborn=True)
    queue.retry("a")
    queue.add("a")
    queue.add("b")
    assert queue.get() == "b"
    clock.now += 5
    assert queue.get() == "a"
