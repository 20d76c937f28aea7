"""A report of a watch says what was wrong and how well it was looked."""

import json
from dataclasses import replace

from edgegate.traffic import Gap, MachineLoad, Outage, Spread, TargetReport, WatchReport, Wrong

OUTAGE = Outage("b", 101.0, 101.5, 100.9, 101.4, 20, (("reset", 20),))
GOOD = TargetReport("a", 0.018, 100, (), (), Spread(0.018, 0.019, 0.03), Gap(100, 0.03), 0.01, Spread(0, 0, 0), ())
BAD = replace(GOOD, name="b", outages=(OUTAGE,), wrong=(Wrong(101.0, 0.001, "reset"),), gaps=Spread(0.018, 0.02, 0.04))
SELDOM = replace(GOOD, name="c", every=0.072, gaps=Spread(0.072, 0.073, 0.2), longest_gap=Gap(103, 0.2), blind=0.0)


def _report(*targets: TargetReport) -> WatchReport:
    return WatchReport(1.0, 100.0, 110.0, targets, 0.1, MachineLoad(10, 0.5, 0, 0.1), "real time")


def test_all_is_well() -> None:
    report = _report(GOOD, SELDOM)

    assert report.ok
    assert report.outages == ()
    assert report.describe() == (
        "200 looks at 2 targets in 10.00 s, 0 wrong; every 19 ms, nobody looked for 30 ms at the worst and 10 ms too "
        "long in all; processor 50% busy, tasks waited for it 10% of the time"
    )


def test_outages_of_all_targets_are_told_oldest_first() -> None:
    earlier = replace(BAD, name="c", outages=(replace(OUTAGE, target="c", begin=100.5),))

    report = _report(GOOD, BAD, earlier)

    assert not report.ok
    assert [outage.target for outage in report.outages] == ["c", "b"]
    assert report.describe().splitlines()[1:] == [
        "  c: reset ×20 from 0.50 s on, for 1.00 s",
        "  b: reset ×20 from 1.00 s on, for 500 ms",
    ]


def test_resolution_is_that_of_the_worst_target_that_is_looked_at_closely() -> None:
    report = _report(GOOD, BAD, SELDOM)

    assert report.resolution == 0.02
    assert report.longest_gap == Gap(100, 0.03)
    assert report.blind == 0.01


def test_resolution_of_targets_that_are_all_looked_at_seldom() -> None:
    assert _report(SELDOM).resolution == 0.073


def test_plain_values() -> None:
    data = json.loads(json.dumps(_report(GOOD, BAD).as_data()))

    assert (data["ok"], data["resolution"], data["blind"]) == (False, 0.02, 0.01)
    assert data["targets"][1]["outages"][0]["target"] == "b"
    assert data["targets"][1]["wrong"] == 1


def test_flapping_target_does_not_fill_the_terminal() -> None:
    lines = _report(replace(BAD, outages=(OUTAGE,) * 23)).describe().splitlines()

    assert len(lines) == 22
    assert lines[-1] == "  … and 3 more"
