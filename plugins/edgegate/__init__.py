"""A production-fidelity Kubernetes edge on one machine, and gates that decide by real traffic."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from edgegate.records import Finding, Source, Verdict
from edgegate.report.gate import Gate, inconclusive

if TYPE_CHECKING:
    from edgegate.edge import Edge
    from edgegate.edge.guard import Guard
    from edgegate.edge.login_scenario import LoginScenario
    from edgegate.edge.oidc_policy import OidcPolicy, SecretState, Target
    from edgegate.edge.tenant import Tenant
    from edgegate.fixtures.objects import Apply
    from edgegate.fixtures.tenants import OidcPolicyFactory, TenantFactory

__all__ = [
    "Apply",
    "Edge",
    "Finding",
    "Gate",
    "Guard",
    "LoginScenario",
    "OidcPolicy",
    "OidcPolicyFactory",
    "SecretState",
    "Source",
    "Target",
    "Tenant",
    "TenantFactory",
    "Verdict",
    "inconclusive",
]

_LATE = {
    "Apply": "edgegate.fixtures.objects",
    "Edge": "edgegate.edge",
    "Guard": "edgegate.edge.guard",
    "LoginScenario": "edgegate.edge.login_scenario",
    "OidcPolicy": "edgegate.edge.oidc_policy",
    "OidcPolicyFactory": "edgegate.fixtures.tenants",
    "SecretState": "edgegate.edge.oidc_policy",
    "Target": "edgegate.edge.oidc_policy",
    "Tenant": "edgegate.edge.tenant",
    "TenantFactory": "edgegate.fixtures.tenants",
}
"""Names whose modules are imported when they are first used, so that `pytest --help` stays quick."""


def __getattr__(name: str) -> Any:
    """Return one of the late names."""
    if name not in _LATE:
        raise AttributeError(f"module 'edgegate' has no attribute '{name}'")
    return getattr(import_module(_LATE[name]), name)
