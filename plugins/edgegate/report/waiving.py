"""What a waiver makes of the report of a test that it covers."""

from datetime import UTC, date, datetime

import pytest

from edgegate.records import Verdict
from edgegate.report.outcome import headline
from edgegate.waivers import Waiver

_RENEW = "Repair what it is about and remove it, or decide anew and set another day."


def waive(report: pytest.TestReport, waiver: Waiver, today: date | None = None) -> Verdict:
    """Change the report of a test's call as its waiver says, and return the verdict.

    A failure becomes what pytest knows as an expected one, so that neither the exit status nor `-x` nor `--lf` minds.
    A pass becomes a failure, and so does everything under a waiver that has expired.
    """
    if waiver.expired(today or datetime.now(UTC).date()):
        then = (
            f". {_RENEW}\n{report.longrepr}"
            if report.failed
            else f", and the test passed. Remove [waiver.{waiver.name}]."
        )
        return _fail(report, f"waiver {waiver.name} has expired on {waiver.expires}{then}")
    if not report.failed:
        return _fail(
            report,
            f"waiver {waiver.name} is no longer needed: the test passed. Remove [waiver.{waiver.name}], or narrow its "
            f"tests to those that still fail.\nIt says: {waiver.reason} ({waiver.link})",
        )
    report.outcome = "skipped"
    report.wasxfail = f"waived by {waiver.name}: {headline(waiver.reason)}"
    return Verdict.WAIVED


def _fail(report: pytest.TestReport, reason: str) -> Verdict:
    report.outcome, report.longrepr = "failed", reason
    return Verdict.FAIL
