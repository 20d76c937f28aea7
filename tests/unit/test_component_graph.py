"""Steps run when their needs are done, side by side where they may, and a failure stops what comes after."""

import logging
import threading

import pytest

from edgegate.components.graph import Step, Took, run_steps
from edgegate.errors import NeverReady


def _nothing() -> None:
    """Do nothing."""


def _noted(order: list[str], *steps: tuple[str, tuple[str, ...]]) -> list[Step]:
    return [Step(name, lambda name=name: order.append(name), needs) for name, needs in steps]  # type: ignore[misc]


def test_each_step_comes_after_what_it_needs() -> None:
    order: list[str] = []
    run_steps(_noted(order, ("roof", ("walls",)), ("walls", ("ground",)), ("door", ("walls", "roof")), ("ground", ())))
    assert order == ["ground", "walls", "roof", "door"]


def test_what_needs_nothing_of_each_other_runs_side_by_side() -> None:
    meet = threading.Barrier(3, timeout=5)
    run_steps([Step(name, meet.wait) for name in "abc"])
    assert meet.broken is False


def test_a_step_does_not_wait_for_what_it_does_not_need() -> None:
    done = threading.Event()
    run_steps([Step("slow", lambda: done.wait(5)), Step("quick", _nothing), Step("after", done.set, needs=("quick",))])
    assert done.is_set()


def test_the_durations_come_in_order_of_completion_and_as_they_come() -> None:
    told: list[Took] = []
    took = run_steps([Step("a", _nothing), Step("b", _nothing, needs=("a",))], done=told.append)
    assert [one.name for one in took] == ["a", "b"]
    assert told == took
    assert 0 <= took[0].started <= took[0].started + took[0].seconds <= took[1].started


def test_a_failure_is_raised_and_nothing_after_it_runs() -> None:
    ran: list[str] = []

    def fail() -> None:
        raise ConnectionError("no etcd")

    with pytest.raises(ConnectionError, match="no etcd"):
        run_steps([Step("etcd", fail), *_noted(ran, ("api", ("etcd",)), ("edge", ("api",)))])
    assert ran == []


def test_nobody_waits_for_what_is_under_way_when_a_step_fails() -> None:
    failing, released = threading.Event(), threading.Event()

    def fail() -> None:
        failing.wait(5)
        raise ConnectionError("no etcd")

    def hang() -> None:
        failing.set()
        released.wait(5)

    with pytest.raises(ConnectionError, match="no etcd"):
        run_steps([Step("fails", fail), Step("hangs", hang)])
    hanging = [thread for thread in threading.enumerate() if thread.name == "step hangs"]
    assert [thread.daemon for thread in hanging] == [True]
    released.set()
    hanging[0].join(5)


def test_a_step_that_waits_in_vain_is_cut_short_by_what_failed() -> None:
    """A step may wait for something that a dead part would have to do; only the look at all parts finds that."""
    released = threading.Event()
    with pytest.raises(ChildProcessError, match="etcd ended"):
        run_steps([Step("waits", lambda: released.wait(5))], failed=lambda: ChildProcessError("etcd ended"))
    released.set()


def test_what_takes_too_long_is_named() -> None:
    released = threading.Event()
    with pytest.raises(NeverReady) as raised:
        run_steps([Step("quick", _nothing), Step("a", released.wait), Step("b", released.wait)], within=0.01)
    released.set()
    assert str(raised.value) == "edge ready: not within 10 ms; last seen: still under way: a, b"


def test_what_failed_explains_the_step_that_failed() -> None:
    def fail() -> None:
        raise ConnectionError("refused")

    with pytest.raises(ChildProcessError, match="etcd ended") as caught:
        run_steps([Step("api", fail)], failed=lambda: ChildProcessError("etcd ended"))
    assert str(caught.value.__cause__) == "refused"


def test_an_unknown_need_is_refused_before_anything_runs() -> None:
    ran: list[str] = []
    with pytest.raises(ValueError, match=r"^unknown steps are needed: etcd, pki$"):
        run_steps(_noted(ran, ("a", ()), ("b", ("pki", "etcd"))))
    assert ran == []


def test_a_circle_is_refused_before_anything_runs() -> None:
    ran: list[str] = []
    with pytest.raises(ValueError, match="cycle"):
        run_steps(_noted(ran, ("a", ()), ("b", ("c",)), ("c", ("b",))))
    assert ran == []


def test_no_steps_are_fine() -> None:
    assert run_steps([]) == []


def test_each_step_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="edgegate.components"):
        run_steps([Step("etcd", _nothing)])
    assert caplog.messages == ["etcd done in 0.00 s"]
