"""A lab lives as long as somebody holds it, or while it is kept."""

from dataclasses import dataclass

from edgegate.lab.leases import GRACE, Leases


@dataclass
class FakeClock:
    seconds: float = 0.0

    def now(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds


def _leases(clock: FakeClock, *, kept: bool = False) -> Leases:
    leases = Leases(lambda: None, kept=kept, clock=clock)
    leases.take()
    return leases


def test_a_held_lab_has_no_limit() -> None:
    assert _leases(FakeClock()).remaining() is None


def test_after_the_last_lease_the_grace_runs() -> None:
    clock = FakeClock()
    leases = _leases(clock)
    leases.take()
    leases.drop()
    assert leases.remaining() is None
    leases.drop()
    clock.sleep(0.5)
    assert leases.remaining() == GRACE - 0.5
    clock.sleep(2)
    assert leases.remaining() == 0


def test_a_new_lease_ends_the_grace() -> None:
    clock = FakeClock()
    leases = _leases(clock)
    leases.drop()
    clock.sleep(1.9)
    leases.take()
    assert (leases.remaining(), leases.count) == (None, 1)


def test_a_kept_lab_needs_no_lease() -> None:
    leases = _leases(FakeClock(), kept=True)
    leases.drop()
    assert leases.remaining() is None


def test_keep_off_starts_the_grace_of_a_lab_without_lease() -> None:
    leases = _leases(FakeClock(), kept=True)
    leases.drop()
    leases.keep(False)
    assert (leases.remaining(), leases.kept) == (GRACE, False)


def test_each_change_wakes_the_supervisor() -> None:
    woken: list[int] = []
    leases = Leases(lambda: woken.append(1), kept=False, clock=FakeClock())
    leases.take()
    leases.keep(True)
    leases.drop()
    assert len(woken) == 3
