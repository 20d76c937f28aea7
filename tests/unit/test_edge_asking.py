"""The wait that reads traffic."""

from pathlib import Path
from typing import Any

import pytest

from edgegate.edge.asking import wait_for_answer
from edgegate.errors import NeverReady
from fakes import FakeProbe, FakeTenant


@pytest.fixture
def a(tmp_path: Path) -> FakeTenant:
    return FakeTenant("a", tmp_path)


def test_asking_ends_with_the_first_right_answers_in_a_row(a: FakeTenant) -> None:
    statuses = [503, 200, 503, 200, 200, 200]
    probe: Any = FakeProbe(lambda method: a.right(method, status=statuses.pop(0)))
    answer = wait_for_answer(probe, lambda one: one.ok, what="x", within=5, in_a_row=2, method="HEAD")
    assert (answer.method, answer.status, statuses) == ("HEAD", 200, [200])


def test_asking_in_vain_tells_the_last_answer(a: FakeTenant) -> None:
    probe: Any = FakeProbe(lambda method: a.right(status=503))
    with pytest.raises(NeverReady) as raised:
        wait_for_answer(probe, lambda one: one.ok, what="the sentinel answers", within=0)
    assert str(raised.value) == (
        "the sentinel answers: not within 0 ms; "
        "last seen: GET http://a-1.edge.test/ at 10.88.7.8:80: 503 from a-1 (1 ms)"
    )
