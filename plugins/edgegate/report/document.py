"""report.json: built from the run, redacted, versioned. docs/report.md describes every field."""

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from edgegate.records import Verdict
from edgegate.redaction import redact
from edgegate.report import junit, page, stages
from edgegate.report.folder import SCHEMA, Document, edgegate_version, write_whole
from edgegate.report.gate import Evidence
from edgegate.report.run import Run, Tested, unlike
from edgegate.waivers import Waiver

WORST_FIRST = (Verdict.FAIL, Verdict.INCONCLUSIVE, Verdict.WAIVED, Verdict.PASS)


def build(run: Run, *, exit_status: int) -> Document:
    """Return the content of report.json."""
    tests = list(run.tested.values())
    ended, running = datetime.now(UTC), run.edge.get("versions", {})
    whole: Document = _redacted(
        {
            "schema": SCHEMA,
            "edgegate": edgegate_version(),
            "verdict": worst(one.verdict for one in tests),
            "exit_status": exit_status,
            "started": run.started.isoformat(timespec="seconds"),
            "seconds": round((ended - run.started).total_seconds(), 3),
            "settings": run.asked.settings,
            "versions": {
                "asked": run.asked.versions,
                "running": running,
                "unlike": unlike(run.asked.versions, running),
            },
            "edge": {
                "ready_seconds": run.edge.get("seconds"),
                "how": run.edge.get("how"),
                "usage": run.edge.get("usage", []),
            },
            "gates": _gates(run, tests),
            "waivers": [{**one.as_data(), "used": _used(one, tests)} for one in run.waivers.waivers],
            "tests": [_test(run, one) for one in tests],
        }
    )
    return whole


def write(document: Document, folder: Path) -> None:
    """Write report.json, report.html and junit.xml into a run folder."""
    write_whole(folder / "report.json", json.dumps(document, indent=2, ensure_ascii=False) + "\n")
    write_whole(folder / "report.html", page.render(document))
    write_whole(folder / "junit.xml", junit.render(document))


def worst(verdicts: Iterable[str]) -> str | None:
    """Return the worst of some verdicts; None when there are none, because nothing was said."""
    said = set(verdicts)
    return next((str(one) for one in WORST_FIRST if one in said), None)


def _gates(run: Run, tests: list[Tested]) -> list[Document]:
    """Return one entry a gate, the worst first; edge tests that belong to none are one entry without a name."""
    gates = []
    for name in dict.fromkeys(one.gate for one in tests):
        own = [one for one in tests if one.gate == name]
        broken = [one.id for one in own if one.verdict is not Verdict.PASS]
        gates.append(
            {
                "name": name or None,
                "verdict": worst(one.verdict for one in own),
                "seconds": round(sum(one.seconds for one in own), 3),
                "tests": [one.id for one in own],
                "again": run.asked.command(broken) if broken else None,
                "stages": stages.tables(one.evidence for one in own if one.evidence),
            }
        )
    return sorted(gates, key=lambda gate: WORST_FIRST.index(Verdict(gate["verdict"])))


def _used(waiver: Waiver, tests: list[Tested]) -> list[str]:
    """Return the tests whose verdict a waiver has decided."""
    return [one.id for one in tests if one.waiver.get("name") == waiver.name]


def _test(run: Run, one: Tested) -> Document:
    return {
        "id": one.id,
        "gate": one.gate or None,
        "verdict": str(one.verdict),
        "seconds": round(one.seconds, 3),
        "phase": one.phase or None,
        "reason": one.reason or None,
        "faults": one.faults,
        "waiver": one.waiver or None,
        **(one.evidence or Evidence().as_data()),
        "bundle": one.bundle or None,
        "again": None if one.verdict is Verdict.PASS else run.asked.command([one.id]),
    }


def _redacted(value: Any) -> Any:
    """Return a copy of plain values with secrets taken out of every text."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {key: _redacted(one) for key, one in value.items()}
    return [_redacted(one) for one in value] if isinstance(value, list | tuple) else value
