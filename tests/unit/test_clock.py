"""Durations are read as users write them, and a wait looks at once, in time, and no longer than allowed."""

import pytest

from edgegate.clock import RESOLUTION, Deadline, parse_duration, show_duration, wait_until
from edgegate.errors import NeverReady, NotADuration, UsageFault
from fakes import FakeClock


@pytest.mark.parametrize(
    ("text", "seconds"), [("250ms", 0.25), ("30s", 30.0), (" 1.5s ", 1.5), ("2m", 120.0), ("1h", 3600.0), ("0s", 0.0)]
)
def test_a_duration_is_a_number_and_a_unit(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["30", "", "s", "-1s", "1 s", "1d", "1e3s", "1s2", "1,5s"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(NotADuration) as raised:
        parse_duration(text)
    assert str(raised.value) == (
        f"'{text}' is not a duration. Accepted: a number and a unit, as in 250ms, 30s, 2m or 1h."
    )
    assert isinstance(raised.value, UsageFault)


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0.24, "240 ms"), (1.3, "1.30 s"), (99.5, "99.50 s"), (250, "4 min 10 s"), (0, "0 ms")]
)
def test_durations_are_shown_as_people_read_them(seconds: float, shown: str) -> None:
    assert show_duration(seconds) == shown


def test_a_deadline_counts_down_to_nothing() -> None:
    clock = FakeClock(100.0)
    deadline = Deadline.after(3, clock)
    clock.sleep(1)
    assert (deadline.limit, deadline.ends, deadline.left(clock)) == (3, 103.0, 2.0)
    clock.sleep(5)
    assert deadline.left(clock) == 0


def test_the_first_look_comes_at_once() -> None:
    clock = FakeClock()
    assert wait_until("x", lambda: "answer", deadline=0, clock=clock) == "answer"
    assert clock.slept == []


def test_it_looks_again_every_20_ms_and_returns_the_answer() -> None:
    clock, answers = FakeClock(), [None, "", 0, "fourth"]
    assert wait_until("x", lambda: answers.pop(0), deadline=1, clock=clock) == "fourth"
    assert clock.slept == [RESOLUTION] * 3


def test_answers_in_a_row_start_anew_after_a_wrong_one() -> None:
    clock, answers = FakeClock(), [1, 2, None, 4, 5, 6, 7]
    assert wait_until("x", lambda: answers.pop(0), deadline=1, in_a_row=3, clock=clock) == 6
    assert answers == [7]


def test_the_last_sleep_ends_with_the_deadline_and_one_more_look_follows() -> None:
    clock, looks = FakeClock(), []
    with pytest.raises(NeverReady):
        wait_until("x", lambda: looks.append(clock.now()), deadline=0.25, every=0.1, clock=clock)
    assert looks == [0, 0.1, 0.2, 0.25]


def test_a_wait_that_ran_out_tells_what_limit_and_last_sight() -> None:
    with pytest.raises(NeverReady) as raised:
        wait_until("route accepted", lambda: None, deadline=1.5, last=lambda: "Accepted=False", clock=FakeClock())
    assert str(raised.value) == "route accepted: not within 1.50 s; last seen: Accepted=False"
    assert (raised.value.what, raised.value.limit, raised.value.last) == ("route accepted", "1.50 s", "Accepted=False")


def test_a_wait_that_saw_nothing_says_so() -> None:
    with pytest.raises(NeverReady, match=r"^x: not within 10 ms; nothing was seen$"):
        wait_until("x", lambda: None, deadline=0.01, clock=FakeClock())


def test_what_has_failed_is_reported_before_it_is_looked_at() -> None:
    dead, clock = ConnectionError("it died"), FakeClock()
    with pytest.raises(ConnectionError, match="it died"):
        wait_until("x", lambda: "ready", failed=lambda: dead, deadline=5, clock=clock)
    assert clock.slept == []


def test_several_waits_may_share_a_deadline() -> None:
    clock = FakeClock()
    deadline = Deadline.after(1, clock)
    clock.sleep(0.9)
    with pytest.raises(NeverReady, match=r"not within 1\.00 s"):
        wait_until("x", lambda: None, deadline=deadline, clock=clock)
    assert clock.now() == pytest.approx(1.0)
