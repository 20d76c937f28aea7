"""Gates are run in a pytest of their own, with exactly these words, and their report decides."""

import json
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from edgegate.cli import gates, main
from edgegate.cli.faults import FAULTS, Fault
from edgegate.cli.gates import GateRun
from edgegate.cli.talk import Talk
from edgegate.errors import EnvironmentFault, NoReport, UnknownGate, UsageFault
from edgegate.records import Verdict
from edgegate.resources import resource
from edgegate_operator import faults as operator_faults

Captured = pytest.CaptureFixture[str]


class FakePytest:
    """Stands for the pytest that runs a gate: notes its words and leaves a report."""

    def __init__(self) -> None:
        self.argv: list[list[str]] = []
        self.reports: list[dict[str, Any] | None] = []
        """What the next runs report, the last one again and again; None for no report."""

    def __call__(self, argv: list[str], **_: object) -> "subprocess.CompletedProcess[str]":
        """Run."""
        self.argv.append(argv)
        report = self.reports.pop(0) if len(self.reports) > 1 else self.reports[0]
        if report is None:
            return subprocess.CompletedProcess(argv, 4)
        folder = Path(argv[argv.index("--edge-run-dir") + 1])
        folder.mkdir(parents=True)
        (folder / "report.json").write_text(json.dumps(report))
        return subprocess.CompletedProcess(argv, 1)


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakePytest:
    made = FakePytest()
    monkeypatch.setattr("edgegate.cli.gates.subprocess.run", made)
    monkeypatch.chdir(tmp_path)
    for name in ("EDGEGATE_SET", "EDGEGATE_RUN_DIR"):
        monkeypatch.delenv(name, raising=False)
    return made


def _test(
    name: str, verdict: str, *findings: tuple[str, str], phases: str = "warm,after cold restart"
) -> dict[str, Any]:
    found = [{"during": phase, "subject": subject} for phase, subject in findings]
    return {
        "id": f"e2e/test_oidc_isolation.py::test_{name}",
        "verdict": verdict,
        "findings": found,
        "phases": phases.split(",") if phases else [],
    }


def _report(verdict: str, *tests: dict[str, Any], envoy: str = "1.38.3") -> dict[str, Any]:
    running = {"envoy-gateway": "1.8.3", "envoy": envoy}
    return {"verdict": verdict, "versions": {"running": running}, "tests": list(tests)}


GREEN = _report("pass", _test("valid_policy[HTTPRoute]", "pass"))
RED = _report(
    "fail",
    _test(
        "valid_policy[HTTPRoute]",
        "fail",
        ("after cold restart", "neighbour http"),
        ("after cold restart", "neighbour http"),
    ),
    envoy="1.37.0",
)
BROKEN = {"verdict": "inconclusive", "tests": [_test("valid_policy[HTTPRoute]", "inconclusive", phases="")]}


def test_a_gate_is_run_with_these_words_and_no_others(fake: FakePytest, tmp_path: Path, capsys: Captured) -> None:
    fake.reports = [GREEN]
    versions = {"envoy-gateway": "1.8.3", "envoy": "1.37.0"}
    options = ["-k", "valid_policy[HTTPRoute]"]
    run = gates.run_gate("oidc-isolation", versions, tmp_path / "run", Talk(as_json=False), options=options)
    words = [
        *("-m", "pytest", str(resource("e2e") / "test_oidc_isolation.py")),
        *("--edge-reuse", "never", "--edge-run-dir", str(tmp_path / "run"), "-p", "no:cacheprovider"),
        *("--edge-set", "envoy-gateway=1.8.3", "--edge-set", "envoy=1.37.0"),
        *("-k", "valid_policy[HTTPRoute]"),
    ]
    assert fake.argv == [[sys.executable, *words]]
    assert capsys.readouterr() == ("", f"$ {shlex.join(words[1:])}\n")
    assert (run.verdict, run.running) == (Verdict.PASS, {"envoy-gateway": "1.8.3", "envoy": "1.38.3"})


def test_every_gate_has_its_scenario() -> None:
    for gate in gates.GATES:
        assert gates.scenario_file(gate).is_file()


def test_every_gate_has_faults_that_can_be_planted() -> None:
    known = {fault.name for fault in operator_faults.known()}
    for gate in gates.GATES:
        assert FAULTS[gate]
        assert {name for fault in FAULTS[gate] for name in fault.operator} <= known


def test_a_defect_of_the_operator_is_planted_by_its_name() -> None:
    fault = Fault("late", "it is late", operator=("requeue-floor", "claim-kept"), keyword="burst")
    assert fault.options == ["--edge-fault", "requeue-floor", "--edge-fault", "claim-kept", "-k", "burst"]


def test_a_gate_that_does_not_exist() -> None:
    with pytest.raises(UnknownGate) as raised:
        gates.scenario_file("oidc")
    assert str(raised.value) == f"There is no gate 'oidc'. Gates: {', '.join(sorted(gates.GATES))}."
    assert isinstance(raised.value, UsageFault)


@pytest.mark.parametrize("text", [None, "{"])
def test_a_run_without_a_report(fake: FakePytest, tmp_path: Path, text: str | None) -> None:
    fake.reports = [None]
    if text is not None:
        (tmp_path / "report.json").write_text(text)
    with pytest.raises(NoReport) as raised:
        gates.run_gate("oidc-isolation", {}, tmp_path, Talk(as_json=True))
    assert str(raised.value) == (
        f"The run of gate oidc-isolation ended with status 4 and left no report in {tmp_path}. "
        f"Its output is above; run `pytest e2e` by hand to see more."
    )
    assert isinstance(raised.value, EnvironmentFault)


def test_an_edge_that_did_not_come_up_ran_nothing(tmp_path: Path) -> None:
    assert GateRun(tmp_path, BROKEN).running == {}
    assert GateRun(tmp_path, {"verdict": "fail", "versions": {"running": None}}).running == {}


PAIRS = ["--pair", "1.8.3:1.38.3", "--pair", "1.8.3:1.37.0"]


@pytest.mark.parametrize(
    ("reports", "status"),
    [([GREEN], 0), ([GREEN, RED], 1), ([BROKEN, GREEN], 75), ([BROKEN, RED], 1)],
)
def test_a_matrix_ends_with_its_worst_verdict(fake: FakePytest, reports: list[Any], status: int) -> None:
    fake.reports = reports
    assert main(["matrix", "oidc-isolation", *PAIRS, "--json"]) == status


def test_a_matrix_for_a_program(fake: FakePytest, tmp_path: Path, capsys: Captured) -> None:
    fake.reports = [GREEN, RED]
    main(["matrix", "oidc-isolation", *PAIRS, "--json", "--run-dir", str(tmp_path / "m")])
    told = json.loads(capsys.readouterr().out)
    assert told["gate"] == "oidc-isolation"
    good, bad = told["pairs"]
    assert good["asked"] == good["running"] == {"envoy-gateway": "1.8.3", "envoy": "1.38.3"}
    assert (bad["verdict"], bad["folder"]) == ("fail", f"{tmp_path}/m/1.8.3-1.37.0")
    cell = {"scenario": "valid_policy[HTTPRoute]", "verdict": "pass", "subjects": []}
    assert bad["cells"] == [
        {**cell, "phase": "warm"},
        {**cell, "phase": "after cold restart", "verdict": "fail", "subjects": ["neighbour http"]},
    ]


def test_a_matrix_for_a_person(fake: FakePytest, tmp_path: Path, capsys: Captured) -> None:
    scenario = "unusable_secret[in another namespace without grant-HTTPRoute]"
    fake.reports = [_report("fail", _test(scenario, "fail", ("warm", "neighbour [b] http"))), BROKEN]
    main(["matrix", "oidc-isolation", *PAIRS, "--run-dir", str(tmp_path / "m")])
    said = capsys.readouterr().out
    assert f"│ {scenario} │ warm               │ fail    │ neighbour [b] http │" in said
    assert "1 of 2" in said
    assert "1.37.0?" in said, "a version that nobody has seen running is marked"
    assert f"{tmp_path}/m/1.8.3-1.38.3/report.html" in said


def test_a_pair_without_a_report_costs_no_other_pair(fake: FakePytest, capsys: Captured) -> None:
    fake.reports = [None, GREEN]
    assert main(["matrix", "oidc-isolation", *PAIRS, "--json"]) == 75
    said = capsys.readouterr()
    told = json.loads(said.out)["pairs"]
    assert [(pair["verdict"], pair["running"] != {}, len(pair["cells"])) for pair in told] == [
        ("inconclusive", False, 0),
        ("pass", True, 2),
    ]
    assert "The run of gate oidc-isolation ended with status 4 and left no report in" in said.err


def test_the_words_of_a_pytest_are_shown_as_they_are(fake: FakePytest, capsys: Captured) -> None:
    fake.reports = [GREEN]
    main(["matrix", "oidc-isolation", *PAIRS, "--json", "-k", "secret[missing-HTTPRoute]"])
    assert "-k 'secret[missing-HTTPRoute]'" in capsys.readouterr().err


def test_a_matrix_of_its_own_choice_tries_each_gateway_with_the_old_envoy_and_its_own(fake: FakePytest) -> None:
    fake.reports = [GREEN]
    main(["matrix", "oidc-isolation", "--json"])
    pairs = [tuple(word for word in argv if "=" in word) for argv in fake.argv]
    assert len(set(pairs)) == len(pairs)
    for gateway in ("1.7.0", "1.8.3", "1.9.1"):
        assert (f"envoy-gateway={gateway}", "envoy=1.37.0") in pairs


def test_pins_of_the_users_own_are_those_of_the_gate_too(fake: FakePytest) -> None:
    fake.reports = [GREEN]
    main(["matrix", "oidc-isolation", *PAIRS, "--json", "--pins", str(resource("pins.toml"))])
    assert fake.argv[0][-2:] == ["--edge-pins", str(resource("pins.toml"))]


def test_a_pair_that_is_asked_for_twice_runs_once(fake: FakePytest) -> None:
    fake.reports = [GREEN]
    assert main(["matrix", "oidc-isolation", *PAIRS, *PAIRS, "--json"]) == 0
    assert len(fake.argv) == 2


@pytest.mark.parametrize("text", ["1.8.3", "1.8.3:", ":1.37.0", "1.8.3/1.37.0", ""])
def test_a_pair_that_is_none(fake: FakePytest, text: str, capsys: Captured) -> None:
    assert main(["matrix", "oidc-isolation", f"--pair={text}"]) == 2
    assert capsys.readouterr().err == (
        f"edgegate: --pair: '{text}' is no pair. Accepted: GATEWAY:ENVOY, as in 1.8.3:1.37.0.\n"
    )
    assert fake.argv == []


def test_a_pair_that_the_pins_do_not_have(fake: FakePytest, capsys: Captured) -> None:
    assert main(["matrix", "oidc-isolation", "--pair", "1.8.3:9.9.9", "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["error"] == "UnknownVersion"
    assert fake.argv == []


def test_a_matrix_of_a_gate_that_does_not_exist(fake: FakePytest, capsys: Captured) -> None:
    with pytest.raises(SystemExit) as raised:
        main(["matrix", "oidc"])
    assert raised.value.code == 2
    assert "invalid choice: 'oidc' (choose from" in capsys.readouterr().err


Prove = Callable[..., int]


def test_a_gate_is_proven_when_it_is_green_without_and_red_with_each_fault(
    fake: FakePytest, tmp_path: Path, capsys: Captured
) -> None:
    fake.reports = [GREEN, RED]
    assert main(["prove", "--json", "oidc-isolation", "--run-dir", str(tmp_path / "p")]) == 0
    none, old, _ = json.loads(capsys.readouterr().out)["proofs"]
    assert (none["fault"], none["wanted"], none["verdict"], none["holds"]) == ("none", "pass", "pass", True)
    assert (old["fault"], old["wanted"], old["verdict"], old["holds"]) == ("old-envoy", "fail", "fail", True)
    assert old["folder"] == f"{tmp_path}/p/oidc-isolation-old-envoy"
    assert [argv[-2:] for argv in fake.argv[1:]] == [["-k", "valid_policy"]] * 2


def test_a_proof_on_one_edge_keeps_it(fake: FakePytest) -> None:
    fake.reports = [GREEN, RED]
    assert main(["prove", "--json", "--keep", "oidc-isolation"]) == 0
    assert all("--edge-keep" in argv and "--edge-reuse" not in argv for argv in fake.argv)


MIXED = _report("fail", _test("valid_policy[HTTPRoute]", "fail"), _test("valid_policy[Gateway]", "pass"))


@pytest.mark.parametrize("reports", [[RED], [GREEN], [GREEN, MIXED], [_report("pass"), RED]])
def test_a_gate_that_says_anything_else_is_not_proven(fake: FakePytest, reports: list[Any]) -> None:
    """One scenario that stays green with the fault in is enough, and so is a run without scenarios."""
    fake.reports = reports
    assert main(["prove", "--json"]) == 1


def test_a_proof_for_a_person(fake: FakePytest, capsys: Captured) -> None:
    fake.reports = [GREEN, GREEN]
    main(["prove", "oidc-isolation"])
    said = capsys.readouterr().out
    assert "│ oidc-isolation │ none                  │ pass    │ pass on 1.8.3 × 1.38.3 │ yes    │" in said
    assert "│ oidc-isolation │ old-envoy             │ fail    │ pass on 1.8.3 × 1.38.3 │ NO     │" in said
    assert "empty oauth2 filter" in said


def test_a_gate_to_prove_that_does_not_exist(fake: FakePytest, capsys: Captured) -> None:
    """It is refused before any other runs."""
    assert main(["prove", "oidc-isolation", "oidc"]) == 2
    assert "There is no gate 'oidc'." in capsys.readouterr().err
    assert fake.argv == []


@pytest.mark.parametrize("reports", [[GREEN, None, RED], [BROKEN, RED], [None, RED]])
def test_a_proof_that_is_inconclusive_does_not_lose_the_others(
    fake: FakePytest, reports: list[Any], capsys: Captured
) -> None:
    """A run that left no report, or whose surroundings broke, says nothing of its gate."""
    fake.reports = reports
    assert main(["prove", "--json", "oidc-isolation"]) == 75
    proofs = json.loads(capsys.readouterr().out)["proofs"]
    assert [proof["verdict"] for proof in proofs].count("inconclusive") == 1
    assert len(proofs) == 3


def test_a_gate_that_is_not_proven_counts_more_than_an_inconclusive_one(fake: FakePytest) -> None:
    fake.reports = [BROKEN, GREEN]
    assert main(["prove", "--json", "oidc-isolation"]) == 1
