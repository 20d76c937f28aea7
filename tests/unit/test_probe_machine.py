"""How busy the machine was comes from two readings of /proc."""

from pathlib import Path

import pytest

from edgegate.probes.machine import Machine
from edgegate.traffic import MachineLoad


class _Clock:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.time = 0.0

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.time += seconds


def _write(proc: Path, ticks: str, *, stalled: int | None = None) -> None:
    (proc / "stat").write_text(f"cpu  {ticks}\ncpu0 1 2 3\n")
    if stalled is not None:
        (proc / "pressure").mkdir(exist_ok=True)
        (proc / "pressure" / "cpu").write_text(f"some avg10=9.99 avg60=0.00 avg300=0.00 total={stalled}\nfull x\n")


def test_load_between_two_readings(tmp_path: Path) -> None:
    """user nice system idle iowait irq softirq steal guest guest_nice: waiting for a disk is not busy."""
    clock = _Clock()
    _write(tmp_path, "100 0 50 800 50 0 0 0 0 0", stalled=1_000_000)
    machine = Machine(proc=tmp_path, clock=clock)
    clock.sleep(2.0)
    _write(tmp_path, "150 0 60 820 60 0 0 10 0 0", stalled=1_500_000)

    load = machine.load()

    assert load == MachineLoad(seconds=2.0, busy=0.6, stolen=0.1, stalled=0.25)
    assert not load.saturated
    assert load.describe() == "processor 60% busy, 10% stolen, tasks waited for it 25% of the time"


def test_kernel_without_pressure(tmp_path: Path) -> None:
    _write(tmp_path, "0 0 0 0 0 0 0 0")
    machine = Machine(proc=tmp_path)
    _write(tmp_path, "95 0 0 5 0 0 0 0")

    load = machine.load()

    assert (load.stalled, load.saturated) == (None, True)
    assert load.describe() == "processor 95% busy (saturated)"


def test_no_time_has_passed(tmp_path: Path) -> None:
    _write(tmp_path, "5 0 0 5 0 0 0 0", stalled=7)

    assert Machine(proc=tmp_path, clock=_Clock()).load() == MachineLoad(0.0, 0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("busy", "stolen", "stalled", "saturated"),
    [(0.5, 0.0, 0.1, False), (0.9, 0.0, None, True), (0.7, 0.3, None, True), (0.5, 0.0, 0.4, True)],
)
def test_saturated(busy: float, stolen: float, stalled: float | None, saturated: bool) -> None:
    assert MachineLoad(1.0, busy, stolen, stalled).saturated is saturated


def test_this_machine() -> None:
    load = Machine().load()

    assert 0 <= load.busy <= 1
    assert load.seconds >= 0
