"""A customer's policy and its Secret come to act, and the policy says so, in whatever order they were created."""

import pytest

from edgegate import CustomerPasswordFactory, Edge, Gate, HttpProxyFactory, Promises, Source

pytestmark = [
    pytest.mark.edge_gate("policy-propagation"),
    pytest.mark.edge_parts("operator"),
]


@pytest.mark.parametrize("order", ["proxy_secret_policy", "proxy_policy_secret", "policy_secret_proxy"])
def test_created_in_order(
    edge: Edge,
    gate: Gate,
    must: Promises,
    http_proxy: HttpProxyFactory,
    customer_password: CustomerPasswordFactory,
    order: str,
) -> None:
    """The policy is accepted where the customer looks, a visitor needs the password, and the password opens.

    Where the Secret comes after the policy, it comes when nobody looks at that any more: who is quicker is no order.
    """
    proxy = http_proxy(create=False)
    policy = customer_password(proxy)
    create = {"proxy": proxy.create, "policy": policy.create, "secret": policy.create_secret}
    for one in order.split("_"):
        create[one]()
        if one == "policy" and "policy_secret" in order:
            must.come(policy, "held as PendingSecret", lambda: policy.wait_held(edge.limits.accepted))
            must.never_come(policy, "Accepted=True", lambda: policy.wait_told(edge.limits.settle))
    host = proxy.canonical(edge.limits.released)
    must.come(policy, "Accepted=True", lambda: policy.wait_told(edge.limits.released))
    with gate.must(Source.TRAFFIC, host, "401 without the password"):
        policy.wait_refused(host, edge.limits.released)
    with gate.must(Source.TRAFFIC, host, "200 with the password"):
        policy.wait_admitted(host, edge.limits.released)
