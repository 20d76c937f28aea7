"""Under -n there is one edge for all workers, and the verdict is the same as without."""

from collections.abc import Callable
from typing import Any

import pytest

from sample import Suite


def _lines(pytester: pytest.Pytester, name: str) -> list[str]:
    return (pytester.path / name).read_text().splitlines()


def test_workers_share_the_run_key_and_each_gives_its_lease_back(suite: Suite, pytester: pytest.Pytester) -> None:
    result = suite("turns", "-n2", "--dist=each", "-k", "beside")

    assert result.ret == 0
    assert len(set(_lines(pytester, "opened"))) == 1
    assert len(set(_lines(pytester, "closed"))) == 2
    assert result.stdout.str().count("edge ready after") == 1


def test_verdicts_reach_the_controller(suite: Suite, report: Callable[[], Any]) -> None:
    """Findings, faults and bundles made on a worker are in the one report."""
    result = suite("verdicts", "-n2", only="test_dark test_late test_sound")

    assert result.ret == 1
    result.stdout.fnmatch_lines(["*1 failed, 1 passed, 1 inconclusive*"])
    told = {one["id"].partition("::")[2]: one for one in report()["tests"]}
    assert {name: one["verdict"] for name, one in told.items()} == {
        "test_dark": "fail",
        "test_late": "inconclusive",
        "test_sound": "pass",
    }
    assert [one["source"] for one in told["test_dark"]["findings"]] == ["data plane", "traffic"]
    assert told["test_late"]["bundle"]


def test_inconclusive_is_75(suite: Suite) -> None:
    assert suite("verdicts", "-n2", only="test_late test_with_edge test_planes").ret == 75


def test_edge_that_does_not_come_up_is_tried_once(suite: Suite, pytester: pytest.Pytester) -> None:
    """Not once a worker: the other worker points to the test that shows the error."""
    result = suite("turns", "-n2", "-k", "beside", no_lab=True)

    assert result.ret == 75
    assert len(_lines(pytester, "opened")) == 1
    assert result.stdout.str().count("Set user.max_user_namespaces to 10000.") == 1
    result.stdout.fnmatch_lines(["    the edge did not come up: * (the full error is with test_turns.py::test_beside*"])


def test_crash_of_a_worker(suite: Suite, report: Callable[[], Any]) -> None:
    """The rest runs on, the run fails, and the gate whose test died is not shown as passed."""
    result = suite("crash", "-n2")

    assert result.ret == 1
    result.stdout.fnmatch_lines(["*1 failed, 6 passed*"])
    (gate,) = (one for one in report()["gates"] if one["name"] == "crash")
    assert gate["verdict"] == "fail"


def test_exclusive_tests_come_last(suite: Suite, pytester: pytest.Pytester) -> None:
    """They keep every worker waiting; their place in the file does not count, and without workers it does."""
    for workers, last in (("-n1", ["end alone-0", "end alone-1"]), ("-n0", ["end beside-8", "end beside-9"])):
        assert suite("turns", workers).ret == 0
        assert [line for line in _lines(pytester, "turns") if line.startswith("end")][-2:] == last


def test_exclusive_tests_run_alone(suite: Suite, pytester: pytest.Pytester) -> None:
    """Between the begin and the end of an exclusive test, no other edge test begins or ends."""
    assert suite("turns", "-n3").ret == 0

    turns = _lines(pytester, "turns")
    for name in ("alone-0", "alone-1"):
        assert turns[turns.index(f"begin {name}") + 1] == f"end {name}"
