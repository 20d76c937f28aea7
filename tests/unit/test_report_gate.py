"""The notebook of a scenario, and which errors mean that the surroundings broke."""

import json

import pytest

from edgegate.budgets import Budget, Budgets, Growth
from edgegate.errors import EnvironmentFault, LabFault, NeverReady, NotShown, PoisonNotLive
from edgegate.records import Source, Versions
from edgegate.report.gate import Gate, inconclusive
from edgegate.report.outcome import fault_of, headline, reason
from edgegate.stages import Course, Stage, Stamp, course
from edgegate.traffic import MachineLoad

PAIR = Versions({"envoy-gateway": "1.8.3", "envoy": "1.37.0"})


def _gate() -> Gate:
    return Gate("isolation", versions=lambda: PAIR, again="pytest x")


def test_right_answers_are_counted() -> None:
    gate = _gate()

    assert gate.expect(Source.TRAFFIC, "a", 200, 200)
    assert gate.evidence.checks == {"traffic": 1}
    assert not gate.evidence.findings


def test_story_without_traffic_findings() -> None:
    """When only the status is wrong, the affected are those whose status is, and the disagreement is named."""
    gate = _gate()
    gate.expect(Source.TRAFFIC, "a", 200, 200)
    gate.expect(Source.STATUS, "policy b", "Accepted=False", "Accepted=True")
    gate.note("the policy was created last")

    assert gate.story(then="the lab: gone") == (
        "gate isolation: FAIL on Envoy Gateway 1.8.3 × Envoy 1.37.0\n"
        "affected  policy b\n"
        "  status: policy b: expected Accepted=False, seen Accepted=True\n"
        "but       traffic was right: status tells another story\n"
        "note      the policy was created last\n"
        "then      the lab: gone\n"
        "again     pytest x"
    )


def test_story_when_versions_cannot_be_asked_any_more() -> None:
    answers = iter([PAIR])

    def ask() -> Versions:
        for one in answers:
            return one
        raise LabFault("the supervisor is gone")

    gate = Gate("isolation", versions=ask, again="pytest x")
    gate.expect(Source.TRAFFIC, "a", 200, 404)

    assert "Envoy 1.37.0 (as it was at the start; now: the supervisor is gone)" in gate.story()


def test_phase_is_told_and_nobody_is_affected_twice() -> None:
    """A phase without a finding was right; what is found outside any has none."""
    gate = _gate()
    with gate.during("warm"):
        gate.expect(Source.TRAFFIC, "a https", 200, 200)
    with gate.during("after cold restart"):
        gate.expect(Source.TRAFFIC, "a https", 200, 404)
        gate.note("took long")
    gate.expect(Source.TRAFFIC, "a https", 200, 503)

    assert gate.evidence.phases == ["warm", "after cold restart"]
    assert gate.story().splitlines()[1:-1] == [
        "affected  a https",
        "  traffic, after cold restart: a https: expected 200, seen 404",
        "  traffic: a https: expected 200, seen 503",
        "note      after cold restart: took long",
    ]


def test_must_in_time() -> None:
    gate = _gate()

    with gate.must(Source.TRAFFIC, "a", 302):
        pass

    assert gate.evidence.checks == {"traffic": 1}


def test_must_that_saw_nothing() -> None:
    gate = _gate()

    with gate.must(Source.TRAFFIC, "a", 302):
        raise NeverReady("login", limit="2.00 s", last=None)

    (finding,) = gate.evidence.findings
    assert (finding.expected, finding.seen) == ("302 within 2.00 s", "nothing")


def test_must_lets_other_trouble_pass() -> None:
    with pytest.raises(LabFault), _gate().must(Source.TRAFFIC, "a", 302):
        raise LabFault("gone")


def test_poison() -> None:
    gate = _gate()
    gate.poison("a missing secret", live=True, evidence="500")

    assert gate.evidence.poison == {"what": "a missing secret", "evidence": "500"}
    with pytest.raises(PoisonNotLive) as dead:
        gate.poison("a missing secret", live=False, evidence="200")
    assert str(dead.value) == (
        "the poison had no effect: a missing secret; seen: 200. What survived it proves nothing."
    )


def test_evidence_is_plain() -> None:
    """It crosses from worker to controller, which takes no enum."""
    gate = _gate()
    gate.expect(Source.DATA_PLANE, "listener", 0, 1)
    gate.expect(Source.TRAFFIC, "a", 200, 200)

    data = gate.evidence.as_data()
    assert data == json.loads(json.dumps(data))
    assert type(data["findings"][0]["source"]) is str
    assert {type(key) for key in data["checks"]} == {str}


def test_inconclusive() -> None:
    with pytest.raises(NotShown, match="no contrib Envoy"):
        inconclusive("no contrib Envoy")


def _raised_from(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


LATE = NeverReady("x", limit="1 s", last=None)


@pytest.mark.parametrize(
    ("error", "fault"),
    [
        (LATE, LATE),
        (ExceptionGroup("g", [LATE, ExceptionGroup("h", [LATE])]), LATE),
        (_raised_from(RuntimeError(), LATE), LATE),
        (_raised_from(RuntimeError(), ExceptionGroup("g", [LATE])), LATE),
        (ExceptionGroup("g", [LATE, ValueError()]), None),
        (_raised_from(AssertionError(), LATE), None),
        (_raised_from(pytest.fail.Exception("x"), LATE), None),  # type: ignore[arg-type]
        (KeyboardInterrupt(), None),
        (ValueError(), None),
    ],
)
def test_fault_of(error: BaseException, fault: EnvironmentFault | None) -> None:
    assert fault_of(error) is fault


def test_texts() -> None:
    told = LabFault("gone")
    told.add_note("and a note")

    assert reason(told) == "gone\nand a note"
    assert reason(LabFault()) == "LabFault"
    assert headline("  one\ntwo") == "one"
    assert headline("x" * 200) == "x" * 159 + "…"


class _Clock:
    """What a stage clock knows."""

    def __init__(self, *, late: float = 0.0, load: MachineLoad | None = None) -> None:
        at = {Stage.CREATED: 0.0, Stage.RECORD_PROGRAMMED: 1.0 + late, Stage.RECORD_ANSWERS: 1.2 + late}
        loads = {(one, other): load for one in at for other in at} if load else None
        self._course = course("shop", [Stamp(stage, when, "x") for stage, when in at.items()], list(at), loads)

    def course(self) -> Course:
        return self._course


BUDGETS = Budgets("fast", {Stage.RECORD_PROGRAMMED: Budget(2.0), Stage.RECORD_ANSWERS: Budget(3.0)})
BUSY = MachineLoad(9.0, 0.95, 0.0, None)
OVER = (
    "seen 5.20 s; record-programmed ate it for shop: 5.00 s after created instead of 2.00 s; late with it: "
    "record-programmed (max)"
)


def test_stages_in_time_are_right_looks() -> None:
    gate = _gate()

    judged = gate.stages(_Clock(), budgets=BUDGETS)

    assert [one.right for one in judged] == [True, True]
    assert gate.evidence.checks == {"status": 1, "traffic": 1}
    assert gate.doubt() is None


def test_stages_without_budgets_are_in_the_report() -> None:
    gate = _gate()

    gate.stages(_Clock(late=90))

    (group,) = gate.evidence.as_data()["stages"]
    assert [one["stage"] for one in group["subjects"][0]["times"]] == ["created", "record-programmed", "record-answers"]
    assert (group["budgets"], group["limits"], group["judged"], group["during"]) == ("", {}, [], "")


def test_a_late_stage_is_one_finding_with_all_that_is_late_by_it() -> None:
    gate = _gate()
    with gate.during("burst"):
        gate.stages(_Clock(late=4.0), budgets=BUDGETS)

    (finding,) = gate.evidence.findings
    assert (finding.source, finding.subject, finding.during) == (Source.TRAFFIC, "record-answers", "burst")
    assert f"expected max ≤ 3.00 s (fast), {OVER}" in gate.story()


def test_a_late_stage_on_a_saturated_machine_is_a_doubt() -> None:
    gate = _gate()
    gate.stages(_Clock(late=4.0, load=BUSY), budgets=BUDGETS)

    assert not gate.evidence.findings
    late = (
        "record-answers: max ≤ 3.00 s (fast), seen 5.20 s; record-programmed ate it for shop: 5.00 s after created "
        "instead of 2.00 s; processor 95% busy (saturated); late with it: record-programmed (max)"
    )
    assert str(gate.doubt()) == (
        f"1 timing over budget, measured on a saturated machine:\n  {late}\nNothing follows for the version under "
        "test. Free the machine, or run this gate alone, and run again."
    )
    gate.expect(Source.TRAFFIC, "shop", "its own certificate", "another's")
    assert f"\ndoubt     {late}\n" in gate.story()


def test_growth_is_judged_too() -> None:
    gate = _gate()

    gate.growth([_Clock()], [_Clock(late=4.0)], Growth(factor=2.0, subjects=100, floor=0.1))

    (finding,) = gate.evidence.findings
    assert (finding.subject, finding.expected) == ("record-answers", "growth ≤ 2.40 s (2 × the time of one)")
