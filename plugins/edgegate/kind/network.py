"""The addresses of one edge of kind clusters; everything follows from the number of its lab's block."""

import ipaddress
from dataclasses import dataclass


@dataclass(frozen=True)
class KindNet:
    """The addresses of the nodes and pods that belong to the lab 10.88.N.0/24."""

    n: int
    """The number of the lab's block."""

    @property
    def subnet(self) -> str:
        """The Docker network of both clusters; the machine has its `.1`."""
        return f"10.89.{self.n}.0/24"

    @property
    def nodes(self) -> str:
        """The part of it that nodes have."""
        return f"10.89.{self.n}.0/26"

    @property
    def balancers(self) -> str:
        """The part of it that load balancers have. The machine has a route to it by way of a node."""
        return f"10.89.{self.n}.128/27"

    @property
    def balancer_addresses(self) -> tuple[str, str]:
        """The first and the last address for a load balancer."""
        hosts = list(ipaddress.IPv4Network(self.balancers).hosts())
        return str(hosts[0]), str(hosts[-1])

    @property
    def pods(self) -> str:
        """The pods of the downstream cluster; each node has a sixteenth of it."""
        return f"10.{128 + self.n // 16}.{self.n % 16 * 16}.0/20"

    @property
    def services(self) -> str:
        """The service addresses of the downstream cluster; the lab asks the DNS among them."""
        return f"10.91.{self.n}.0/24"

    @property
    def dns_ip(self) -> str:
        """The service address of the downstream cluster's DNS."""
        return f"10.91.{self.n}.10"

    @property
    def node_bits(self) -> int:
        """Length of the prefix of one node's pods."""
        return 24
