"""Subjects of a growth gate begin at different parts of the second in which cert-manager schedules challenges."""

import pytest

from edgegate.edge import convergence
from edgegate.edge.convergence import Convergence
from fakes import FakeClock


def test_subjects_meet_every_part_of_a_tick(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = FakeClock(0.95)
    monkeypatch.setattr(convergence, "MONOTONIC", clock)
    watching = Convergence.__new__(Convergence)
    parts = []
    for subject in range(4):
        watching.spread(subject, 4)
        parts.append(round(clock.now() % convergence.TICK, 6))
        clock.seconds += 1.9  # what one subject takes
    assert sorted(parts) == [0.0, 0.25, 0.5, 0.75]
    assert max(clock.slept) < convergence.TICK
