"""A production-fidelity Kubernetes edge on one machine, and gates that decide by real traffic."""

from edgegate.records import Finding, Source, Verdict
from edgegate.report.gate import Gate, inconclusive

__all__ = ["Finding", "Gate", "Source", "Verdict", "inconclusive"]
