"""A waived gate runs and does not make the run red, unless it passes or its waiver has expired."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sample import Suite

WAIVER = """\
[waiver.cold-start]
gate = "{gate}"
tests = {tests}
when = {{ envoy = "{envoy}" }}
reason = "Envoy needs a global configuration for OIDC."
link = "https://example.com/issues/194"
expires = {day}
"""
NEVER, LONG_AGO = "9999-12-31", "2020-01-31"


def _text(day: str = NEVER, *, gate: str = "isolation", tests: str = '["*::test_dark"]', envoy: str = "<1.38") -> str:
    return WAIVER.format(day=day, gate=gate, tests=tests, envoy=envoy)


@pytest.fixture
def waived(pytester: pytest.Pytester) -> Callable[..., str]:
    """Write a file of waivers and return the flag for it."""

    def write(*day: str, **more: str) -> str:
        (pytester.path / "mine.toml").write_text(_text(*day, **more))
        return "--edge-waivers=mine.toml"

    return write


def test_a_waived_failure_is_not_red(
    suite: Suite, waived: Callable[..., str], report: Callable[[], Any], pytester: pytest.Pytester
) -> None:
    result = suite("verdicts", waived(), only="test_dark test_sound")

    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "W*",
            "*= waived: known to fail =*",
            "test_verdicts.py::test_dark",
            "    cold-start, until 9999-12-31: Envoy needs a global configuration for OIDC.",
            "    https://example.com/issues/194",
            "    diagnostics: .edge/runs/*",
            "isolation  WAIVED *0 of 1 passed*",
            "*1 passed, 1 waived*",
        ]
    )
    told = report()
    assert told["verdict"] == "waived"
    assert [(one["name"], one["used"]) for one in told["waivers"]] == [("cold-start", ["test_verdicts.py::test_dark"])]
    (test,) = (one for one in told["tests"] if one["gate"] == "isolation")
    assert (test["verdict"], test["waiver"]["name"], len(test["findings"])) == ("waived", "cold-start", 2)
    assert "tenant-a https: expected 200, seen connection reset" in test["reason"]
    assert (Path(next(pytester.path.glob(".edge/runs/*"))) / test["bundle"] / "failure.txt").exists()


def test_its_word_is_shown(suite: Suite, waived: Callable[..., str]) -> None:
    suite("verdicts", "-v", waived(), only="test_dark").stdout.fnmatch_lines(["*test_dark WAIVED*"])


def test_it_is_skipped_for_readers_of_junit(
    suite: Suite, waived: Callable[..., str], pytester: pytest.Pytester
) -> None:
    suite("verdicts", waived(), only="test_dark")

    (junit,) = pytester.path.glob(".edge/runs/*/junit.xml")
    assert 'failures="0" errors="0" skipped="1"' in junit.read_text()
    assert '<skipped message="waived: gate isolation: FAIL on' in junit.read_text()


def test_the_page_lists_waivers(suite: Suite, waived: Callable[..., str], pytester: pytest.Pytester) -> None:
    suite("verdicts", waived(), only="test_dark")

    (page,) = pytester.path.glob(".edge/runs/*/report.html")
    assert "<h2>Waivers</h2>" in page.read_text()
    assert "cold-start, until 9999-12-31: Envoy needs a global configuration for OIDC." in page.read_text()


def test_a_run_is_not_stopped_by_it(suite: Suite, waived: Callable[..., str]) -> None:
    result = suite("verdicts", "-x", waived(), only="test_dark test_sound")

    assert result.ret == 0
    result.stdout.fnmatch_lines(["*1 passed, 1 waived*"])


def test_one_that_is_no_longer_needed_is_red(
    suite: Suite, waived: Callable[..., str], report: Callable[[], Any]
) -> None:
    result = suite("verdicts", waived(gate="sound", tests="[]"), only="test_sound")

    assert result.ret == 1
    said = (
        "waiver cold-start is no longer needed: the test passed. Remove [[]waiver.cold-start], or narrow its tests to"
    )
    result.stdout.fnmatch_lines([f"*{said}*", "It says: Envoy needs a global configuration for OIDC. (https://*/194)"])
    (test,) = report()["tests"]
    assert (test["verdict"], test["waiver"]["name"]) == ("fail", "cold-start")


def test_one_that_has_expired_is_red(suite: Suite, waived: Callable[..., str]) -> None:
    result = suite("verdicts", waived(LONG_AGO), only="test_dark")

    assert result.ret == 1
    said = "waiver cold-start has expired on 2020-01-31. Repair what it is about and remove it, or decide anew and set*"
    result.stdout.fnmatch_lines([said, "*tenant-a https: expected 200, seen connection reset*"])


def test_one_that_has_expired_is_red_although_the_test_passes(suite: Suite, waived: Callable[..., str]) -> None:
    result = suite("verdicts", waived(LONG_AGO, gate="sound", tests="[]"), only="test_sound")

    assert result.ret == 1
    said = "waiver cold-start has expired on 2020-01-31, and the test passed. Remove [[]waiver.cold-start]."
    result.stdout.fnmatch_lines([said])


def test_its_condition_is_about_what_runs(suite: Suite, waived: Callable[..., str]) -> None:
    """The envoy of the double is 1.37.0."""
    assert suite("verdicts", waived(envoy=">=1.38"), only="test_dark").ret == 1


def test_what_is_inconclusive_is_not_waived(suite: Suite, waived: Callable[..., str]) -> None:
    assert suite("verdicts", waived(tests="[]"), only="test_poison_not_live").ret == 75


def test_among_workers(suite: Suite, waived: Callable[..., str], report: Callable[[], Any]) -> None:
    result = suite("verdicts", "-n2", waived(), only="test_dark test_sound")

    assert result.ret == 0
    result.stdout.fnmatch_lines(["*1 passed, 1 waived*"])
    assert report()["waivers"][0]["used"] == ["test_verdicts.py::test_dark"]


def test_the_file_beside_the_pins_is_found(suite: Suite, pytester: pytest.Pytester) -> None:
    from edgegate.resources import resource

    (pytester.path / "pins.toml").write_text(resource("pins.toml").read_text())
    (pytester.path / "waivers.toml").write_text(_text())

    assert suite("verdicts", "--edge-pins=pins.toml", only="test_dark").ret == 0


def test_a_malformed_file_stops_the_run(suite: Suite, pytester: pytest.Pytester) -> None:
    (pytester.path / "mine.toml").write_text("[waiver.x]\n")

    result = suite("verdicts", "--edge-waivers=mine.toml", only="test_dark")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: */mine.toml: waiver.x.gate is missing. Accepted: the name of a gate."])


def test_malformed_budgets_stop_the_run(suite: Suite, pytester: pytest.Pytester) -> None:
    (pytester.path / "mine.toml").write_text("")

    result = suite("verdicts", "--edge-slo=mine.toml", only="test_sound")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: */mine.toml: objective is missing. Accepted: a table [[]objective]."])


def test_the_same_files_are_named_to_run_it_again(
    suite: Suite, waived: Callable[..., str], report: Callable[[], Any]
) -> None:
    suite("verdicts", waived(), only="test_dark")

    assert report()["tests"][0]["again"].endswith("/mine.toml")
