"""A broken surrounding is neither a pass nor a failure: own letter, own section, own exit status."""

import xml.etree.ElementTree as ET
from collections.abc import Callable
from typing import Any

import pytest

from sample import Suite

LATE = "HTTPRoute a/route accepted: not within 30.00 s; last seen: Accepted=False"


def test_letter_section_and_status(suite: Suite) -> None:
    """A wait that runs out is inconclusive, and the run says 75."""
    result = suite("verdicts", only="test_late test_with_edge")

    assert result.ret == 75
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        ["I", "*= inconclusive: the surroundings broke =*", "test_verdicts.py::test_late (call)", f"    {LATE}"]
    )
    result.stdout.fnmatch_lines(["*1 passed, 1 inconclusive*"])


def test_word_when_verbose(suite: Suite) -> None:
    suite("verdicts", "-v", only="test_late").stdout.fnmatch_lines(["*test_late INCONCLUSIVE*"])


@pytest.mark.parametrize(
    ("test", "status"),
    [
        ("test_late_in_a_group", 75),
        ("test_late_as_cause", 75),
        ("test_late_in_teardown", 75),
        ("test_poison_not_live", 75),
        ("test_capability_missing", 75),
        ("test_skipped", 75),
        ("test_dark_then_lab_gone", 75),
        ("test_mixed_group", 1),
        ("test_asserted_from_late", 1),
        ("test_dark_then_late", 1),
        ("test_promise_broken", 1),
    ],
)
def test_what_counts_as_surroundings(suite: Suite, test: str, status: int) -> None:
    """A group counts if all of it does, a cause counts unless somebody asserted, findings beat a late wait only."""
    assert suite("verdicts", only=test).ret == status


def test_failure_wins(suite: Suite) -> None:
    result = suite("verdicts", only="test_late test_unit_wrong")

    assert result.ret == 1
    result.stdout.fnmatch_lines(["*1 failed, 1 inconclusive*"])


def test_collection_error_is_no_75(suite: Suite, pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_bad="import nothing_of_that_name")

    assert suite("verdicts", "--continue-on-collection-errors", "-k", "test_late or bad").ret == 1


def test_nothing_inconclusive_is_0(suite: Suite) -> None:
    assert suite("verdicts", only="test_unit test_sound").ret == 0


def test_root_cause_is_shown_once(suite: Suite) -> None:
    """When the edge does not come up, the first test has the whole text and the others point to it."""
    result = suite("verdicts", only="test_with_edge test_planes test_sound", no_lab=True)

    assert result.ret == 75
    text = result.stdout.str()
    assert text.count("Set user.max_user_namespaces to 10000.") == 1
    assert "Traceback" not in text
    first = "test_verdicts.py::test_with_edge"
    result.stdout.fnmatch_lines(
        [f"    the sandbox cannot be made: no user namespaces. (the full error is with {first})"]
    )


def test_findings_before_a_dead_lab_are_told(suite: Suite) -> None:
    result = suite("verdicts", only="test_dark_then_lab_gone")

    result.stdout.fnmatch_lines(["    the supervisor is gone", "    Before that, the gate had found:"])
    result.stdout.fnmatch_lines(["*traffic: tenant-a https: expected 200, seen refused"])


def test_skipped_gate_says_so(suite: Suite) -> None:
    suite("verdicts", only="test_skipped").stdout.fnmatch_lines(["    the gate was skipped: *not today"])


def test_junit_never_shows_a_pass(suite: Suite, pytester: pytest.Pytester) -> None:
    """Readers of junit know no third word: it is an error or a failure whose message begins with ours."""
    suite("verdicts", "--junitxml=junit.xml", only="test_late test_late_in_teardown")

    cases = ET.parse(pytester.path / "junit.xml").iter("testcase")
    messages = [one.get("message", "") for case in cases for one in case if one.tag in ("failure", "error")]
    assert [message.partition("inconclusive: ")[2].partition("\n")[0] for message in messages] == [
        LATE,
        'the supervisor is gone"',
    ]


def test_exit_first_stops_at_an_inconclusive_test(suite: Suite) -> None:
    result = suite("verdicts", "-x", only="test_late test_with_edge")

    assert result.ret == 75
    assert "test_with_edge" not in result.stdout.str()


def test_teardown_fault_of_a_failed_test_is_told(
    suite: Suite, pytester: pytest.Pytester, report: Callable[[], Any]
) -> None:
    """The failure decides; the fault after it is not lost."""
    pytester.makepyfile(
        test_both="""
        import pytest
        from edgegate.errors import LabFault

        @pytest.fixture
        def gone(edge):
            yield
            raise LabFault("the supervisor is gone")

        def test_it(gone):
            assert 1 == 2
        """
    )
    result = suite("verdicts", "test_both.py", only="test_with_edge")

    assert result.ret == 1
    result.stdout.fnmatch_lines(["test_both.py::test_it (teardown)", "    the supervisor is gone"])
    (test,) = (one for one in report()["tests"] if one["id"] == "test_both.py::test_it")
    assert (test["verdict"], test["faults"][0]["phase"]) == ("fail", "teardown")
