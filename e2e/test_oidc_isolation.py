"""One tenant's OIDC policy, right or wrong, darkens nobody else: neither warm nor after a cold restart of the proxy.

The incident class is #194: "an OIDC SecurityPolicy takes the entire shared gateway down". The poison is a *valid*
policy on an Envoy that is too old for its Envoy Gateway, so a gate that only removes the Secret cannot find it.
"""

import pytest

from edgegate import LoginScenario as Login
from edgegate import OidcPolicyFactory, SecretState, Target, TenantFactory

# Cold restarts and continuous looks: no other test may use the shared proxy meanwhile.
pytestmark = [pytest.mark.edge_gate("oidc-isolation"), pytest.mark.edge_exclusive]

BROKEN = (SecretState.MISSING, SecretState.WITHOUT_KEY, SecretState.WITHOUT_GRANT)


@pytest.mark.parametrize("target", Target)
@pytest.mark.parametrize("state", BROKEN)
def test_unusable_secret(
    login: Login, tenant: TenantFactory, oidc_policy: OidcPolicyFactory, state: SecretState, target: Target
) -> None:
    """A policy whose Secret cannot be used closes its own route and nothing else; a usable Secret opens it."""
    bad = tenant("bad")
    with login.phase("warm"):
        policy = oidc_policy(bad, target, state)
        login.refused(policy)

    with login.after_cold_restart():
        login.refused(policy)

    with login.phase("recovery"):
        login.repair(policy)
        login.asked_to_log_in(policy)


@pytest.mark.parametrize("target", Target)
def test_valid_policy(login: Login, tenant: TenantFactory, oidc_policy: OidcPolicyFactory, target: Target) -> None:
    """A valid policy sends its own tenant's visitors to the provider and changes nothing for anybody else."""
    guarded = tenant("guarded")
    with login.phase("warm"):
        policy = oidc_policy(guarded, target, SecretState.VALID)
        login.asked_to_log_in(policy)

    with login.after_cold_restart():
        login.asked_to_log_in(policy)


@pytest.mark.parametrize("target", Target)
def test_valid_beside_missing(
    login: Login, tenant: TenantFactory, oidc_policy: OidcPolicyFactory, target: Target
) -> None:
    """A valid and an unusable policy of two tenants on one listener do not disturb each other."""
    guarded, bad = tenant("guarded"), tenant("bad")
    with login.phase("warm"):
        broken = oidc_policy(bad, target, SecretState.MISSING)
        valid = oidc_policy(guarded, target, SecretState.VALID)
        login.refused(broken)
        login.asked_to_log_in(valid)

    with login.after_cold_restart():
        login.refused(broken)
        login.asked_to_log_in(valid)


def test_login_works(login: Login, tenant: TenantFactory, oidc_policy: OidcPolicyFactory) -> None:
    """A visitor is sent to the provider, logs in, comes back, sees the site, logs out, and must log in again."""
    guarded = tenant("guarded")
    policy = oidc_policy(guarded, Target.ROUTE, SecretState.VALID)
    login.asked_to_log_in(policy)
    login.complete_round(policy)
