"""Workers: outcomes are counted by name, and no object can stop them."""

import logging
import threading

import pytest

from edgegate_operator.core.controller import Request, Runner
from edgegate_operator.core.kube import ApiError, Conflict
from edgegate_operator.core.metrics import Metrics
from edgegate_operator.core.queue import Backoff, WorkQueue

ONE = Request("single", "tenant-a", "shop")


def look(outcome: float | Exception | None) -> Metrics:
    """Let one worker look at one object; return the metrics afterwards."""
    metrics, seen = Metrics(), threading.Event()
    queue: WorkQueue[Request] = WorkQueue("things", Backoff(500, 1000), metrics)

    def reconcile(request: Request) -> float | None:
        assert request == ONE
        seen.set()
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    runner = Runner("things", 1, queue, reconcile, metrics)
    runner.start()
    queue.add(ONE)
    assert seen.wait(5)
    runner.stop()
    return metrics


@pytest.mark.parametrize(
    ("outcome", "result"),
    [(None, "success"), (5.0, "requeue_after"), (ApiError("GET", 500, "x"), "error"), (KeyError("spec"), "error")],
)
def test_outcomes_are_counted(outcome: float | Exception | None, result: str) -> None:
    metrics = look(outcome)
    assert metrics.value("controller_runtime_reconcile_total", controller="things", result=result) == 1
    assert metrics.value("controller_runtime_active_workers", controller="things") == 0
    assert 'controller_runtime_reconcile_time_seconds_count{controller="things"} 1' in metrics.text()


def test_every_outcome_has_a_series_from_the_beginning() -> None:
    metrics = Metrics()
    Runner("things", 3, WorkQueue("things", Backoff(), metrics), lambda request: None, metrics)
    for result in ("success", "error", "requeue_after"):
        assert metrics.value("controller_runtime_reconcile_total", controller="things", result=result) == 0
    assert metrics.value("controller_runtime_max_concurrent_reconciles", controller="things") == 3


def test_a_failure_is_logged_with_the_object(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        look(Conflict("PATCH /x on single", 409, "changed meanwhile"))
    assert caplog.messages == ["things single:tenant-a/shop: PATCH /x on single: 409: changed meanwhile"]
