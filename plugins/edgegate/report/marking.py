"""Turn what a test did into what its report says. The report crosses from worker to controller: plain values only.

An inconclusive report keeps pytest's outcome `failed`, because everything that does not know our word (junit
readers, `--lf`, `-x`, other plugins) must see "not passed". What makes it inconclusive is one extra attribute.
"""

import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from edgegate.errors import (
    AdminUnreachable,
    CrashedUnderTest,
    EdgeNotUp,
    EnvironmentFault,
    GateFailed,
    NeverReady,
    NotAllowed,
    NotShown,
    RunFolderUnwritable,
)
from edgegate.records import Source, Verdict
from edgegate.report.gate import Gate
from edgegate.report.outcome import fault_of, headline, reason
from edgegate.report.run import GATE, RUN, Run, Tested, gate_name, uses_edge
from edgegate.report.waiving import waive
from edgegate.waivers import Waiver

Report = pytest.TestReport
EXTRA = "edgegate"
"""Name of the attribute that a report carries."""
KEPT = pytest.StashKey[bool]()
"""Whether a test has a bundle already, in `item.stash`."""
CRASHED = "???"
"""The phase that xdist gives the report of a test whose worker died."""


_DECISIONS = (
    AdminUnreachable, AssertionError, NeverReady, NotAllowed, pytest.fail.Exception, pytest.skip.Exception,
)  # fmt: skip
"""Errors that a gate's findings take in: what was seen on a running edge was seen, whatever came next. An Envoy that
crashes again and again does not answer when it is asked what it refused."""


def check_edge(item: pytest.Item) -> None:
    """Raise what has befallen the edge, if it is known: a test that has not begun need not try."""
    broken = item.config.stash[RUN].broken
    if broken is not None and uses_edge(item):
        raise broken


def rooted(item: pytest.Item, error: BaseException) -> BaseException:
    """Return the error with which set-up or tear-down ends: what has befallen the edge, if anything has."""
    broken = item.config.stash[RUN].root_cause(thorough=True) if uses_edge(item) else None
    return error if broken is None else broken


def settle(item: pytest.Item, error: BaseException | None) -> BaseException | None:
    """Return the error with which a test's call ends, given the one that it raised and what its gate found.

    Findings do not beat broken surroundings other than a wait that ran out: a dead lab makes neighbours dark too. The
    end of a process that is itself under test is one finding more, and so is that of an Envoy that runs again.
    """
    run, gate = item.config.stash[RUN], item.stash.get(GATE, None)
    wrong = error is not None or (gate is not None and bool(gate.evidence.findings))
    broken = run.root_cause(thorough=wrong) if uses_edge(item) else None
    if broken is None and gate is not None:
        gate.evidence.findings.extend(run.crashed())
    if broken is not None and gate is not None and isinstance(broken, CrashedUnderTest):
        gate.check(Source.DATA_PLANE, broken.name, "runs", f"{broken.what}:\n{broken.tail}".rstrip(), right=False)
    elif broken is not None and not isinstance(error, pytest.skip.Exception):
        error = broken
    if gate is None:
        return error
    if not gate.evidence.findings:
        return error or gate.doubt()
    if error is None:
        return GateFailed(gate.story())
    if isinstance(error, _DECISIONS):
        return GateFailed(gate.story(then=reason(error)))
    error.add_note(f"Before that, the gate had found:\n{gate.story()}")
    return error


def crashed(item: pytest.Item) -> GateFailed | None:
    """Return the error for an Envoy that has ended by itself and was not told yet, None when there is none.

    The test at whose end it is seen fails: it undid something, and that is what the Envoy did not survive.
    """
    run, gate = item.config.stash[RUN], item.stash.get(GATE, None)
    if not uses_edge(item) or run.broken is not None or not (found := run.crashed()):
        return None
    if gate is None:
        return GateFailed("; ".join(f"{one.subject}: expected that it {one.expected}, {one.seen}" for one in found))
    gate.evidence.findings.extend(found)
    return GateFailed(gate.story())


def mark(item: pytest.Item, call: pytest.CallInfo[Any], report: Report) -> Report:
    """Return the report with the verdict of this phase and what the controller has to know."""
    run = item.config.stash[RUN]
    fault = _fault(item, call, report)
    pointer = _pointer(run, fault, item.nodeid) if fault else None
    if fault is not None:
        report.outcome = "failed"
        report.longrepr = f"inconclusive: {pointer or reason(fault)}"
    elif call.excinfo is not None and isinstance(call.excinfo.value, GateFailed):
        report.longrepr = str(call.excinfo.value)
    waiver = _waiver(item, run) if fault is None and report.when == "call" and not report.skipped else None
    if fault is not None or uses_edge(item):
        extra = {**_extra(item, run, report, fault), "pointer": pointer is not None}
        if waiver is not None:
            extra |= {"verdict": str(waive(report, waiver)), "waiver": waiver.as_data()}
            extra["reason"] = str(report.longrepr) if report.failed else extra["reason"]
        setattr(report, EXTRA, extra)
    return report


def _waiver(item: pytest.Item, run: Run) -> Waiver | None:
    """Return the waiver for a test, given the versions that really run."""
    gate: Gate | None = item.stash.get(GATE, None)
    running = gate.evidence.running if gate else run.edge.get("versions", {})
    return run.waivers.covering(gate_name(item), item.nodeid, run.operator, running)


def keep(item: pytest.Item, call: pytest.CallInfo[Any], report: Report, write: Callable[[Path, str], object]) -> None:
    """Have a bundle written for the first phase of a test that did not pass, and let the report point to it.

    A test that only points to another's root cause gets none. Trouble with the disk never hides the failure.
    """
    extra: dict[str, Any] = getattr(report, EXTRA, {})
    wrong = report.failed or extra.get("verdict") == Verdict.WAIVED
    if not wrong or call.excinfo is None or not extra or extra["pointer"] or item.stash.get(KEPT, False):
        return
    item.stash[KEPT] = True
    folder = item.config.stash[RUN].folder
    where = folder.bundle(item.nodeid)
    sections = [f"\n--- {title} ---\n{content}" for title, content in report.sections]
    try:
        folder.join()
        write(where, _trace(item, call.excinfo.value) + "".join(sections))
        extra["bundle"] = str(where.relative_to(folder.path))
    except (OSError, RunFolderUnwritable) as error:
        report.sections.append(("diagnostics", f"could not be written: {error}"))


def _trace(item: pytest.Item, error: BaseException) -> str:
    """Return a traceback that begins in the test's own file, if it passes there at all."""
    frame = error.__traceback__
    while frame is not None and frame.tb_frame.f_code.co_filename != str(item.path):
        frame = frame.tb_next
    return "".join(traceback.format_exception(type(error), error, frame or error.__traceback__))


def verdict_of(report: object) -> str:
    """Return the verdict that a report carries; an empty text when it has none."""
    return str(getattr(report, EXTRA, {}).get("verdict", ""))


def add(run: Run, report: Report) -> None:
    """Take a report into the run, where reports arrive: in the only process, or in xdist's controller."""
    extra: dict[str, Any] = getattr(report, EXTRA, {})
    verdict = Verdict(extra["verdict"]) if extra else Verdict.FAIL if report.failed else Verdict.PASS
    if report.failed:
        run.outcomes[verdict] += 1
    if report.when == CRASHED:
        extra = {**_NOTHING, "reason": str(report.longrepr)}
    if not extra:
        return
    run.edge = extra["edge"] or run.edge
    tested = run.tested.setdefault(report.nodeid, Tested(report.nodeid, gate=extra["gate"]))
    tested.seconds += report.duration
    tested.evidence = extra["evidence"] or tested.evidence
    tested.bundle = extra["bundle"] or tested.bundle
    tested.waiver = extra["waiver"] or tested.waiver
    if verdict is Verdict.INCONCLUSIVE:
        tested.faults.append({"phase": str(report.when), "reason": extra["reason"]})
    if _worse(verdict, tested.verdict):
        tested.verdict, tested.phase, tested.reason = verdict, report.when, extra["reason"]


_NOTHING: dict[str, Any] = {"gate": "", "edge": {}, "evidence": {}, "bundle": "", "waiver": {}}


def _worse(one: Verdict, other: Verdict) -> bool:
    order = [Verdict.PASS, Verdict.WAIVED, Verdict.INCONCLUSIVE, Verdict.FAIL]
    return order.index(one) > order.index(other)


def _fault(item: pytest.Item, call: pytest.CallInfo[Any], report: Report) -> EnvironmentFault | None:
    """Return why a phase is inconclusive; None when it is not. A gate that is skipped shows nothing either."""
    if report.skipped and not hasattr(report, "wasxfail") and gate_name(item) and call.excinfo is not None:
        return NotShown(f"the gate was skipped: {call.excinfo.value}")
    return fault_of(call.excinfo.value) if report.failed and call.excinfo is not None else None


def _pointer(run: Run, fault: EnvironmentFault, test: str) -> str | None:
    """Return one line that points to the test which shows this fault in full; None when this is that test."""
    if isinstance(fault, EdgeNotUp):
        return str(fault)
    for known, first in run.faults:
        if known is fault and first != test:
            return f"{headline(str(fault))} (the full error is with {first})"
    run.faults.append((fault, test))
    return None


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
        "evidence": gate.evidence.as_data() if gate and (report.when == "call" or report.failed) else {},
        "bundle": "",
        "waiver": {},
    }
