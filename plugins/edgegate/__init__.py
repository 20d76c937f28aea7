"""A production-fidelity Kubernetes edge on one machine, and gates that decide by real traffic."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from edgegate.records import Finding, Source, Verdict
from edgegate.report.gate import Gate, inconclusive
from edgegate.stages import Stage

if TYPE_CHECKING:
    from edgegate.clusters.plane import ControlPlane
    from edgegate.edge import Edge
    from edgegate.edge.crowd import ManyNames, Quarrel
    from edgegate.edge.customer import Customer
    from edgegate.edge.customer_gateway import CustomerGateway, gateway_class, redirecting_route, route_with_hostnames
    from edgegate.edge.customer_login import CustomerLogin
    from edgegate.edge.customer_password import CustomerPassword
    from edgegate.edge.firewall import Firewall
    from edgegate.edge.guard import Guard
    from edgegate.edge.guarded import Guarded
    from edgegate.edge.http_proxy import Backend, HttpProxy
    from edgegate.edge.login_scenario import LoginScenario
    from edgegate.edge.oidc_policy import OidcPolicy, SecretState, Target
    from edgegate.edge.origin import Origin
    from edgegate.edge.promises import Promises
    from edgegate.edge.tenant import Tenant
    from edgegate.edge.waf_policy import WafPolicy
    from edgegate.edge.zone import Domain, Zone
    from edgegate.fixtures.crowd import CrowdFactory
    from edgegate.fixtures.firewall import GuardedFactory, WafPolicyFactory
    from edgegate.fixtures.objects import Apply
    from edgegate.fixtures.policies import CustomerLoginFactory, CustomerPasswordFactory
    from edgegate.fixtures.proxies import (
        CustomerFactory,
        DomainFactory,
        ElsewhereFactory,
        GatewayFactory,
        HttpProxyFactory,
        OriginFactory,
        ZoneFactory,
    )
    from edgegate.fixtures.tenants import OidcPolicyFactory, TenantFactory
    from edgegate.probes.convergence import Observers, StageClock
    from edgegate.slo import Slo

__all__ = [
    "Apply",
    "Backend",
    "ControlPlane",
    "CrowdFactory",
    "Customer",
    "CustomerFactory",
    "CustomerGateway",
    "CustomerLogin",
    "CustomerLoginFactory",
    "CustomerPassword",
    "CustomerPasswordFactory",
    "Domain",
    "DomainFactory",
    "Edge",
    "ElsewhereFactory",
    "Finding",
    "Firewall",
    "Gate",
    "GatewayFactory",
    "Guard",
    "Guarded",
    "GuardedFactory",
    "HttpProxy",
    "HttpProxyFactory",
    "LoginScenario",
    "ManyNames",
    "Observers",
    "OidcPolicy",
    "OidcPolicyFactory",
    "Origin",
    "OriginFactory",
    "Promises",
    "Quarrel",
    "SecretState",
    "Slo",
    "Source",
    "Stage",
    "StageClock",
    "Target",
    "Tenant",
    "TenantFactory",
    "Verdict",
    "WafPolicy",
    "WafPolicyFactory",
    "Zone",
    "ZoneFactory",
    "gateway_class",
    "inconclusive",
    "redirecting_route",
    "route_with_hostnames",
]

_LATE = {
    "Apply": "edgegate.fixtures.objects",
    "Backend": "edgegate.edge.http_proxy",
    "ControlPlane": "edgegate.clusters.plane",
    "CrowdFactory": "edgegate.fixtures.crowd",
    "Customer": "edgegate.edge.customer",
    "CustomerFactory": "edgegate.fixtures.proxies",
    "CustomerGateway": "edgegate.edge.customer_gateway",
    "CustomerLogin": "edgegate.edge.customer_login",
    "CustomerLoginFactory": "edgegate.fixtures.policies",
    "CustomerPassword": "edgegate.edge.customer_password",
    "CustomerPasswordFactory": "edgegate.fixtures.policies",
    "Domain": "edgegate.edge.zone",
    "DomainFactory": "edgegate.fixtures.proxies",
    "Edge": "edgegate.edge",
    "ElsewhereFactory": "edgegate.fixtures.proxies",
    "Firewall": "edgegate.edge.firewall",
    "GatewayFactory": "edgegate.fixtures.proxies",
    "Guard": "edgegate.edge.guard",
    "Guarded": "edgegate.edge.guarded",
    "GuardedFactory": "edgegate.fixtures.firewall",
    "HttpProxy": "edgegate.edge.http_proxy",
    "HttpProxyFactory": "edgegate.fixtures.proxies",
    "LoginScenario": "edgegate.edge.login_scenario",
    "ManyNames": "edgegate.edge.crowd",
    "Observers": "edgegate.probes.convergence",
    "OidcPolicy": "edgegate.edge.oidc_policy",
    "OidcPolicyFactory": "edgegate.fixtures.tenants",
    "Origin": "edgegate.edge.origin",
    "OriginFactory": "edgegate.fixtures.proxies",
    "Promises": "edgegate.edge.promises",
    "Quarrel": "edgegate.edge.crowd",
    "SecretState": "edgegate.edge.oidc_policy",
    "Slo": "edgegate.slo",
    "StageClock": "edgegate.probes.convergence",
    "Target": "edgegate.edge.oidc_policy",
    "Tenant": "edgegate.edge.tenant",
    "TenantFactory": "edgegate.fixtures.tenants",
    "WafPolicy": "edgegate.edge.waf_policy",
    "WafPolicyFactory": "edgegate.fixtures.firewall",
    "Zone": "edgegate.edge.zone",
    "ZoneFactory": "edgegate.fixtures.proxies",
    "gateway_class": "edgegate.edge.customer_gateway",
    "redirecting_route": "edgegate.edge.customer_gateway",
    "route_with_hostnames": "edgegate.edge.customer_gateway",
}
"""Names whose modules are imported when they are first used, so that `pytest --help` stays quick."""


def __getattr__(name: str) -> Any:
    """Return one of the late names."""
    if name not in _LATE:
        raise AttributeError(f"module 'edgegate' has no attribute '{name}'")
    return getattr(import_module(_LATE[name]), name)
