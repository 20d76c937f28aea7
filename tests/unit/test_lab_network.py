"""The block of addresses of a lab: what is in it, and how one is leased."""

import json
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from edgegate import command
from edgegate.command import Completed
from edgegate.errors import CommandFailed, SubnetTaken
from edgegate.lab import LabNet, network

START = zlib.crc32(b"lab") % network.BLOCKS


class FakeIp:
    """Stands in for `ip`: knows routes and addresses, and which interfaces exist."""

    def __init__(self, *, routes: Sequence[str] = (), addresses: Sequence[str] = (), existing: Sequence[str] = ()):
        self.routes, self.addresses, self.existing = routes, addresses, existing
        self.refusal = "RTNETLINK answers: File exists"
        self.calls: list[list[str]] = []
        self.batches: list[str] = []

    def run(self, argv: list[str], *, stdin: str | None = None, check: bool = True, **_: Any) -> Completed:
        self.calls.append(argv)
        if stdin is not None:
            self.batches.append(stdin)
        refused = argv[1:3] == ["link", "add"] and argv[3] in self.existing
        return Completed(tuple(argv), 2 if refused else 0, self._told(argv), self.refusal if refused else "")

    def _routes(self) -> list[dict[str, str]]:
        return [{"dst": dst, "dev": "tun0"} if "/" in dst else {"dst": dst, "type": "blackhole"} for dst in self.routes]

    def _told(self, argv: list[str]) -> str:
        if argv[-1] == "route":
            return json.dumps([{"dst": "default", "dev": "eth0"}, *self._routes()])
        if argv[-1] == "addr":
            told = [address.split("/") for address in self.addresses]
            return json.dumps(
                [{"ifname": "eth1", "addr_info": [{"local": ip, "prefixlen": int(length)} for ip, length in told]}]
            )
        return ""


@pytest.fixture
def fake_ip(monkeypatch: pytest.MonkeyPatch) -> FakeIp:
    fake = FakeIp()
    monkeypatch.setattr(command, "run", fake.run)
    return fake


def test_the_addresses_of_a_block() -> None:
    net = LabNet(7)
    assert [net.block, net.interface, net.lab_ip, net.caller_ip] == ["10.88.7.0/24", "edge7", "10.88.7.1", "10.88.7.2"]
    assert [net.lb_first, net.lb_last, net.pod_cidr] == ["10.88.7.8", "10.88.7.30", "10.88.7.128/25"]
    assert [net.bridge_ip, net.service_cidr, net.dns_ip] == ["10.88.7.129", "10.96.0.0/16", "10.96.0.10"]


def test_the_interface_is_made_with_its_peer_in_the_lab(fake_ip: FakeIp) -> None:
    assert network.lease("ip", "lab", 4711) == LabNet(START)
    made = f"ip link add edge{START} type veth peer name uplink netns 4711"
    assert made.split() in fake_ip.calls
    net = LabNet(START)
    assert fake_ip.batches == [
        f"addr add {net.caller_ip}/27 dev {net.interface}\nlink set {net.interface} up\n"
        f"route add {net.pod_cidr} via {net.lab_ip}\n"
    ]


def test_a_taken_interface_is_passed_over(fake_ip: FakeIp) -> None:
    fake_ip.existing = [f"edge{START}"]
    assert network.lease("ip", "lab", 1).n == (START + 1) % network.BLOCKS


def test_a_routed_block_is_passed_over(fake_ip: FakeIp) -> None:
    fake_ip.routes = [f"10.88.{START}.0/26"]
    fake_ip.addresses = [f"10.88.{START + 1}.9/30"]
    assert network.lease("ip", "lab", 1).n == START + 2


def test_no_free_block_names_who_has_them(fake_ip: FakeIp) -> None:
    fake_ip.routes = ["10.88.9.9", "10.88.0.0/17"]
    fake_ip.existing = [f"edge{n}" for n in range(network.BLOCKS)]
    with pytest.raises(SubnetTaken) as raised:
        network.lease("ip", "lab", 1)
    text = str(raised.value)
    assert text.startswith(
        "no block of 10.88.0.0/16 is free for a lab; taken: 10.88.0.0/24 to 10.88.8.0/24 (interface tun0), "
        "10.88.9.0/24 (blackhole route), 10.88.10.0/24 to 10.88.127.0/24 (interface tun0), "
        "10.88.128.0/24 (interface edge128), "
    )
    assert "10.88.254.0/24 (interface edge254). End a lab that is not needed (`edgegate down`), or remove" in text
    assert len(raised.value.taken) == 3 + 127


def test_another_refusal_is_told_as_it_is(fake_ip: FakeIp) -> None:
    fake_ip.existing = [f"edge{START}"]
    fake_ip.refusal = "RTNETLINK answers: Operation not permitted"
    with pytest.raises(CommandFailed, match="Operation not permitted"):
        network.lease("ip", "lab", 1)


def test_an_interface_is_looked_up_in_our_own_namespace() -> None:
    names = [line.split(":")[0].strip() for line in Path("/proc/self/net/dev").read_text().splitlines()[2:]]
    assert "lo" in names
    assert not network.exists(LabNet(255))
