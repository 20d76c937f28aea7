"""Claims of quota: which objects of a customer hold one, and whether each claim has its object."""

from edgegate.clock import wait_until
from edgegate.clusters import kinds
from edgegate.clusters.inventory import inventory, namespaced_kinds
from edgegate.clusters.kinds import Kind
from edgegate.clusters.plane import ControlPlane
from edgegate.edge.customer import Customer
from edgegate.records import Source
from edgegate.report.gate import Gate

COUNTED = frozenset(
    {
        "Backend", "BackendTLSPolicy", "BackendTrafficPolicy", "Connector", "ConnectorAdvertisement", "Domain",
        "EndpointSlice", "Gateway", "HTTPProxy", "HTTPRoute", "HTTPRouteFilter", "SecurityPolicy",
        "TrafficProtectionPolicy",
    }
)  # fmt: skip
"""The kinds whose objects hold a claim. Source: the operator's own policies for that, contract.md 2.10."""


def counted_kinds(plane: ControlPlane) -> list[Kind]:
    """Return those kinds as a control plane has them."""
    return [kind for kind in namespaced_kinds(plane) if kind.name in COUNTED]


def difference(customer: Customer, counted: list[Kind], gateways: set[str]) -> list[str]:
    """Return what is amiss: Gateways too many or too few, objects without claim, claims without object."""
    plane, space = customer.upstream, customer.namespace
    objects = inventory(plane, space, counted)
    wanted = {f"{ref.kind.name.lower()}-{ref.name}": str(ref) for ref in objects}
    claims = {one["metadata"]["name"] for one in plane.list(kinds.RESOURCE_CLAIM, space)}
    present = {ref.name for ref in objects if ref.kind.name == kinds.GATEWAY.name}
    return [
        *(f"Gateway {name} still there" for name in sorted(present - gateways)),
        *(f"Gateway {name} missing" for name in sorted(gateways - present)),
        *(f"{ref} without claim" for name, ref in sorted(wanted.items()) if name not in claims),
        *(f"claim {name} without object" for name in sorted(claims - set(wanted))),
    ]


def must_match(gate: Gate, customer: Customer, gateways: set[str], within: float) -> None:
    """Wait until a customer has these Gateways, and exactly his objects hold claims; what is amiss is a finding."""
    counted, seen = counted_kinds(customer.upstream), [""]

    def matches() -> bool:
        seen[:] = difference(customer, counted, gateways)
        return not seen

    with gate.must(Source.STATUS, f"claims of quota of {customer}", "one of each object, and no other"):
        wait_until("claims of quota", matches, deadline=within, every=0.2, last=lambda: ", ".join(seen))
