"""What a stage waited for, from two readings of a controller's standard metrics."""

import httpx
import pytest

from edgegate.errors import MetricsUnreachable
from edgegate.probes.queues import Queue, Queues, read
from edgegate_operator.core.metrics import Metrics
from edgegate_operator.core.queue import Backoff, WorkQueue

NAME = "dnsrecordset-powerdns"


def _text(
    *, soon: int = 0, late: int = 0, later: int = 0, depth: int = 0, success: int = 0, error: int = 0, after: int = 0
) -> str:
    """Return metrics of a controller whose keys waited 0.1 s, 10 s or longer than the last bound."""
    looks = soon + late + later
    return f"""\
# HELP workqueue_depth Keys
# TYPE workqueue_depth gauge
workqueue_depth{{controller="{NAME}",name="{NAME}"}} {depth}
workqueue_queue_duration_seconds_bucket{{controller="{NAME}",name="{NAME}",le="0.1"}} {soon}
workqueue_queue_duration_seconds_bucket{{controller="{NAME}",name="{NAME}",le="10"}} {soon + late}
workqueue_queue_duration_seconds_bucket{{controller="{NAME}",name="{NAME}",le="+Inf"}} {looks}
workqueue_queue_duration_seconds_sum{{controller="{NAME}",name="{NAME}"}} 1.5
workqueue_queue_duration_seconds_count{{controller="{NAME}",name="{NAME}"}} {looks}
workqueue_work_duration_seconds_sum{{controller="{NAME}",name="{NAME}"}} {looks * 0.02}
controller_runtime_reconcile_total{{controller="{NAME}",result="success"}} {success}
controller_runtime_reconcile_total{{controller="{NAME}",result="error"}} {error}
controller_runtime_reconcile_total{{controller="{NAME}",result="requeue_after"}} {after}
go_goroutines 12
"""


def _queues(*texts: str) -> Queues:
    answers = iter(texts)
    return Queues("http://x/metrics", transport=httpx.MockTransport(lambda _: httpx.Response(200, text=next(answers))))


def test_a_queue_that_was_waited_for() -> None:
    """What was there before does not count."""
    queues = _queues(_text(soon=50, success=50), _text(soon=52, late=40, depth=1503, success=92))

    assert queues.waited(NAME) == (
        f"the queue of {NAME}: 95 of 100 keys waited up to 10.00 s, 1,503 wait now, 20 ms of work each"
    )


def test_a_wait_longer_than_the_last_bound() -> None:
    queues = _queues(_text(), _text(later=20, success=20))

    assert "95 of 100 keys waited more than 10.00 s, 0 wait now" in queues.waited(NAME)


def test_a_queue_that_nobody_works_on() -> None:
    queues = _queues(_text(), _text(depth=3))

    assert queues.waited(NAME) == (
        f"the queue of {NAME}: 95 of 100 keys waited up to 0 ms, 3 wait now, nothing of work each"
    )


def test_a_back_off() -> None:
    queues = _queues(_text(error=1), _text(soon=9, success=4, error=6))

    assert queues.waited(NAME) == f"a back-off of {NAME}: 5 of 9 looks failed"


def test_a_delay_that_was_asked_for() -> None:
    queues = _queues(_text(), _text(soon=3, success=1, after=2))

    assert queues.waited(NAME) == f"a delay that {NAME} asked for 2 times (requeue)"


def test_several_reasons_and_controllers() -> None:
    queues = _queues(_text(), _text(late=3, error=1, after=2))

    said = queues.waited("unknown", NAME)
    assert [part.split(" of ")[0] for part in said.split("; ")] == [
        "the queue",
        "a back-off",
        f"a delay that {NAME} asked for 2 times (requeue)",
    ]


def test_nothing_to_see() -> None:
    queues = _queues(_text(), _text(soon=3, success=3))

    assert queues.waited(NAME, "gateway") == f"nothing that the queues of {NAME}, gateway show"


def test_series_of_several_projects_are_one_controller() -> None:
    text = 'workqueue_depth{name="gateway",controller="gateway"} 2\nworkqueue_depth{name="gateway",project="b"} 3\n'

    assert read(text)["gateway"] == Queue(depth=5)


def test_our_own_operator_is_understood() -> None:
    metrics = Metrics()
    queue: WorkQueue[str] = WorkQueue("gateway", Backoff(), metrics)
    queue.add("a")
    assert queue.get() == "a"
    queue.add("b")

    found = read(metrics.text())["gateway"]

    assert (found.depth, found.looks) == (1, 1)
    assert found.wait() < 1


@pytest.mark.parametrize(
    ("answer", "reason"),
    [(httpx.Response(503), "Server error '503 Service Unavailable' for url 'http://x/metrics'"), (None, "refused")],
)
def test_metrics_that_cannot_be_read(answer: httpx.Response | None, reason: str) -> None:
    def carry(request: httpx.Request) -> httpx.Response:
        if answer is None:
            raise httpx.ConnectError("refused")
        return answer

    with pytest.raises(MetricsUnreachable) as raised:
        Queues("http://x/metrics", transport=httpx.MockTransport(carry))

    assert str(raised.value).startswith(f"the metrics at http://x/metrics cannot be read: {reason}")
    assert str(raised.value).endswith(". Does the process run? edgegate status tells")


def test_the_queues_of_several_processes() -> None:
    def carry(request: httpx.Request) -> httpx.Response:
        text = _text(soon=1) if request.url.host == "agent" else _text(soon=2).replace(NAME, "gateway")
        return httpx.Response(200, text=text)

    queues = Queues("http://agent/metrics", "http://operator/metrics", transport=httpx.MockTransport(carry))

    assert {name: queue.looks for name, queue in queues.reading().items()} == {NAME: 1, "gateway": 2}
