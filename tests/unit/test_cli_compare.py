"""Two runs side by side: the same verdicts are told apart from different ones, and times stand beside each other."""

import json
from pathlib import Path
from typing import Any

import pytest

from edgegate.cli import main
from edgegate.report.comparison import MISSING, compare

Captured = pytest.CaptureFixture[str]


def report(verdicts: dict[str, dict[str, str]], *, p50: float | None = 1.0, **running: str) -> dict[str, Any]:
    """Return a report: gate to its tests' verdicts; each gate has one stage."""
    order = ("fail", "inconclusive", "waived", "pass")
    row = {"stage": "accepted", "p50": p50, "p95": 2.0, "max": 3.0}
    table = {"during": "", "budgets": "reference", "measures": ["p50", "max"], "rows": [row]}
    gates = [
        {
            "name": name,
            "verdict": next(one for one in order if one in tests.values()),
            "seconds": 10.0,
            "tests": [f"e2e/{name}.py::{test}" for test in tests],
            "stages": [table],
        }
        for name, tests in verdicts.items()
    ]
    said = [
        {"id": f"e2e/{name}.py::{test}", "verdict": one}
        for name, tests in verdicts.items()
        for test, one in tests.items()
    ]
    return {"schema": 1, "gates": gates, "tests": said, "versions": {"running": running}}


SOUND = {"oidc": {"a": "pass", "b": "pass"}, "guard": {"c": "pass"}}


def test_the_same_is_the_same() -> None:
    both = compare(report(SOUND, envoy="1.38.3"), report(SOUND, envoy="1.38.3"))
    assert not both.differs
    assert [gate.verdicts for gate in both.gates] == [("pass", "pass")] * 2
    assert (both.versions, both.as_data()["same"]) == ({}, True)


def test_a_gate_that_is_red_in_one_names_its_tests() -> None:
    both = compare(report(SOUND), report(SOUND | {"oidc": {"a": "pass", "b": "fail"}}))
    assert both.differs
    oidc, guard = both.gates
    assert (oidc.verdicts, dict(oidc.tests)) == (("pass", "fail"), {"e2e/oidc.py::b": ("pass", "fail")})
    assert not guard.differs


def test_gates_that_are_red_for_different_reasons_are_not_the_same() -> None:
    one, other = ({"oidc": {"a": red, "b": green}} for red, green in (("fail", "pass"), ("pass", "fail")))
    both = compare(report(one), report(other))
    assert (both.gates[0].verdicts, both.differs) == (("fail", "fail"), True)


def test_a_gate_that_only_one_has_differs() -> None:
    both = compare(report({"oidc": {"a": "pass"}}), report(SOUND | {"oidc": {"a": "pass"}}))
    assert [(gate.name, gate.verdicts, dict(gate.tests)) for gate in both.gates] == [
        ("oidc", ("pass", "pass"), {}),
        ("guard", (MISSING, "pass"), {}),
    ]
    assert both.differs


def test_a_test_that_only_one_has_differs() -> None:
    both = compare(report({"oidc": {"a": "pass"}}), report({"oidc": {"a": "pass", "b": "pass"}}))
    assert (both.gates[0].tests, both.differs) == ({"e2e/oidc.py::b": (MISSING, "pass")}, True)


def test_times_stand_beside_each_other_and_do_not_decide() -> None:
    both = compare(report({"oidc": {"a": "pass"}}), report({"oidc": {"a": "pass"}}, p50=None))
    assert [(row.stage, row.measure, row.seconds) for row in both.stages] == [
        ("accepted", "p50", (1.0, None)),
        ("accepted", "max", (3.0, 3.0)),
    ]
    assert not both.differs


def test_other_versions_are_told() -> None:
    both = compare(report(SOUND, envoy="1.38.3", etcd="3.6.16"), report(SOUND, envoy="1.37.0"))
    assert both.versions == {"envoy": ("1.38.3", "1.37.0"), "etcd": ("3.6.16", "")}


@pytest.fixture
def runs(tmp_path: Path) -> tuple[Path, Path]:
    """Return the folder of a sound run, and the report of another that was red."""
    for name, content in (("a", report(SOUND)), ("b", report(SOUND | {"guard": {"c[x]": "fail"}}, envoy="1.37.0"))):
        (tmp_path / name).mkdir()
        (tmp_path / name / "report.json").write_text(json.dumps(content))
    return tmp_path / "a", tmp_path / "b" / "report.json"


def test_the_command_ends_with_1_when_verdicts_differ(runs: tuple[Path, Path], capsys: Captured) -> None:
    assert main(["compare", *map(str, runs)]) == 1
    said = capsys.readouterr().out
    assert "the verdicts differ" in said
    assert "c[x]" in said
    assert "running differently: envoy – · 1.37.0" in said
    assert main(["compare", str(runs[0]), str(runs[0])]) == 0
    assert "the verdicts are the same" in capsys.readouterr().out


def test_a_program_gets_one_object(runs: tuple[Path, Path], capsys: Captured) -> None:
    main(["compare", "--json", *map(str, runs)])
    data = json.loads(capsys.readouterr().out)
    assert (data["same"], [gate["verdicts"] for gate in data["gates"]]) == (False, [["pass", "pass"], ["pass", "fail"]])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "cannot be read: No such file or directory"),
        ("{", "is no report.json"),
        ("[]", "is no report.json"),
        ('{"schema": 7}', "has schema 7, this edgegate reads 1"),
        ('{"schema": 1}', "is no whole report.json: it lacks 'gates'"),
        ('{"schema": 1, "gates": 5}', "is no whole report.json: 'int' object is not iterable"),
    ],
)
def test_what_is_no_report_is_refused(tmp_path: Path, content: str | None, said: str, capsys: Captured) -> None:
    file = tmp_path / "report.json"
    if content is not None:
        file.write_text(content)
    assert main(["compare", str(tmp_path), str(file)]) == 2
    assert f"{tmp_path}" in (error := capsys.readouterr().err)
    assert f"{said}. Accepted: the folder of a run" in error


def test_two_runs_without_gates_are_not_the_same(tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "report.json").write_text(json.dumps(report({})))
    main(["compare", str(tmp_path), str(tmp_path)])
    assert "neither run has a gate, so there is nothing to compare" in capsys.readouterr().out


def test_names_are_no_markup(tmp_path: Path, capsys: Captured) -> None:
    for name, running in (("a", {"[/red]": "1"}), ("b", {})):
        content = report({"gate[/b]": {"x[/i]": "pass"}}) | {"versions": {"running": running}}
        (tmp_path / name).write_text(json.dumps(content))
    assert main(["compare", str(tmp_path / "a"), str(tmp_path / "b")]) == 0
    assert "gate[/b]" in (said := capsys.readouterr().out)
    assert "running differently: [/red] 1 · –" in said
