"""Stages reach the report, the terminal and the exit status."""

from collections.abc import Callable
from typing import Any

import pytest

from sample import Suite


def test_late_stages_fail_their_gate(suite: Suite, report: Callable[[], Any], pytester: pytest.Pytester) -> None:
    result = suite("clocked", only="test_late test_in_time")

    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "*edge stages*",
            "convergence-burst: 20 subjects, reference fast one, burst of 20; seconds/budget:",
            "  programmed         p50 0.93/1.00     p95 0.93/1.50     max 0.93/2.50",
            "  first-trusted-200  p50 5.02/3.00     p95 7.42/4.00     max 7.72/5.00     OVER",
            "  record-programmed ate it for shop-19.example.test: 6.23 s after accepted instead of 1.50 s; waited for "
            "the queue of dnsrecordset-powerdns: 5.4 s, 1,503 before it; processor 31% busy, tasks waited for it*",
            "convergence: 1 subject, reference fast one; seconds/budget:",
            "  first-trusted-200  max 2.02/5.00",
        ]
    )
    told = report()
    late, sound = told["gates"]
    assert (late["verdict"], sound["verdict"]) == ("fail", "pass")
    (table,) = late["stages"]
    assert table["rows"][-1]["over"] == ["p50", "p95", "max"]
    subjects = next(one for one in told["tests"] if one["gate"] == "convergence-burst")["stages"][0]["subjects"]
    assert len(subjects) == 20
    assert {one["by"] for subject in subjects for one in subject["times"]} == {"probe", "watch of HTTPProxies"}
    (page,) = pytester.path.glob(".edge/runs/*/report.html")
    assert "Stages against budgets" in page.read_text()


def test_late_on_a_saturated_machine_is_inconclusive(suite: Suite) -> None:
    result = suite("clocked", only="test_busy")

    assert result.ret == 75
    result.stdout.fnmatch_lines(["    1 timing over budget, measured on a saturated machine:", "*  saturated"])


def test_a_finding_beats_the_doubt(suite: Suite) -> None:
    result = suite("clocked", only="test_busy_and_wrong")

    assert result.ret == 1
    result.stdout.fnmatch_lines(["doubt     first-trusted-200: max ≤ 5.00 s*"])


def test_a_stage_that_never_came_fails(suite: Suite) -> None:
    result = suite("clocked", only="test_never")

    assert result.ret == 1
    result.stdout.fnmatch_lines(["*certificate-ready  max never came    OVER"])


def test_growth(suite: Suite) -> None:
    result = suite("clocked", only="test_growth")

    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["convergence-growth: growth ≤ 2; seconds/budget:", "*record-programmed  p50 3.74/1.48     OVER"]
    )


def test_stages_cross_from_a_worker(suite: Suite, report: Callable[[], Any]) -> None:
    assert suite("clocked", "-n2", only="test_late test_in_time").ret == 1
    assert {len(one["stages"]) for one in report()["gates"]} == {1}
