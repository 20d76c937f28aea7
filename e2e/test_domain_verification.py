"""A domain is believed to be the customer's once its proof is right, soon after it was repaired, and only once."""

import pytest

from edgegate import DomainFactory, Edge, Gate, Promises

pytestmark = [pytest.mark.edge_gate("domain-verification"), pytest.mark.edge_parts("operator")]


def test_wrong_proof_is_repaired(edge: Edge, gate: Gate, domain: DomainFactory, must: Promises) -> None:
    """A wrong TXT record is told; after its repair the refresh field helps within seconds, not at the next schedule."""
    mine = domain()
    must.come(mine, "a record to publish", lambda: mine.proof(edge.limits.accepted))
    proof = mine.proof(edge.limits.accepted)
    edge.dns.publish(mine.name, proof.name, "wrong", within=edge.limits.converge)
    refused = "VerificationRecordContentMismatch"
    must.come(mine, refused, lambda: mine.wait_refused(refused, edge.limits.converge))
    far = mine.wait_next_attempt(beyond=4 * edge.limits.released, within=edge.limits.converge)
    gate.poison("the proof is wrong", live=True, evidence=f"the next attempt is {far:.0f} s away")
    edge.dns.publish(mine.name, proof.name, proof.content, within=edge.limits.converge)
    mine.refresh()
    must.come(mine, "Verified=True", lambda: mine.wait_verified(edge.limits.released))


def test_same_domain_twice(domain: DomainFactory, must: Promises) -> None:
    """A second Domain of the same name is refused, and told why."""
    first = domain()
    second = domain(first.name, object_name="again", create=False)
    must.refuse(f"a second {first}", second.create, saying=first.name)
