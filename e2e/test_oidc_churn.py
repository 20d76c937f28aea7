"""A tenant who deletes his login policy and creates it again, many times, harms nobody.

Envoy Gateway issue 10075: Envoy crashed when an OIDC policy was deleted and created anew, and every tenant of the
shared proxy was dark until its container had been started again, ten seconds later.
"""

import pytest

from edgegate import Edge, OidcPolicyFactory, SecretState, Target, TenantFactory
from edgegate import LoginScenario as Login

pytestmark = [
    pytest.mark.edge_gate("oidc-churn"),
    pytest.mark.edge_exclusive,
    pytest.mark.edge_by_name,
    pytest.mark.timeout(300),
]

ROUNDS = 60
"""How often the policy goes. Envoy 1.38.3 crashed within four seconds, long before the last (docs/gates.md)."""


def test_policy_comes_and_goes(edge: Edge, login: Login, tenant: TenantFactory, oidc_policy: OidcPolicyFactory) -> None:
    """No neighbour is dark for one look, and the proxy refuses nothing, while a policy comes and goes."""
    restless, targets = tenant("restless"), tuple(Target)
    with login.phase("warm"):
        for number in range(ROUNDS):
            policy = oidc_policy(restless, targets[number % 2], SecretState.VALID)
            login.accepted(policy)
            policy.remove(edge.limits.gone)
