"""Who has which address: a book for pods, and the assignment of load-balancer addresses. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from edgegate.lab.node.kube import Json


@dataclass
class AddressBook:
    """Hands out addresses of a pool, each to one owner at a time, lowest free first after the last one given.

    Going on after the last one keeps an address of a pod that has just gone out of use for a while, so that a late
    packet or a cached answer does not reach its successor.
    """

    pool: list[str]
    """All addresses, in order."""
    held: dict[str, str] = field(default_factory=dict)
    """Owner to address."""
    _next: int = 0

    def hold(self, owner: str, address: str) -> None:
        """Note that an owner has an address already; an address of another owner or pool is left alone."""
        if address in self.pool and address not in self.held.values():
            self.held[owner] = address

    def take(self, owner: str) -> str | None:
        """Return the owner's address, a new one if it has none; None when all are taken."""
        if owner in self.held:
            return self.held[owner]
        taken = set(self.held.values())
        for step in range(len(self.pool)):
            address = self.pool[(self._next + step) % len(self.pool)]
            if address not in taken:
                self._next = (self._next + step + 1) % len(self.pool)
                self.held[owner] = address
                return address
        return None

    def free(self, owner: str) -> None:
        """Take an owner's address back."""
        self.held.pop(owner, None)


def wants_balancer(service: Json) -> bool:
    """Tell whether a Service is to have a load-balancer address from this lab."""
    spec = service["spec"]
    going = service["metadata"].get("deletionTimestamp")
    return spec.get("type") == "LoadBalancer" and not going and not spec.get("loadBalancerClass")


def shown_addresses(service: Json) -> list[str]:
    """Return the load-balancer addresses in a Service's status."""
    ingress = ((service.get("status") or {}).get("loadBalancer") or {}).get("ingress") or []
    return [entry["ip"] for entry in ingress if entry.get("ip")]


def balancer_address(service: Json, held: Mapping[str, str], pool: Iterable[str]) -> str | None:
    """Return the address that a Service is to have, given what others hold (uid to address); None when none is free.

    An address that it has in its status is kept, one that `spec.loadBalancerIP` asks for is honoured if it is free,
    and the lowest free one is the rest.
    """
    others = {address for uid, address in held.items() if uid != service["metadata"]["uid"]}
    free = [address for address in pool if address not in others]
    wishes = [service["spec"].get("loadBalancerIP"), held.get(service["metadata"]["uid"]), *shown_addresses(service)]
    return next((wish for wish in wishes if wish in free), free[0] if free else None)
