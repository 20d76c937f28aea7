"""Run a gate's scenarios in a pytest of their own and read the report."""

import json
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgegate.cli.talk import Talk
from edgegate.errors import NoReport, UnknownGate
from edgegate.records import Verdict
from edgegate.resources import resource

GATES = {
    "oidc-isolation": "test_oidc_isolation.py",
    "oidc-churn": "test_oidc_churn.py",
    "convergence": "test_convergence_one.py",
    "convergence-burst": "test_convergence_burst.py",
    "convergence-conflicts": "test_convergence_conflicts.py",
    "convergence-fresh-zone": "test_convergence_fresh_zone.py",
    "convergence-hundred": "test_convergence_hundred.py",
    "convergence-many-names": "test_convergence_many_names.py",
    "convergence-pending-issuer": "test_convergence_pending_issuer.py",
    "convergence-self-check": "test_convergence_self_check.py",
    "hostname-claims": "test_hostname_claims.py",
    "http01": "test_http01.py",
    "http01-hostile": "test_http01_hostile.py",
    "truth": "test_truth.py",
    "error-page": "test_error_page.py",
    "oidc-guard": "test_oidc_guard.py",
    "dns-records": "test_dns_records.py",
    "domain-verification": "test_domain_verification.py",
    "hostname-removal": "test_hostname_removal.py",
    "policy-propagation": "test_policy_propagation.py",
    "waf-load": "test_waf_load.py",
    "waf-changes": "test_waf_changes.py",
    "waf-enforce": "test_waf_enforce.py",
    "waf-isolation": "test_waf_isolation.py",
    "waf-limits": "test_waf_limits.py",
    "waf-outage": "test_waf_outage.py",
    "waf-precedence": "test_waf_precedence.py",
    "waf-transparency": "test_waf_transparency.py",
}
"""Gate to its scenario file below `e2e/`."""


@dataclass(frozen=True)
class GateRun:
    """One run of a gate on one choice of versions."""

    folder: Path
    """The run's folder with report.json and report.html."""
    report: Mapping[str, Any]
    """What report.json says."""

    @property
    def verdict(self) -> Verdict:
        """The verdict of the whole run."""
        return Verdict(self.report["verdict"])

    @property
    def running(self) -> dict[str, str]:
        """The versions that really ran; empty when the edge did not come up."""
        return dict(self.report.get("versions", {}).get("running") or {})


def scenario_file(gate: str) -> Path:
    """Return the file of a gate.

    Raises:
        UnknownGate: there is none of that name.
    """
    if gate not in GATES:
        raise UnknownGate(gate, sorted(GATES))
    return resource("e2e") / GATES[gate]


def run_gate(
    gate: str,
    versions: Mapping[str, str],
    folder: Path,
    talk: Talk,
    *,
    options: Sequence[str] = (),
    keep: bool = False,
) -> GateRun:
    """Run a gate on an edge with those versions, and return what it reported.

    Args:
        gate: its name.
        versions: component to version.
        folder: the run folder.
        talk: pytest's output goes to its standard error.
        options: further arguments of pytest, such as `-k EXPRESSION`.
        keep: use a kept edge, or keep the one that is started; otherwise it has an edge of its own.

    Raises:
        UnknownGate: there is none of that name.
        NoReport: pytest ended without a report, for instance because an option was refused.
    """
    chosen = [word for name, version in versions.items() for word in ("--edge-set", f"{name}={version}")]
    argv = [
        *(sys.executable, "-m", "pytest", str(scenario_file(gate))),
        *(("--edge-keep",) if keep else ("--edge-reuse", "never")),
        *("--edge-run-dir", str(folder), "-p", "no:cacheprovider"),
        *chosen,
        *options,
    ]
    talk.say(f"$ {shlex.join(argv[2:])}")
    done = subprocess.run(argv, check=False, stdout=sys.stderr)
    try:
        return GateRun(folder, json.loads((folder / "report.json").read_text()))
    except (OSError, ValueError) as missing:
        raise NoReport(gate, folder, status=done.returncode) from missing


def try_gate(run: Callable[[], GateRun], talk: Talk) -> GateRun:
    """Return what one of many runs of `run_gate` reported: hours of the others must not be lost with it.

    A run that ends without a report is told, and inconclusive.
    """
    try:
        return run()
    except NoReport as missing:
        talk.say(str(missing))
        return GateRun(missing.folder, {"verdict": Verdict.INCONCLUSIVE, "tests": []})
