"""The ways into an edge: its addresses, and where there are several proxies, each of them. All must answer alike."""

from collections.abc import Sequence
from dataclasses import dataclass

from edgegate.edge.proxies import Proxy
from edgegate.edge.tenant import Site


@dataclass(frozen=True)
class Door:
    """One way in."""

    address: str
    """Where to connect to."""
    name: str = ""
    """Which one it is, as a finding names it: `at 10.0.0.9`, `by envoy-1`; empty for the only address."""

    def of(self, what: str) -> str:
        """Return what is looked at through this door."""
        return f"{what} {self.name}".rstrip()


def doors(site: Site, proxies: Sequence[Proxy]) -> list[Door]:
    """Return every address, and several proxies one by one.

    A load balancer sends a look to any of its proxies: one in two that is wrong is seen in half of the looks, and one
    in ten is missed by a few. Asked one by one, each is judged by all of its own looks, and a finding names it.
    """
    pods = [Door(one.address, f"by {one.name}") for one in proxies if one.address] if len(proxies) > 1 else []
    if not site.others:
        return [Door(site.address), *pods]
    return [*(Door(address, f"at {address}") for address in site.addresses), *pods]
