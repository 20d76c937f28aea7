"""An Envoy that ends by itself is a finding of the test that ran, however soon it runs again."""

from collections.abc import Callable
from typing import Any

import pytest

from sample import Suite

STORY = "*data plane: Envoy of envoy-1: expected runs on, seen ended by itself once: status 139, SIGSEGV"


@pytest.mark.parametrize(
    ("first", "outcomes"),
    [
        ("test_unseen", {"failed": 1, "passed": 1}),
        ("test_not_back", {"failed": 1, "passed": 1}),
        ("test_undoes", {"passed": 2, "errors": 1}),
    ],
)
def test_of_the_test_that_ran(suite: Suite, first: str, outcomes: dict[str, int]) -> None:
    """Nothing else has to be wrong, and the next test has nothing to do with it."""
    result = suite("crashing", only=f"{first} test_another")

    assert result.ret == 1
    result.stdout.fnmatch_lines([STORY])
    assert result.parseoutcomes() == outcomes


def test_without_a_notebook(suite: Suite) -> None:
    """A test that has no gate fails too."""
    result = suite("crashing", only="test_without_a_notebook test_another")

    assert result.ret == 1
    result.stdout.fnmatch_lines(["*Envoy of envoy-1: expected that it runs on, ended by itself once*"])


def test_seen_while_tidying_up(suite: Suite, report: Callable[[], Any]) -> None:
    """It is evidence of the test as well, and the gate has failed."""
    suite("crashing", only="test_undoes")

    (test,) = report()["tests"]
    assert test["verdict"] == "fail"
    assert [one["subject"] for one in test["findings"]] == ["Envoy of envoy-1"]
