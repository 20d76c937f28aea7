"""A course says for each stage what it took, what it waited for, and how busy the machine was."""

import pytest

from edgegate.stages import Course, Stage, Stamp, ancestors, course
from edgegate.traffic import MachineLoad

IDLE = MachineLoad(1.0, 0.3, 0.0, 0.1)
BUSY = MachineLoad(1.0, 0.95, 0.0, 0.1)


def _course(**at: float) -> Course:
    stamps = [Stamp(Stage(name.replace("_", "-").removeprefix("s-")), moment, "x") for name, moment in at.items()]
    return course("shop", stamps, list(Stage))


def test_times_count_from_the_creation() -> None:
    made = _course(created=10.0, accepted=10.25, programmed=11.0)

    assert [(one.stage, one.seconds, one.own) for one in made.times] == [
        (Stage.CREATED, 0.0, 0.0),
        (Stage.ACCEPTED, 0.25, 0.25),
        (Stage.PROGRAMMED, 1.0, 0.75),
    ]


def test_a_stage_waited_for_the_last_one_before_it_that_it_can_have_waited_for() -> None:
    """The certificate path and the record path go on side by side; a status may come after the traffic."""
    made = _course(created=0, accepted=0.2, record_programmed=0.9, first_200=1.2, record_answers=1.3, programmed=1.4)

    after = {one.stage: one.after for one in made.times}
    assert after[Stage.FIRST_200] is Stage.ACCEPTED
    assert after[Stage.RECORD_ANSWERS] is Stage.RECORD_PROGRAMMED
    assert after[Stage.PROGRAMMED] is Stage.ACCEPTED


def test_the_path_to_a_stage() -> None:
    made = _course(created=0, accepted=0.2, record_programmed=0.9, record_answers=1.3, challenge_solved=2.0)

    path = [one.stage for one in made.path(Stage.CHALLENGE_SOLVED)]
    assert path == ["challenge-solved", "record-answers", "record-programmed", "accepted", "created"]


def test_no_path_to_what_never_came() -> None:
    assert _course(created=0).path(Stage.ACCEPTED) == []


def test_two_stages_at_the_same_moment_are_in_their_usual_order() -> None:
    made = _course(programmed=1.0, accepted=1.0, created=0.0)

    assert [one.stage for one in made.times] == ["created", "accepted", "programmed"]


def test_every_stage_but_the_first_has_waited_for_the_first() -> None:
    assert all(Stage.CREATED in ancestors(stage) for stage in Stage if stage is not Stage.CREATED)


def test_without_a_creation_times_count_from_the_first_stage() -> None:
    made = _course(accepted=1.0, certificate_ready=3.0)

    assert [(one.stage, one.seconds, one.after) for one in made.times] == [
        ("accepted", 0.0, None),
        ("certificate-ready", 2.0, "accepted"),
    ]


@pytest.mark.parametrize(
    ("at", "own", "whole", "saturated"),
    [
        (2.0, BUSY, IDLE, True),
        (2.0, IDLE, BUSY, False),
        (0.1, BUSY, IDLE, False),  # too short for the kernel to count: the whole time tells more
        (0.1, IDLE, BUSY, True),
    ],
)
def test_saturation_is_that_of_the_step_when_it_is_long_enough(
    at: float, own: MachineLoad, whole: MachineLoad, saturated: bool
) -> None:
    stamps = [Stamp(Stage.CREATED, 0, "x"), Stamp(Stage.ACCEPTED, 1, "x"), Stamp(Stage.PROGRAMMED, 1 + at, "x")]
    loads = {(Stage.ACCEPTED, Stage.PROGRAMMED): own, (Stage.CREATED, Stage.PROGRAMMED): whole}

    programmed = course("shop", stamps, [], loads).time(Stage.PROGRAMMED)

    assert programmed is not None
    assert programmed.saturated is saturated


def test_for_a_person() -> None:
    stamps = [Stamp(Stage.CREATED, 0, "POST"), Stamp(Stage.ACCEPTED, 0.25, "watch of HTTPProxies")]

    first, second = course("shop", stamps, []).times

    assert first.describe() == "created after 0 ms (seen by POST)"
    assert second.describe() == "accepted after 250 ms, 250 ms after created (seen by watch of HTTPProxies)"


def test_as_plain_values() -> None:
    data = _course(created=0).as_data()

    assert data["subject"] == "shop"
    assert data["times"][0]["stage"] == "created"
    assert len(data["missing"]) == len(Stage) - 1
