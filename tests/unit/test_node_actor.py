"""An actor does one thing after the other."""

import logging
import threading

import pytest

from edgegate.lab.node import actor as actors
from edgegate.lab.node.actor import Actor
from node_parts import StepActor


def test_things_are_done_in_order_and_timers_at_their_time() -> None:
    actor, done = StepActor(), list[str]()
    actor.later(2, lambda: done.append("two"))
    actor.later(1, lambda: done.append("one"))
    actor.later(1, lambda: done.append("cancelled")).cancel()
    actor.post(lambda: done.append("now"))
    actor.advance(1)
    assert done == ["now", "one"]
    actor.advance(1)
    assert done == ["now", "one", "two"]


def test_a_thread_does_what_it_is_sent_and_ends() -> None:
    actor, done = Actor("real"), threading.Event()

    def take(number: int) -> None:
        assert number == 21
        actor.later(0.01, done.set)

    actor.start()
    actor.aside(lambda: 21, take)
    assert done.wait(5)
    actor.post(actor.finish)


def test_a_step_that_fails_is_logged_and_things_go_on(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    actor, done = Actor("pod shop/web"), threading.Event()

    def fail() -> None:
        raise RuntimeError("unforeseen")

    monkeypatch.setattr(actors, "AFTER_FAILURE", 0.05)
    settled = threading.Semaphore(0)
    monkeypatch.setattr(actor, "settle", settled.release)
    with caplog.at_level(logging.ERROR):
        actor.start()
        actor.post(fail)
        actor.post(done.set)
        assert done.wait(5)
        assert settled.acquire(timeout=5)  # after the step that went well
        assert settled.acquire(timeout=5)  # for the one that failed
    actor.post(actor.finish)
    assert "pod shop/web: a step failed" in caplog.text
