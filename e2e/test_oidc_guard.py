"""A customer's login policy is held while its Secret is missing, its route stays shut, and it is released in seconds.

The guard keeps the poison of #194 off the edge. Held back without anything else, though, the route would be open to
everybody: the promise is to fail closed.
"""

import pytest

from edgegate import (
    CustomerLogin,
    CustomerLoginFactory,
    Edge,
    Gate,
    HttpProxy,
    HttpProxyFactory,
    Promises,
    Source,
    Target,
)

# Continuous looks: no other test may use the shared proxy meanwhile.
pytestmark = [
    pytest.mark.edge_gate("oidc-guard"),
    pytest.mark.edge_exclusive,
    pytest.mark.edge_parts("operator"),
]


@pytest.fixture
def neighbour(edge: Edge, http_proxy: HttpProxyFactory) -> tuple[HttpProxy, str, bool]:
    """A proxy of the same customer that must not notice."""
    return _served(edge, http_proxy(name="neighbour"))


def _served(edge: Edge, proxy: HttpProxy) -> tuple[HttpProxy, str, bool]:
    host = proxy.canonical()
    proxy.wait_served(host, within=edge.limits.converge)
    return proxy, host, False


def _must_be_held(edge: Edge, gate: Gate, policy: CustomerLogin) -> None:
    """Judge a policy whose Secret is missing: it says so, it is not on the edge, and its route gives no content."""
    with gate.must(Source.STATUS, str(policy), "Accepted=False with reason PendingSecret"):
        policy.wait_held(edge.limits.accepted)
    with gate.must(Source.TRAFFIC, policy.host, "no content without login"):
        policy.wait_shut(edge.limits.accepted)
    with gate.must(Source.STATUS, f"{policy} on the edge cluster", "no copy of it"):
        policy.wait_withdrawn(edge.limits.accepted)


def _must_be_released(edge: Edge, gate: Gate, must: Promises, policy: CustomerLogin) -> None:
    """Judge a policy whose Secret has come: it acts within seconds, and nobody gets in meanwhile."""
    with must.stay_shut(policy.proxy, policy.host):
        policy.create_secret()
        with gate.must(Source.TRAFFIC, policy.host, f"302 to {policy.provider}"):
            policy.wait_asked(edge.limits.released)


@pytest.mark.parametrize("target", Target)
def test_policy_before_secret(
    edge: Edge,
    gate: Gate,
    must: Promises,
    http_proxy: HttpProxyFactory,
    customer_login: CustomerLoginFactory,
    neighbour: tuple[HttpProxy, str, bool],
    target: Target,
) -> None:
    """A policy that comes before its Secret is held, its route is shut, and the Secret releases it."""
    guarded, host, _ = _served(edge, http_proxy(name="guarded"))
    policy = customer_login(guarded, target, host)
    with must.stay_served(neighbour):
        with gate.during("policy before secret"):
            policy.create()
            policy.plant(gate)
            _must_be_held(edge, gate, policy)
        with gate.during("secret comes"):
            _must_be_released(edge, gate, must, policy)


def test_secret_deleted(
    edge: Edge,
    gate: Gate,
    must: Promises,
    http_proxy: HttpProxyFactory,
    customer_login: CustomerLoginFactory,
    neighbour: tuple[HttpProxy, str, bool],
) -> None:
    """A policy whose Secret is deleted later is held anew, and its route is never open to everybody meanwhile."""
    gone = False
    guarded, host, _ = _served(edge, http_proxy(name="guarded"))
    policy = customer_login(guarded, Target.ROUTE, host)
    with must.stay_served(neighbour):
        with gate.during("secret before policy"):
            policy.create_secret()
            policy.create()
            with gate.must(Source.TRAFFIC, host, f"302 to {policy.provider}"):
                policy.wait_asked(edge.limits.released)
        with gate.during("secret deleted"), must.stay_shut(guarded, host):
            policy.delete_secret()
            policy.plant(gate)
            _must_be_held(edge, gate, policy)
            with gate.must(Source.STATUS, str(policy.secret), "gone, as its owner wants it"):
                policy.wait_secret_gone(edge.limits.gone)
                gone = True
            # What the edge makes of a policy that has left is seen a translation later, so the watch goes on.
            must.never_answer(
                host, "content without login", lambda: guarded.wait_served(host, within=edge.limits.settle)
            )
        with gate.during("secret comes back"):
            if gone:
                _must_be_released(edge, gate, must, policy)


def test_login_is_taken_away(
    edge: Edge, gate: Gate, must: Promises, http_proxy: HttpProxyFactory, customer_login: CustomerLoginFactory
) -> None:
    """A customer who deletes his policy is served without login again, and can delete the Secret too."""
    guarded, host, _ = _served(edge, http_proxy(name="guarded"))
    policy = customer_login(guarded, Target.ROUTE, host)
    policy.create_secret()
    policy.create()
    with gate.must(Source.TRAFFIC, host, f"302 to {policy.provider}"):
        policy.wait_asked(edge.limits.released)
    policy.delete()
    must.come(policy, "gone", lambda: policy.wait_gone(edge.limits.gone))
    must.serve(guarded, host)
    must.never_come(policy.secret, "gone with the policy", lambda: policy.wait_secret_gone(edge.limits.settle))
    policy.delete_secret()
    if not must.come(policy.secret, "gone", lambda: policy.wait_secret_gone(edge.limits.gone)):
        policy.free_secret()
