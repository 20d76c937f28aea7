"""A breach names the stage that ate the time and what it waited for; a saturated machine is no breach."""

from dataclasses import replace

import pytest

from edgegate.budgets import Budget, Budgets, Growth, Judgement, causes, judge, judge_growth
from edgegate.errors import LabFault
from edgegate.stages import Course, Stage, Stamp, course
from edgegate.traffic import MachineLoad

IDLE = MachineLoad(1.0, 0.3, 0.0, 0.1)
BUSY = MachineLoad(1.0, 0.95, 0.0, 0.1)
BUDGETS = Budgets(
    "reference fast one",
    {
        Stage.ACCEPTED: Budget(1.0, p50=0.3),
        Stage.RECORD_PROGRAMMED: Budget(2.5, p50=1.0),
        Stage.RECORD_ANSWERS: Budget(3.0, p50=1.2, p95=2.0),
    },
)


def _shop(
    name: str = "shop",
    *,
    accepted: float = 0.2,
    programmed: float = 0.9,
    answers: float = 1.0,
    load: MachineLoad = IDLE,
) -> Course:
    at = {
        Stage.CREATED: 0.0,
        Stage.ACCEPTED: accepted,
        Stage.RECORD_PROGRAMMED: programmed,
        Stage.RECORD_ANSWERS: answers,
    }
    loads = {(one, other): load for one in at for other in at}
    return course(name, [Stamp(stage, when, "watch") for stage, when in at.items()], list(at), loads)


def _wrong(judged: list[Judgement]) -> dict[tuple[str, str], Judgement]:
    return {(str(one.stage), one.measure): one for one in judged if not one.right}


def test_what_never_came_says_for_what_the_first_of_it_waits() -> None:
    shop = course("shop", [Stamp(Stage.CREATED, 0, "watch")], [Stage.ACCEPTED, Stage.PROGRAMMED, Stage.FIRST_200])

    judged = judge([shop], BUDGETS, explain={Stage.ACCEPTED: lambda _: "a queue", Stage.PROGRAMMED: lambda _: "more"})

    assert {one.ate for one in judged} == {
        "never came for shop (last seen: created after 0 ms (seen by watch)); accepted waits for a queue"
    }


def test_all_within_their_budgets() -> None:
    judged = judge([_shop()], BUDGETS)

    assert not _wrong(judged)
    assert [(one.stage, one.measure, one.seen) for one in judged] == [
        ("accepted", "max", 0.2),
        ("record-programmed", "max", 0.9),
        ("record-answers", "max", 1.0),
    ]


@pytest.mark.parametrize(("subjects", "measures"), [(4, {"max"}), (5, {"p50", "max"}), (20, {"p50", "p95", "max"})])
def test_a_measure_needs_enough_subjects(subjects: int, measures: set[str]) -> None:
    judged = judge([_shop(str(number)) for number in range(subjects)], BUDGETS)

    assert {one.measure for one in judged if one.stage is Stage.RECORD_ANSWERS} == measures


def test_a_breach_names_what_ate_the_time() -> None:
    """The record was late because it was programmed late, not because the server was slow to answer."""
    wrong = _wrong(judge([_shop(programmed=6.2, answers=6.3)], BUDGETS))

    late = wrong["record-answers", "max"]
    assert late.expected == "max ≤ 3.00 s (reference fast one)"
    assert late.found == (
        "6.30 s; record-programmed ate it for shop: 6.00 s after accepted instead of 1.50 s; processor 30% busy, "
        "tasks waited for it 10% of the time"
    )


def test_a_step_within_its_own_budget_may_still_eat_too_much() -> None:
    """A status may have more time than the traffic that came after it."""
    budgets = Budgets("x", {Stage.ACCEPTED: Budget(5.0), Stage.RECORD_PROGRAMMED: Budget(1.0)})

    (late,) = _wrong(judge([_shop(accepted=1.5, programmed=1.6)], budgets)).values()

    assert "accepted ate it for shop: 1.50 s after created instead of 1.00 s" in late.ate


def test_what_it_waited_for_is_asked_on_a_breach_only() -> None:
    asked = []

    def queue(one: Course) -> str:
        asked.append(one.subject)
        return "the queue of dnsrecordset-powerdns: 5.1 s, 1,500 before it"

    explain = {Stage.RECORD_PROGRAMMED: queue}
    assert not _wrong(judge([_shop()], BUDGETS, explain=explain))
    wrong = _wrong(judge([_shop(), _shop("late", programmed=6.2, answers=6.3)], BUDGETS, explain=explain))

    assert "; waited for the queue of dnsrecordset-powerdns: 5.1 s, 1,500 before it; " in (
        wrong["record-answers", "max"].ate
    )
    assert set(asked) == {"late"}


def test_who_cannot_be_asked_for_the_reason_hides_no_breach() -> None:
    def gone(one: Course) -> str:
        raise LabFault("the operator is gone")

    wrong = _wrong(judge([_shop(programmed=6.2, answers=6.3)], BUDGETS, explain={Stage.RECORD_PROGRAMMED: gone}))

    assert "waited for something that could not be asked: the operator is gone" in wrong["record-answers", "max"].ate


def test_a_median_over_its_budget_is_a_breach_although_the_maximum_is_not() -> None:
    courses = [_shop(str(number), programmed=1.2, answers=1.3 + number / 100) for number in range(5)]

    wrong = _wrong(judge(courses, BUDGETS))

    assert set(wrong) == {("record-programmed", "p50"), ("record-answers", "p50")}
    assert wrong["record-answers", "p50"].seen == 1.32


def test_a_breach_on_a_saturated_machine_says_so() -> None:
    (busy,) = judge([_shop(answers=9.0, load=BUSY)], BUDGETS)[-1:]
    (idle,) = judge([_shop(answers=9.0)], BUDGETS)[-1:]

    assert (busy.right, busy.saturated) == (False, True)
    assert (idle.right, idle.saturated) == (False, False)


def test_what_is_in_time_is_right_on_a_saturated_machine_too() -> None:
    assert all(one.right and not one.saturated for one in judge([_shop(load=BUSY)], BUDGETS))


def test_the_load_of_the_whole_stands_in_where_nobody_measured() -> None:
    bare = course("shop", [Stamp(Stage.CREATED, 0, "x"), Stamp(Stage.ACCEPTED, 9, "x")], [])

    (late,) = judge([bare], BUDGETS, BUSY)

    assert late.saturated
    assert late.ate.endswith("; processor 95% busy, tasks waited for it 10% of the time (saturated)")


def test_a_stage_that_never_came_is_wrong_without_any_budget() -> None:
    stamps = [Stamp(Stage.CREATED, 0, "POST"), Stamp(Stage.ACCEPTED, 0.2, "watch")]
    courses = [course(f"shop-{number}", stamps, list(BUDGETS.stages)) for number in range(4)]

    wrong = _wrong(judge(courses, Budgets("none"), BUSY))

    assert set(wrong) == {("record-programmed", "all"), ("record-answers", "all")}
    late = wrong["record-answers", "all"]
    assert (late.expected, late.subjects, late.saturated) == ("every subject comes to it", 4, False)
    told = "(last seen: accepted after 200 ms, 200 ms after created (seen by watch))"
    assert late.found == f"never came for shop-0 {told}, shop-1 {told}, shop-2 {told} and 1 more"


def test_nothing_was_seen_of_a_subject() -> None:
    (late,) = judge([course("shop", [], [Stage.ACCEPTED])], Budgets("none"))

    assert late.found == "never came for shop (nothing was seen of it)"


GROWTH = Growth(factor=2.0, subjects=100, floor=0.2)


def test_growth_within_the_factor() -> None:
    judged = judge_growth([_shop()], [_shop(accepted=0.4, programmed=1.8, answers=2.0)], GROWTH)

    assert [(one.stage, one.limit, one.right) for one in judged] == [
        ("accepted", 0.4, True),
        ("record-programmed", 1.8, True),
        ("record-answers", 2.0, True),
    ]


def test_growth_over_the_factor() -> None:
    wrong = _wrong(judge_growth([_shop()], [_shop(answers=3.0)] * 3, GROWTH))

    late = wrong["record-answers", "growth"]
    assert late.expected == "growth ≤ 2.00 s (2 × the time of one)"
    assert late.found == "3.00 s; record-answers ate it: 2.10 s after the stage before it, 100 ms with one"
    assert not late.saturated


def test_a_stage_may_have_a_factor_of_its_own() -> None:
    growth = replace(GROWTH, factors={Stage.RECORD_ANSWERS: 3.0})
    assert not _wrong(judge_growth([_shop()], [_shop(answers=3.0)], growth))
    late = _wrong(judge_growth([_shop()], [_shop(answers=3.1, accepted=3.0)], growth))
    assert late["record-answers", "growth"].expected == "growth ≤ 3.00 s (3 × the time of one)"
    assert "2 × the time of one" in late["accepted", "growth"].expected


def test_growth_is_of_the_stage_that_grew() -> None:
    wrong = _wrong(judge_growth([_shop()], [_shop(programmed=3.0, answers=3.1)], GROWTH))

    assert {one.eater for one in wrong.values()} == {Stage.RECORD_PROGRAMMED}


def test_growth_that_is_next_to_nothing_does_not_count() -> None:
    assert not _wrong(judge_growth([_shop(accepted=0.01)], [_shop(accepted=0.2)], GROWTH))


def test_growth_on_a_saturated_machine_says_so() -> None:
    (late,) = _wrong(judge_growth([_shop()], [_shop(answers=3.0, load=BUSY)], GROWTH)).values()

    assert late.saturated


def test_what_is_late_for_one_reason_is_one_group() -> None:
    """In usual order, so that the last one is what a customer feels."""
    judged = judge([_shop(accepted=1.5, programmed=7.0, answers=7.1)], BUDGETS)

    groups = [[str(one.stage) for one in group] for group in causes(judged)]
    assert groups == [["accepted"], ["record-programmed", "record-answers"]]


def test_what_is_right_has_no_cause() -> None:
    assert causes(judge([_shop()], BUDGETS)) == []


def test_as_plain_values() -> None:
    (first, *_) = judge([_shop()], BUDGETS)

    assert first.as_data()["stage"] == "accepted"
