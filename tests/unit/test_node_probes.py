"""When probes look and what their looks mean."""

import math

import pytest

from edgegate.lab.node.backoff import Backoff
from edgegate.lab.node.probes import Kind, Looks, Probe, counts, first_look, next_look


def _probe(kind: Kind = Kind.READINESS, **spec: int) -> Probe:
    made = Probe.of({kind.key: {"httpGet": {"port": 80}, **spec}}, kind)
    assert made
    return made


def test_the_defaults_are_those_of_the_api() -> None:
    probe = _probe()
    assert (probe.delay, probe.period, probe.timeout, probe.successes, probe.failures) == (0, 10, 1, 1, 3)
    assert probe.grace is None
    assert Probe.of({}, Kind.LIVENESS) is None


@pytest.mark.parametrize(
    ("looks", "verdicts"),
    [
        ([True], [True]),
        ([False, False, False], [None, None, False]),
        ([True, False, False, True], [True, True, True, True]),
        ([True, False, False, False, True], [True, True, True, False, True]),
    ],
)
def test_thresholds_are_numbers_in_a_row(looks: list[bool], verdicts: list[bool | None]) -> None:
    seen = []
    state = Looks()
    for ok in looks:
        state = state.after(_probe(), ok)
        seen.append(state.verdict)
    assert seen == verdicts


def test_two_successes_in_a_row_can_be_asked_for() -> None:
    probe = _probe(successThreshold=2, failureThreshold=1)
    state = Looks().after(probe, True)
    assert state.verdict is None
    assert state.after(probe, True).passed
    assert state.after(probe, False).after(probe, True).verdict is False


def test_a_kubelet_looks_after_the_delay_and_then_once_a_period() -> None:
    probe = _probe(initialDelaySeconds=5, periodSeconds=2)
    assert first_look(probe, 1.5, eager=False) == 3.5
    assert first_look(probe, 9, eager=False) == 0
    assert next_look(probe, Looks(), 1, eager=False) == 2


def test_the_eager_mode_hurries_until_the_first_success() -> None:
    probe = _probe(initialDelaySeconds=5)
    assert first_look(probe, 0, eager=True) == 0
    assert next_look(probe, Looks(), 1, eager=True) == 0.05
    assert next_look(probe, Looks().after(probe, True), 1, eager=True) == 10
    assert next_look(probe, Looks(passed=True, verdict=False), 1, eager=True) == 10


def test_the_eager_mode_leaves_liveness_and_late_starters_alone() -> None:
    assert next_look(_probe(Kind.LIVENESS), Looks(), 1, eager=True) == 10
    assert next_look(_probe(), Looks(), 60, eager=True) == 10


def test_hurried_failures_count_at_the_pace_of_the_period() -> None:
    probe = _probe(Kind.STARTUP, initialDelaySeconds=5)

    def counted(ok: bool, start: float, last: float = math.inf) -> bool:
        return counts(probe, Looks(), ok, since_start=start, since_counted=last, eager=True)

    assert not counted(False, 1)
    assert counted(True, 1)
    assert counted(False, 5)
    assert not counted(False, 6, 1)
    assert counted(False, 15, 10)
    assert counts(probe, Looks(), False, since_start=1, since_counted=1, eager=False)


def test_the_first_restart_comes_at_once_and_later_ones_wait() -> None:
    none = Backoff()
    assert none.left(ended=100, now=100) == 0
    first = none.after(ended=100, now=100)
    assert first.left(ended=101, now=101) == 10
    assert first.left(ended=101, now=111) == 0
    second = first.after(ended=101, now=111)
    assert second.left(ended=112, now=112) == 20


def test_the_wait_ends_at_five_minutes_and_a_long_run_forgets_it() -> None:
    state = Backoff()
    for _ in range(10):
        state = state.after(ended=0, now=0)
    assert state.delay == 300
    assert state.left(ended=601, now=601) == 0
    assert state.after(ended=601, now=601).delay == 10
