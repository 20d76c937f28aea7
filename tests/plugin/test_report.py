"""What a run leaves: the story of a failure, the verdict table, report.json, report.html and a bundle."""

import os
import xml.etree.ElementTree as ET
from collections.abc import Callable
from typing import Any

import pytest

from edgegate.report.folder import edgegate_version
from sample import Suite

STORY = """\
gate isolation: FAIL on Envoy Gateway 1.8.3 × Envoy 1.37.0
poison    a valid policy on HTTPRoute b/route (live: 302 to the provider)
affected  tenant-a https
  traffic: tenant-a https: expected 200, seen connection reset
  data plane: listener 443: expected 0 rejected updates, seen 1: configuration is frozen
but       status looked right: do not trust it alone here
again     pytest test_verdicts.py::test_dark --edge-keep --edge-set envoy=1.37.0 --edge-limit converge=4s"""


def test_story_of_a_failure(suite: Suite) -> None:
    """All findings in one failure, without a traceback: what broke, for whom, which pair, how to see it again."""
    result = suite("verdicts", "--edge-set=envoy=1.37.0", "--edge-limit=converge=4s", only="test_dark")

    result.stdout.fnmatch_lines(STORY.replace("[", "[[]").splitlines(), consecutive=True)
    assert "Traceback" not in result.stdout.str()


def test_wait_after_findings_is_part_of_the_story(suite: Suite) -> None:
    result = suite("verdicts", only="test_dark_then_late")

    result.stdout.fnmatch_lines(
        ["  traffic: tenant-a https: expected 200, seen 404", "then      recovery: not within 30.00 s; last seen: 404"]
    )


def test_promise_that_is_late(suite: Suite) -> None:
    """Inside `gate.must`, a wait that runs out is the system's fault."""
    result = suite("verdicts", only="test_promise_broken")

    result.stdout.fnmatch_lines(
        ["  status: policy b/oidc: expected Accepted=False that names the secret within 10.00 s, seen Accepted=True"]
    )


def test_table_of_verdicts(suite: Suite) -> None:
    """Reds have what an engineer needs first; the last lines say what ran and where the report is."""
    result = suite("verdicts", "--edge-run-dir=out", only="test_sound test_dark test_poison_not_live test_with_edge")

    result.stdout.fnmatch_lines(
        [
            "*= edge verdicts =*",
            "isolation  FAIL          0 of 2 passed *",
            "    poison: a valid policy on HTTPRoute b/route",
            "    affected: tenant-a https",
            "    diagnostics: out/diagnostics/test_verdicts.py-test_dark-*",
            "    again: pytest test_verdicts.py::test_dark test_verdicts.py::test_poison_not_live --edge-keep",
            "sound      PASS          1 of 1 passed *",
            "(no gate)  PASS          1 of 1 passed *",
            "running: envoy 1.37.0, envoy-gateway 1.8.3",
            "report: out/report.html",
        ]
    )


def test_command_names_folder_and_ini_file(suite: Suite, pytester: pytest.Pytester) -> None:
    """The command works where it says: in the root folder, with the ini file that was given."""
    root = pytester.path
    suite("verdicts", only="test_unit")
    pytester.makefile(".ini", other="[pytest]\n")
    below = pytester.mkdir("below")
    os.chdir(below)

    result = pytester.runpytest("-c", "../other.ini", "--rootdir=..", "../test_verdicts.py::test_dark")

    command = f"cd {root} && pytest test_verdicts.py::test_dark --edge-keep -c {root}/other.ini --rootdir {root}"
    result.stdout.fnmatch_lines([f"again     {command}", f"    again: {command}"])


def test_report_json(suite: Suite, report: Callable[[], Any]) -> None:
    suite("verdicts", "--edge-set=envoy=1.37.0", only="test_sound test_dark")

    told = report()
    assert (told["schema"], told["edgegate"], told["verdict"], told["exit_status"]) == (
        1,
        edgegate_version(),
        "fail",
        1,
    )
    assert told["versions"]["asked"]["envoy"] == {"version": "1.37.0", "origin": "--edge-set"}
    assert told["versions"]["running"] == {"envoy-gateway": "1.8.3", "envoy": "1.37.0"}
    assert told["edge"]["usage"] == [{"name": "envoy", "memory_mib": 64.0, "cpu_seconds": 1.5}]
    assert {"name": "set envoy", "value": "1.37.0", "origin": "--edge-set"} in told["settings"]
    assert [(one["name"], one["verdict"]) for one in told["gates"]] == [("isolation", "fail"), ("sound", "pass")]
    sound, dark = told["tests"]
    assert sound["timings"] == {"accepted": 0.25}
    assert sound["tables"] == [{"title": "answers", "columns": ["tenant", "status"], "rows": [["a", "200"]]}]
    assert dark["findings"][1] == {
        "source": "traffic",
        "subject": "tenant-a https",
        "expected": "200",
        "seen": "connection reset",
        "during": "",
    }


def test_page_needs_no_network(suite: Suite, pytester: pytest.Pytester) -> None:
    suite("verdicts", only="test_sound test_dark")

    (page,) = pytester.path.glob(".edge/runs/*/report.html")
    text = page.read_text()
    assert "configuration is frozen" in text
    assert '<td>envoy</td><td class="number">64.0</td><td class="number">1.5</td>' in text
    assert "default-src 'none'" in text
    # Addresses of issues stand in it as text; nothing may be loaded.
    assert not any(word in text for word in ("<script", "src=", "<link", "@import", "url(", 'href="http'))


def test_junit_in_the_run_folder(suite: Suite, pytester: pytest.Pytester) -> None:
    """Red is a failure, inconclusive is an error that says so, and both are counted."""
    suite("verdicts", "--edge-run-dir=out", only="test_sound test_dark test_late")

    (tests,) = ET.parse(pytester.path / "out" / "junit.xml").getroot()
    assert {name: tests.get(name) for name in ("tests", "failures", "errors")} == {
        "tests": "3",
        "failures": "1",
        "errors": "1",
    }
    marks = {case.get("name"): [(one.tag, one.get("message", "")[:27]) for one in case] for case in tests}
    assert marks == {
        "test_sound": [],
        "test_dark": [("failure", "gate isolation: FAIL on Env")],
        "test_late": [("error", "inconclusive: HTTPRoute a/r")],
    }


def test_bundle(suite: Suite, pytester: pytest.Pytester) -> None:
    """The failure, what the sources say without secrets, and which source had trouble."""
    result = suite("verdicts", only="test_dark test_late")

    assert result.ret == 1
    (folder,) = pytester.path.glob(".edge/runs/*/diagnostics/test_verdicts.py-test_dark-*")
    assert "expected 200, seen connection reset" in (folder / "failure.txt").read_text()
    assert (folder / "proxy.log").read_text() == "client-secret: [redacted]\nlistener is frozen\n"
    assert (folder / "sources-failed.txt").read_text() == "admin.json: ConnectionRefusedError: nobody listens\n"


def test_bundle_that_cannot_be_written_hides_nothing(suite: Suite, pytester: pytest.Pytester) -> None:
    (pytester.path / "out").mkdir()
    (pytester.path / "out" / "run.json").write_text(f'{{"schema": 1, "edgegate": "{edgegate_version()}"}}')
    (pytester.path / "out" / "diagnostics").write_text("no folder")

    result = suite("verdicts", "--edge-run-dir=out", only="test_dark")

    assert result.ret == 1
    result.stdout.fnmatch_lines(["gate isolation: FAIL on*", "*- diagnostics -*", "could not be written: *"])


def test_pointer_has_no_bundle(suite: Suite, pytester: pytest.Pytester) -> None:
    suite("verdicts", only="test_with_edge test_planes", no_lab=True)

    assert len(list(pytester.path.glob(".edge/runs/*/diagnostics/*"))) == 1


def test_run_folder_of_another_version(suite: Suite, pytester: pytest.Pytester) -> None:
    (pytester.path / "out").mkdir()
    (pytester.path / "out" / "run.json").write_text('{"schema": 1, "edgegate": "0.0.9"}')

    result = suite("verdicts", "--edge-run-dir=out", only="test_sound")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["ERROR: */out holds a run of edgegate 0.0.9 (schema 1), this is edgegate *--edge-run-dir*"]
    )
    assert not (pytester.path / "opened").exists()


def test_run_folder_that_cannot_be_made(suite: Suite, pytester: pytest.Pytester) -> None:
    """Nobody has named it, so it is made when there is something to write; the error tells how to name one."""
    (pytester.path / ".edge").write_text("in the way")

    result = suite("verdicts", only="test_dark")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        [
            "ERROR: */.edge/runs/* is where reports and diagnostics go, and it cannot be written to: Not a directory. "
            "Give another folder with --edge-run-dir."
        ]
    )


def test_run_folder_is_used_again(suite: Suite, pytester: pytest.Pytester) -> None:
    """The second run of the same version replaces the report of the first."""
    suite("verdicts", "--edge-run-dir=out", only="test_dark")
    result = suite("verdicts", "--edge-run-dir=out", only="test_sound")

    assert result.ret == 0
    assert '"verdict": "pass"' in (pytester.path / "out" / "report.json").read_text()
