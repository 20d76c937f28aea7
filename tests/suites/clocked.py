"""Gates with stages: in time, late, late on a saturated machine, and one that never came to its end."""

import pytest

from edgegate import Gate, Source
from edgegate.budgets import Budget, Budgets, Growth
from edgegate.stages import Course, Stage, Stamp, course
from edgegate.traffic import MachineLoad

IDLE = MachineLoad(9.0, 0.31, 0.0, 0.12)
BUSY = MachineLoad(9.0, 0.97, 0.0, 0.8)
LIMITS = {
    Stage.ACCEPTED: (0.3, 0.6, 1.0),
    Stage.PROGRAMMED: (1.0, 1.5, 2.5),
    Stage.RECORD_PROGRAMMED: (1.0, 1.5, 2.5),
    Stage.RECORD_ANSWERS: (1.2, 2.0, 3.0),
    Stage.CHALLENGE_SOLVED: (2.0, 3.0, 4.0),
    Stage.CERTIFICATE_READY: (2.5, 3.5, 4.5),
    Stage.FIRST_200: (1.0, 1.5, 2.5),
    Stage.FIRST_TRUSTED_200: (3.0, 4.0, 5.0),
}
BUDGETS = Budgets(
    "reference fast one", {stage: Budget(most, p50=p50, p95=p95) for stage, (p50, p95, most) in LIMITS.items()}
)
SOUND = dict(zip([Stage.CREATED, *LIMITS], (0.0, 0.21, 0.93, 0.74, 0.98, 1.55, 1.93, 0.88, 2.02), strict=True))
WIRE = (Stage.RECORD_ANSWERS, Stage.FIRST_200, Stage.FIRST_TRUSTED_200)


class Clock:
    """What a stage clock knows, without looking."""

    def __init__(self, subject: str, *, record: float = 0.0, load: MachineLoad = IDLE, until: float = 99.0) -> None:
        """Let a subject's record be late by some seconds, and with it all that comes after it."""
        late = [Stage.RECORD_PROGRAMMED, Stage.RECORD_ANSWERS, Stage.CHALLENGE_SOLVED, Stage.CERTIFICATE_READY]
        at = {one: when + record * (one in (*late, Stage.FIRST_TRUSTED_200)) for one, when in SOUND.items()}
        by = {one: "probe" if one in WIRE else "watch of HTTPProxies" for one in at}
        stamps = [Stamp(one, when, by[one], 0.02 * (one in WIRE)) for one, when in at.items() if when < until]
        loads = {(one, other): load for one in at for other in at}
        self._course = course(subject, stamps, list(SOUND), loads)

    def course(self) -> Course:
        return self._course


@pytest.mark.edge_gate("convergence")
def test_in_time(gate: Gate) -> None:
    gate.stages(Clock("shop.example.test"), budgets=BUDGETS)


@pytest.mark.edge_gate("convergence-burst")
def test_late(gate: Gate) -> None:
    clocks = [Clock(f"shop-{number}.example.test", record=number * 0.3) for number in range(20)]
    why = {Stage.RECORD_PROGRAMMED: lambda one: "the queue of dnsrecordset-powerdns: 5.4 s, 1,503 before it"}
    with gate.during("burst of 20"):
        gate.stages(*clocks, budgets=BUDGETS, explain=why)


@pytest.mark.edge_gate("convergence-busy")
def test_busy(gate: Gate) -> None:
    gate.stages(Clock("shop.example.test", record=6.0, load=BUSY), budgets=BUDGETS)


@pytest.mark.edge_gate("convergence-busy-and-wrong")
def test_busy_and_wrong(gate: Gate) -> None:
    gate.stages(Clock("shop.example.test", record=6.0, load=BUSY), budgets=BUDGETS)
    gate.expect(Source.TRAFFIC, "shop.example.test", "its own certificate", "another's")


@pytest.mark.edge_gate("convergence-never")
def test_never(gate: Gate) -> None:
    gate.stages(Clock("shop.example.test", until=1.6), budgets=BUDGETS)


@pytest.mark.edge_gate("convergence-growth")
def test_growth(gate: Gate) -> None:
    growth = Growth(factor=2.0, subjects=100, floor=0.2)
    gate.growth([Clock("one")], [Clock(f"many-{number}", record=3.0) for number in range(3)], growth)
