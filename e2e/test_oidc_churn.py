"""A tenant who deletes his login policy and creates it again, many times, harms nobody.

Envoy Gateway issue 10075: Envoy crashed when an OIDC policy was deleted and created anew, and every tenant of the
shared proxy was dark until its container had been started again, up to ten seconds later.
"""

import pytest

from edgegate import Edge, OidcPolicyFactory, SecretState, Target, TenantFactory
from edgegate import LoginScenario as Login

pytestmark = [
    pytest.mark.edge_gate("oidc-churn"),
    pytest.mark.edge_exclusive,
    pytest.mark.timeout(300),  # an Envoy that crashes again and again is waited for longer each time
]

ROUNDS = 60
"""How often the policy comes and goes. Envoy 1.38.3 survived 30 in one of five runs, 60 in none of eight."""


def test_policy_comes_and_goes(edge: Edge, login: Login, tenant: TenantFactory, oidc_policy: OidcPolicyFactory) -> None:
    """No neighbour is dark for one look, and Envoy neither refuses anything nor ends, while a policy comes and goes."""
    restless, targets = tenant("restless"), tuple(Target)
    with login.phase("warm"):
        for number in range(ROUNDS):
            policy = oidc_policy(restless, targets[number % 2], SecretState.VALID)
            login.acts(policy)
            policy.remove(edge.limits.gone)
            login.acts_no_more(policy)
