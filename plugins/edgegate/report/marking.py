"""Turn what a test did into what its report says. The report crosses from worker to controller: plain values only.

An inconclusive report keeps pytest's outcome `failed`, because everything that does not know our word (junit
readers, `--lf`, `-x`, other plugins) must see "not passed". What makes it inconclusive is one extra attribute.
"""

from typing import Any

import pytest

from edgegate.errors import EdgeNotUp, EnvironmentFault, GateFailed, NeverReady, NotShown
from edgegate.records import Verdict
from edgegate.report.gate import Gate
from edgegate.report.outcome import fault_of, headline, reason
from edgegate.report.run import GATE, RUN, Run, Tested, gate_name, uses_edge

Report = pytest.TestReport
EXTRA = "edgegate"
"""Name of the attribute that a report carries."""


_DECISIONS = (AssertionError, NeverReady, pytest.fail.Exception, pytest.skip.Exception)
"""Errors that a gate's findings take in: what was seen on a running edge was seen, whatever came next."""


def settle(item: pytest.Item, error: BaseException | None) -> BaseException | None:
    """Return the error with which a test's call ends, given the one that it raised and what its gate found.

    Findings do not beat broken surroundings other than a wait that ran out: a dead lab makes neighbours dark too.
    """
    gate = item.stash.get(GATE, None)
    if gate is None or not gate.evidence.findings:
        return error
    if error is None:
        return GateFailed(gate.story())
    if isinstance(error, _DECISIONS):
        return GateFailed(f"{gate.story()}\nthen     {error}")
    error.add_note(f"Before that, the gate had found:\n{gate.story()}")
    return error


def mark(item: pytest.Item, call: pytest.CallInfo[Any], report: Report) -> Report:
    """Return the report with the verdict of this phase and what the controller has to know."""
    run = item.config.stash[RUN]
    fault = _fault(item, call, report)
    if fault is not None:
        report.outcome = "failed"
        report.longrepr = f"inconclusive: {_told(run, fault, item.nodeid)}"
    elif call.excinfo is not None and isinstance(call.excinfo.value, GateFailed):
        report.longrepr = str(call.excinfo.value)
    if fault is not None or uses_edge(item):
        setattr(report, EXTRA, _extra(item, run, report, fault))
    return report


def is_inconclusive(report: object) -> bool:
    """Say whether a report is one whose surroundings broke."""
    return getattr(report, EXTRA, {}).get("verdict") == Verdict.INCONCLUSIVE


def add(run: Run, report: Report) -> None:
    """Take a report into the run, where reports arrive: in the only process, or in xdist's controller."""
    extra: dict[str, Any] = getattr(report, EXTRA, {})
    verdict = Verdict(extra["verdict"]) if extra else Verdict.FAIL if report.failed else Verdict.PASS
    if report.failed:
        run.outcomes[verdict] += 1
    if not extra:
        return
    run.edge = extra["edge"] or run.edge
    tested = run.tested.setdefault(report.nodeid, Tested(report.nodeid, gate=extra["gate"]))
    tested.seconds += report.duration
    tested.evidence = extra["evidence"] or tested.evidence
    tested.bundle = extra["bundle"] or tested.bundle
    if _worse(verdict, tested.verdict):
        tested.verdict, tested.phase, tested.reason = verdict, report.when, extra["reason"]


def _worse(one: Verdict, other: Verdict) -> bool:
    order = [Verdict.PASS, Verdict.INCONCLUSIVE, Verdict.FAIL]
    return order.index(one) > order.index(other)


def _fault(item: pytest.Item, call: pytest.CallInfo[Any], report: Report) -> EnvironmentFault | None:
    """Return why a phase is inconclusive; None when it is not. A gate that is skipped shows nothing either."""
    if report.skipped and not hasattr(report, "wasxfail") and gate_name(item) and call.excinfo is not None:
        return NotShown(f"the gate was skipped: {call.excinfo.value}")
    return fault_of(call.excinfo.value) if report.failed and call.excinfo is not None else None


def _told(run: Run, fault: EnvironmentFault, test: str) -> str:
    """Return a fault's text in full the first time, and after that one line that points to the first test."""
    if isinstance(fault, EdgeNotUp):
        return str(fault)
    for known, first in run.faults:
        if known is fault and first != test:
            return f"{headline(str(fault))} (the full error is with {first})"
    run.faults.append((fault, test))
    return reason(fault)


def _extra(item: pytest.Item, run: Run, report: Report, fault: EnvironmentFault | None) -> dict[str, Any]:
    edge = {} if run.edge_told else run.edge
    run.edge_told = run.edge_told or bool(run.edge)
    gate: Gate | None = item.stash.get(GATE, None)
    verdict = Verdict.INCONCLUSIVE if fault else Verdict.FAIL if report.failed else Verdict.PASS
    return {
        "verdict": str(verdict),
        "gate": gate_name(item),
        "reason": str(report.longrepr).removeprefix("inconclusive: ") if report.failed else "",
        "edge": edge,
        "evidence": gate.evidence.as_data() if gate and report.when == "call" else {},
        "bundle": "",
    }
