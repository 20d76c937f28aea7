"""An edge that breaks while tests run: one root cause, not a heap of failures."""

import pytest

from sample import Suite

LOST = "    pebble of the lab ended with status -9 while tests ran, so what they saw tells nothing*"


@pytest.mark.parametrize("first", ["test_breaks[part-lost]", "test_breaks_unseen[part-lost]", "test_set_up"])
def test_one_root_cause(suite: Suite, first: str) -> None:
    """What its surroundings did to a test is no finding, and later tests do not wait for what cannot come."""
    result = suite("breaking", only=f"{first} test_another test_unit")

    assert result.ret == 75
    result.assert_outcomes(passed=1)
    assert str(result.stdout).count("its last words") == 1
    result.stdout.fnmatch_lines([LOST, "*its last words*"])
    result.stdout.no_fnmatch_line("*certificate: not within*")


@pytest.mark.parametrize("first", ["test_breaks[crashed]", "test_breaks_unseen[crashed]"])
def test_crash_under_test(suite: Suite, first: str) -> None:
    """The end of a process under test is a finding of the test that ran, and the rest is inconclusive."""
    result = suite("breaking", only=f"{first} test_another")

    assert result.ret == 1
    result.stdout.fnmatch_lines(["*data plane: pebble: expected runs, seen ended with status -9:*", "*its last words*"])
    result.stdout.fnmatch_lines(["*1 failed, 1 inconclusive*"])
