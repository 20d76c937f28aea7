"""Outages, gaps and seconds follow from single looks alone."""

import pytest

from edgegate.probes.timeline import Samples, outages, report
from edgegate.traffic import Gap, Outage, Second, Spread, TargetReport, Wrong


def _looks(*faults: str | None, every: float = 0.5) -> list[tuple[float, float, str | None]]:
    return [(100 + index * every, 0.01, fault) for index, fault in enumerate(faults)]


def _report(*faults: str | None, every: float = 0.5, meant: float = 0.018) -> TargetReport:
    samples = _looks(*faults, every=every)
    return report("a", meant, samples, began=100.0, ended=100 + len(samples) * every)


def test_outage_is_a_run_of_wrong_looks() -> None:
    """It begins with the first wrong look, and ends with the first right one; different faults are one outage."""
    (outage,) = outages("a", _looks(None, "reset", "reset", "status 503", None, None))

    assert outage == Outage(
        target="a",
        begin=100.5,
        end=102.0,
        last_right=100.0,
        last_wrong=101.5,
        looks=3,
        faults=(("reset", 2), ("status 503", 1)),
    )
    assert outage.seconds == 1.5
    assert outage.describe(100.0) == "a: reset ×2, status 503 ×1 from 0.50 s on, for 1.50 s"


def test_outage_that_is_not_over() -> None:
    (outage,) = outages("a", _looks("reset", "reset"))

    assert (outage.last_right, outage.end, outage.seconds) == (None, None, 0.5)
    assert outage.describe(100.0) == "a: reset ×2 from 0.00 s on, for 500 ms, not over"


def test_two_outages() -> None:
    first, second = outages("a", _looks("reset", None, "timeout", None))

    assert (first.begin, first.end) == (100.0, 100.5)
    assert (second.begin, second.last_right) == (101.0, 100.5)


def test_no_outage() -> None:
    assert not list(outages("a", _looks(None, None)))
    assert _report(None, None).ok


def test_nothing_seen_is_not_right() -> None:
    """A watch that never looked proves nothing."""
    found = report("a", 0.018, [], began=100.0, ended=103.0)

    assert not found.ok
    assert found.longest_gap == Gap(100.0, 3.0)


def test_each_wrong_look_is_kept() -> None:
    assert _report(None, "reset", None, "timeout").wrong == (
        Wrong(100.5, 0.01, "reset"),
        Wrong(101.5, 0.01, "timeout"),
    )


def test_seconds() -> None:
    assert _report(None, "reset", "reset", None, every=0.75).timeline == (
        Second(0, 2, 1),
        Second(1, 1, 1),
        Second(2, 1, 0),
        Second(3, 0, 0),
    )


def test_gaps_are_told_and_not_hidden() -> None:
    """The watcher says how long it did not look itself."""
    samples = [(100.0, 0.0, None), (100.018, 0.0, None), (100.118, 0.0, None), (100.136, 0.0, None)]

    found = report("a", 0.018, samples, began=100.0, ended=100.14)

    assert found.longest_gap.at == 100.018
    assert found.longest_gap.seconds == pytest.approx(0.1)
    assert found.blind == pytest.approx(0.08)
    assert found.gaps.p50 == pytest.approx(0.018)
    assert found.gaps.most == pytest.approx(0.1)


@pytest.mark.parametrize(("whole", "longest"), [(True, Gap(101.0, 2.0)), (False, Gap(100.0, 0.9))])
def test_time_before_the_first_and_after_the_last_look_counts(whole: bool, longest: Gap) -> None:
    """While looks may still be open nobody knows whether there were none at the end."""
    samples = [(100.9, 0.0, None), (101.0, 0.0, None)]

    found = report("a", 0.018, samples, began=100.0, ended=103.0, whole=whole)

    assert found.longest_gap.at == longest.at
    assert found.longest_gap.seconds == pytest.approx(longest.seconds)
    assert found.gaps.most == pytest.approx(0.1)


def test_gaps_of_a_target_with_a_long_interval_are_not_blindness() -> None:
    assert _report(None, None, None, every=0.072, meant=0.072).blind == 0


def test_latency_is_of_right_answers() -> None:
    samples = [(100.0, 0.01, None), (100.1, 5.0, "timeout"), (100.2, 0.03, None)]

    assert report("a", 0.1, samples, began=100.0, ended=100.3).latency.most == 0.03


def test_samples_come_in_any_order() -> None:
    """A look that hangs is known after many that began later."""
    samples = Samples()
    samples.add(2.0, 0.1, None)
    samples.add(1.0, 1.0, "timeout")
    samples.add(3.0, 0.1, "timeout")

    assert samples.in_order() == [(1.0, 1.0, "timeout"), (2.0, 0.1, None), (3.0, 0.1, "timeout")]
    assert len(samples) == 3


def test_spread() -> None:
    assert Spread.of(list(range(101))) == Spread(50, 95, 100)
    assert Spread.of([7.0]) == Spread(7.0, 7.0, 7.0)
    assert Spread.of([]) == Spread(0.0, 0.0, 0.0)
