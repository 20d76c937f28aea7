"""A host name gets its certificate from an authority that is slow and refuses good requests now and then.

By name only: what it takes is the authority's dice, and says little of an edge.
"""

import pytest

from edgegate import Edge, Gate, GatewayFactory, Promises, ZoneFactory

pytestmark = [
    pytest.mark.edge_gate("http01-hostile"),
    pytest.mark.edge_by_name,
    pytest.mark.edge_exclusive,
    pytest.mark.edge_parts("operator"),
    pytest.mark.timeout(180),
]


def test_hostile_authority(
    edge: Edge, gate: Gate, dns_zone: ZoneFactory, customer_gateway: GatewayFactory, must: Promises
) -> None:
    """Up to 4 s before it looks, every fifth good nonce refused, old authorizations used again: it is issued."""
    hostile, host = edge.acme.hostile, dns_zone().host("www")
    log = edge.lab.log(hostile.server.name).read_text()
    refuses = "Configured to reject 20% of good nonces" in log
    gate.poison(
        "the authority is hostile", live=refuses, evidence=f"{hostile.server.name} rejects good nonces: {refuses}"
    )
    customer_gateway("shop", host, issuers={host: "hostile"}).create()
    must.secure(host, issuer=hostile)
