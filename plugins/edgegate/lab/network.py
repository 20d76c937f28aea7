"""The network of a lab: one block of addresses, one veth, leased by the name of its interface."""

import ipaddress
import json
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from edgegate import command
from edgegate.errors import CommandFailed, SubnetTaken

BLOCKS = 255
"""Blocks 10.88.0.0/24 to 10.88.254.0/24."""


@dataclass(frozen=True)
class LabNet:
    """The addresses of one lab; everything follows from the number of its block."""

    n: int
    """The third byte of the lab's block."""

    @property
    def block(self) -> str:
        """The whole block of the lab."""
        return f"10.88.{self.n}.0/24"

    @property
    def interface(self) -> str:
        """The caller's end of the veth."""
        return f"edge{self.n}"

    @property
    def lab_ip(self) -> str:
        """The lab's end of the veth."""
        return f"10.88.{self.n}.1"

    @property
    def caller_ip(self) -> str:
        """The caller's end of the veth."""
        return f"10.88.{self.n}.2"

    @property
    def authoritative_ip(self) -> str:
        """The authoritative DNS server, where the lab has one."""
        return f"10.88.{self.n}.3"

    @property
    def cached_ip(self) -> str:
        """The authoritative DNS server with default caches."""
        return f"10.88.{self.n}.4"

    @property
    def recursor_ip(self) -> str:
        """The resolver for everything outside the cluster."""
        return f"10.88.{self.n}.5"

    @property
    def elsewhere_ip(self) -> str:
        """A web server that is not the edge, where a scenario wants one."""
        return f"10.88.{self.n}.6"

    @property
    def lb_first(self) -> str:
        """The first address for Services of type LoadBalancer."""
        return f"10.88.{self.n}.8"

    @property
    def lb_last(self) -> str:
        """The last address for Services of type LoadBalancer."""
        return f"10.88.{self.n}.30"

    @property
    def pod_cidr(self) -> str:
        """The subnet of the pods."""
        return f"10.88.{self.n}.128/25"

    @property
    def bridge_ip(self) -> str:
        """The address of the bridge, which is each pod's gateway."""
        return f"10.88.{self.n}.129"

    @property
    def service_cidr(self) -> str:
        """The subnet of cluster addresses, inside the lab only and so the same in every lab."""
        return "10.96.0.0/16"

    @property
    def dns_ip(self) -> str:
        """The cluster address of the cluster's DNS."""
        return "10.96.0.10"


def lease(ip: str, name: str, init_pid: int) -> LabNet:
    """Make the veth of a lab in our network namespace, its other end in the lab's; return the block it stands for.

    The interface is the lease: the kernel lets `edge<N>` exist once, and removes it with the lab.

    Raises:
        SubnetTaken: no block is free.
        CommandFailed: `ip` failed for another reason.
    """
    taken = _taken(ip)
    start = zlib.crc32(name.encode()) % BLOCKS
    for n in ((start + offset) % BLOCKS for offset in range(BLOCKS)):
        net = LabNet(n)
        if n in taken:
            continue
        words = [ip, "link", "add", net.interface, "type", "veth", "peer", "name", "uplink", "netns", str(init_pid)]
        made = command.run(words, check=False)
        if made.status == 0:
            _caller_side(ip, net)
            return net
        if "File exists" not in made.stderr:
            raise CommandFailed(words, status=made.status, output=made.stderr)
        taken[n] = f"interface {net.interface}"
    raise SubnetTaken(_told(taken))


def exists(net: LabNet) -> bool:
    """Return whether the caller's end of the lab's veth is there, as seen from our network namespace."""
    # Not /sys/class/net: a mounted sysfs shows the namespace of whoever mounted it, which need not be ours.
    return any(
        line.split(":")[0].strip() == net.interface for line in Path("/proc/self/net/dev").read_text().splitlines()
    )


def configure_inside(ip: str, net: LabNet) -> None:
    """Configure the network of the lab; runs as its process 1.

    Raises:
        CommandFailed: `ip` refused a step.
    """
    for name, value in _SYSCTLS.items():
        Path("/proc/sys/net", name).write_text(value)
    batch(
        ip,
        [
            "link set lo up",
            f"addr add {net.lab_ip}/27 dev uplink",
            "link set uplink up",
            # Service addresses are looked up as routes before they are translated, so there must be a default.
            f"route add default via {net.caller_ip}",
            "link add pods type bridge forward_delay 0",
            f"addr add {net.bridge_ip}/25 dev pods",
            "link set pods up",
        ],
    )


def cut(ip: str) -> None:
    """Remove the veth at once, from inside the lab, instead of when the kernel gets round to it."""
    command.run([ip, "link", "del", "uplink"], check=False)


def batch(ip: str, steps: Sequence[str]) -> None:
    """Run several `ip` commands in one process.

    Raises:
        CommandFailed: one of them failed; the later ones were not run.
    """
    command.run([ip, "-batch", "-"], stdin="\n".join(steps) + "\n")


_SYSCTLS = {
    "ipv4/ip_forward": "1",
    "ipv4/conf/all/rp_filter": "0",
    "ipv4/conf/default/rp_filter": "0",
    # Pods reach each other by way of their gateway; it must not teach them a short cut round the translation.
    "ipv4/conf/all/send_redirects": "0",
    "ipv4/conf/default/send_redirects": "0",
    # A connection that lost its peer keeps the network namespace, and so the veth, alive: 0 means 8 tries.
    "ipv4/tcp_orphan_retries": "1",
}


def _caller_side(ip: str, net: LabNet) -> None:
    batch(
        ip,
        [
            f"addr add {net.caller_ip}/27 dev {net.interface}",
            f"link set {net.interface} up",
            f"route add {net.pod_cidr} via {net.lab_ip}",
        ],
    )


def _taken(ip: str) -> dict[int, str]:
    """Return the numbers of the blocks that are in use already, each with what uses it."""
    used = [
        *_subnets(json.loads(command.run([ip, "-4", "-j", "route"]).stdout or "[]")),
        *_addresses(json.loads(command.run([ip, "-4", "-j", "addr"]).stdout or "[]")),
    ]
    taken = {}
    for n in range(BLOCKS):
        block = ipaddress.IPv4Network(LabNet(n).block)
        holder = next((device for subnet, device in used if subnet.overlaps(block)), None)
        if holder is not None:
            taken[n] = holder
    return taken


def _told(taken: dict[int, str]) -> list[str]:
    """Return the blocks in words; neighbours with one holder are one entry."""
    told = []
    for _, run in groupby(sorted(taken.items()), key=lambda item: item[1]):
        blocks = [(LabNet(n).block, holder) for n, holder in run]
        first, last = blocks[0][0], blocks[-1][0]
        told.append(f"{first if first == last else f'{first} to {last}'} ({blocks[0][1]})")
    return told


def _subnets(routes: Iterable[dict[str, str]]) -> list[tuple[ipaddress.IPv4Network, str]]:
    return [
        (
            ipaddress.IPv4Network(route["dst"]),
            f"interface {route['dev']}" if "dev" in route else f"{route['type']} route",
        )
        for route in routes
        if route["dst"] != "default"
    ]


def _addresses(links: Iterable[dict[str, object]]) -> list[tuple[ipaddress.IPv4Network, str]]:
    return [
        (ipaddress.IPv4Network(f"{entry['local']}/{entry['prefixlen']}", strict=False), f"interface {link['ifname']}")
        for link in links
        for entry in link.get("addr_info", [])  # type: ignore[attr-defined]
    ]
