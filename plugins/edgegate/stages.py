"""The stages from a customer's `kubectl apply` to trusted answers, and what a stage clock saw of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from edgegate.clock import show_duration
from edgegate.traffic import MachineLoad

TELLING = 0.5
"""Seconds from which on the load of a step means something: the kernel counts busy processors in steps of 10 ms."""


class Stage(StrEnum):
    """What happens to a custom hostname, in the usual order; several go on side by side."""

    CREATED = "created"
    ACCEPTED = "accepted"
    PROGRAMMED = "programmed"
    ADDRESS_RESOLVES = "address-resolves"
    RECORD_PROGRAMMED = "record-programmed"
    RECORD_ANSWERS = "record-answers"
    CHALLENGE_PRESENTED = "challenge-presented"
    CHALLENGE_SOLVED = "challenge-solved"
    CERTIFICATE_READY = "certificate-ready"
    FIRST_200 = "first-200"
    FIRST_TRUSTED_200 = "first-trusted-200"
    IN_A_ROW = "n-in-a-row"


TIMED = tuple(stage for stage in Stage if stage is not Stage.CREATED)
"""Stages that take time: all but the one from which it is counted."""


_AFTER: Mapping[Stage, tuple[Stage, ...]] = {
    Stage.CREATED: (),
    Stage.ACCEPTED: (Stage.CREATED,),
    Stage.PROGRAMMED: (Stage.ACCEPTED,),
    Stage.ADDRESS_RESOLVES: (Stage.ACCEPTED,),
    Stage.RECORD_PROGRAMMED: (Stage.ACCEPTED,),
    Stage.RECORD_ANSWERS: (Stage.RECORD_PROGRAMMED, Stage.ADDRESS_RESOLVES),
    Stage.CHALLENGE_PRESENTED: (Stage.ACCEPTED,),
    Stage.CHALLENGE_SOLVED: (
        Stage.CHALLENGE_PRESENTED,
        Stage.RECORD_ANSWERS,
        Stage.ADDRESS_RESOLVES,
        Stage.FIRST_200,
    ),
    Stage.CERTIFICATE_READY: (Stage.CHALLENGE_SOLVED,),
    Stage.FIRST_200: (Stage.PROGRAMMED,),
    Stage.FIRST_TRUSTED_200: (Stage.CERTIFICATE_READY, Stage.FIRST_200),
    Stage.IN_A_ROW: (Stage.FIRST_TRUSTED_200,),
}
"""What a stage can have waited for. A status may be written after its effect is seen, so the order is not fixed."""


WIRE = frozenset(
    {Stage.ADDRESS_RESOLVES, Stage.RECORD_ANSWERS, Stage.FIRST_200, Stage.FIRST_TRUSTED_200, Stage.IN_A_ROW}
)
"""Stages that a customer sees on the wire; the others are told by a status."""


def ancestors(stage: Stage) -> frozenset[Stage]:
    """Return every stage that a stage can have waited for, directly or not."""
    direct = _AFTER[stage]
    return frozenset(direct).union(*(ancestors(one) for one in direct))


@dataclass(frozen=True)
class Stamp:
    """The first time that somebody saw a stage."""

    stage: Stage
    """The stage."""
    at: float
    """Monotonic second."""
    by: str
    """Who saw it: name of a watch or a probe."""
    blind: float = 0.0
    """Seconds since the same one had looked in vain, so by how much the stage may be older; 0 for a watch."""


@dataclass(frozen=True)
class StageTime:
    """When a subject came to a stage, and what that took."""

    stage: Stage
    """The stage."""
    seconds: float
    """Seconds since the subject was created."""
    by: str
    """Who saw it: name of a watch or a probe."""
    blind: float
    """Seconds by which the stage may be older, see `Stamp`."""
    after: Stage | None
    """The last stage before it that it can have waited for; None for the first."""
    own: float
    """Seconds since that one."""
    load: MachineLoad | None
    """How busy the machine was from the creation to this stage; None when nobody measured."""
    own_load: MachineLoad | None
    """How busy the machine was since `after`."""

    @property
    def saturated(self) -> bool:
        """Whether the time says more about the machine than about the system under test."""
        telling = self.own_load if self.own >= TELLING else self.load
        return telling is not None and telling.saturated

    def describe(self) -> str:
        """Return one line for a person."""
        own = f", {show_duration(self.own)} after {self.after}" if self.after else ""
        return f"{self.stage} after {show_duration(self.seconds)}{own} (seen by {self.by})"


@dataclass(frozen=True)
class Course:
    """The way of one subject through its stages."""

    subject: str
    """Name of what went through them, as `shop.example.test`."""
    times: tuple[StageTime, ...]
    """The stages it came to, in the order in which it did."""
    missing: tuple[Stage, ...]
    """Stages that it was expected to come to and did not."""

    def time(self, stage: Stage) -> StageTime | None:
        """Return when it came to a stage; None when it did not."""
        return next((one for one in self.times if one.stage is stage), None)

    def path(self, stage: Stage) -> list[StageTime]:
        """Return the steps that led to a stage, the last first: each with the one that it waited for behind it."""
        found: list[StageTime] = []
        at: Stage | None = stage
        while at is not None and (one := self.time(at)) is not None:
            found.append(one)
            at = one.after
        return found

    def as_data(self) -> dict[str, Any]:
        """Return it as plain values, as they stand in report.json; seconds are rounded to tenths of milliseconds."""
        return {
            "subject": self.subject,
            "times": [_time_data(one) for one in self.times],
            "missing": [str(stage) for stage in self.missing],
        }


def _time_data(one: StageTime) -> dict[str, Any]:
    return {
        "stage": str(one.stage),
        "seconds": round(one.seconds, 4),
        "own": round(one.own, 4),
        "after": str(one.after) if one.after else None,
        "by": one.by,
        "blind": round(one.blind, 4),
        "busy": _busy(one.load),
        "own_busy": _busy(one.own_load),
        "saturated": one.saturated,
    }


def _busy(load: MachineLoad | None) -> float | None:
    return None if load is None else round(load.busy + load.stolen, 3)


def course(
    subject: str,
    stamps: Sequence[Stamp],
    expected: Sequence[Stage],
    loads: Mapping[tuple[Stage, Stage], MachineLoad] | None = None,
) -> Course:
    """Return the course that some stamps make.

    Args:
        subject: name of what went through the stages.
        stamps: one a stage, in any order. Without one of `created`, times count from the first.
        expected: the stages that it was meant to come to.
        loads: how busy the machine was from the first to the second stage of each pair.
    """
    ordered = sorted(stamps, key=lambda one: (one.at, list(Stage).index(one.stage)))
    known = loads or {}
    times: list[StageTime] = []
    for number, stamp in enumerate(ordered):
        first = ordered[0]
        possible = ancestors(stamp.stage) | {first.stage}
        after = next((one for one in reversed(ordered[:number]) if one.stage in possible), None)
        times.append(
            StageTime(
                stage=stamp.stage,
                seconds=stamp.at - first.at,
                by=stamp.by,
                blind=stamp.blind,
                after=after.stage if after else None,
                own=stamp.at - after.at if after else 0.0,
                load=known.get((first.stage, stamp.stage)),
                own_load=known.get((after.stage, stamp.stage)) if after else None,
            )
        )
    seen = {one.stage for one in ordered}
    return Course(subject, tuple(times), tuple(stage for stage in expected if stage not in seen))
