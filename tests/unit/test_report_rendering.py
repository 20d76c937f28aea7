"""Terminal, page and junit.xml are made from report.json's content, whatever is in it."""

import xml.etree.ElementTree as ET
from typing import Any

from edgegate.report import junit, page, terminal
from edgegate.report.gate import Evidence

NASTY = '</style><b>\x1b[31m & "quoted" \''


def _test(name: str, verdict: str, reason: str | None = None, **more: Any) -> dict[str, Any]:
    faults = [{"phase": "setup", "reason": reason}] if verdict == "inconclusive" else []
    told = {"seconds": 1.0, "phase": None, "bundle": None, "again": None, "gate": "g", "faults": faults, "waiver": None}
    return {"id": f"test_x.py::{name}", "verdict": verdict, "reason": reason, **Evidence().as_data(), **told, **more}


def _document(*tests: dict[str, Any], **more: Any) -> dict[str, Any]:
    verdict = tests[0]["verdict"] if tests else None
    gates = [
        {
            "name": "g",
            "verdict": verdict,
            "seconds": 1.0,
            "tests": [one["id"] for one in tests],
            "again": None,
            "stages": [],
        }
    ]
    return {
        "edgegate": "0.1.0",
        "verdict": verdict,
        "exit_status": 0,
        "started": "2026-01-01T00:00:00+00:00",
        "seconds": 2.5,
        "settings": [],
        "versions": {"asked": {}, "running": {}},
        "edge": {"ready_seconds": None, "how": None},
        "gates": gates if tests else [],
        "waivers": [],
        "tests": list(tests),
        **more,
    }


class Paper:
    """A terminal that remembers."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def write_sep(self, sep: str, title: str | None = None, fullwidth: int | None = None, **markup: bool) -> None:
        self.lines.append(f"{sep} {title}")

    def write_line(self, line: str | bytes, **markup: bool) -> None:
        self.lines.append(str(line))


def _written(document: dict[str, Any]) -> list[str]:
    paper = Paper()
    terminal.summary(paper, document, "out")
    return paper.lines


def test_many_tests_with_one_reason_are_one_paragraph() -> None:
    lines = _written(_document(*(_test(f"test_{number}", "inconclusive", "no lab\nfix it") for number in range(100))))

    assert lines[:7] == [
        "= inconclusive: the surroundings broke",
        "test_x.py::test_0 (setup)",
        "test_x.py::test_1 (setup)",
        "test_x.py::test_2 (setup)",
        "and 97 more for the same reason",
        "    no lab",
        "    fix it",
    ]


def test_nothing_is_written_without_edge_tests() -> None:
    assert _written(_document()) == []


def test_versions_nobody_knows() -> None:
    assert "running: nothing known" in _written(_document(_test("a", "pass")))


def test_page_escapes() -> None:
    text = page.render(_document(_test("a", "fail", NASTY, notes=[NASTY], again=NASTY)))

    assert NASTY not in text
    assert text.count("</style>") == 1


def test_page_of_a_run_without_edge_tests() -> None:
    text = page.render(_document())

    assert "No test used the edge." in text
    assert 'class="badge none"' in text


def test_page_shows_stages_on_one_scale() -> None:
    text = page.render(_document(_test("a", "pass", timings={"accepted": 0.25, "programmed": 1.0, "nothing": 0.0})))

    assert all(f'style="width:{width}"' in text for width in ("25.0%", "100.0%", "0.0%"))


def test_page_shows_which_phase_was_wrong() -> None:
    finding = {"source": "traffic", "during": "cold", "subject": "a", "expected": "200", "seen": "404"}

    text = page.render(_document(_test("a", "fail", findings=[finding], phases=["warm", "cold"])))

    assert '<span class="pass">warm</span> → <span class="fail">cold</span>' in text


def test_page_compares_asked_with_running() -> None:
    versions = {"asked": {"envoy": {"version": "1.38.3", "origin": "pins.toml"}}, "running": {"envoy": "1.37.0"}}

    text = page.render(_document(versions=versions))

    assert "<td>envoy</td><td>1.38.3</td><td>pins.toml</td><td>1.37.0</td>" in text


def test_junit_is_well_formed() -> None:
    """Whatever a log line holds; a colour's escape is no XML."""
    (suite,) = ET.fromstring(junit.render(_document(_test(NASTY, "fail", f"first {NASTY}\nsecond"))))

    (case,) = suite
    assert case.get("classname") == "g"
    (failure,) = case
    assert failure.get("message", "").startswith('first </style><b>\N{REPLACEMENT CHARACTER}[31m & "quoted" \'')
    assert str(failure.text).endswith("second")


def test_what_runs_unlike_what_is_asked_for_is_told() -> None:
    """An edge that somebody else runs has the versions that it has."""
    asked = {name: {"version": version} for name, version in (("envoy", "1.38.3"), ("etcd", "3.6.16"))}
    edge = {"seconds": 2.0, "how": "attached", "versions": {"envoy": "1.37.0", "cert-manager": "1.21.2"}}
    first, second = terminal.edge_is_up(edge, asked).splitlines()
    assert first == "edge ready after 2.00 s (attached), running cert-manager 1.21.2, envoy 1.37.0"
    assert second == "unlike what is asked for: envoy 1.37.0 instead of 1.38.3"
    assert terminal.edge_is_up({**edge, "versions": {"envoy": "1.38.3"}}, asked).count("\n") == 0


def test_what_did_not_pass_stands_before_all_that_did() -> None:
    idle = {"name": "w", "gate": "g", "reason": "old", "link": "", "expires": "2027-01-01", "used": []}
    text = page.render(_document(_test("good", "pass"), _test("bad", "fail", "broken"), waivers=[idle]))

    places = [text.index(part) for part in ("What did not pass", "test_x.py::bad", "Passed", "test_x.py::good")]
    assert places == sorted(places)
    assert "1 waiver that spared no test of this run" in text[places[-1] :]
    assert "<h2>Waivers</h2>" not in text
