"""The network of a lab, seen from its caller."""

import http.client
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from edgegate.clock import wait_until
from edgegate.lab import Lab, LabNet, Ready
from lab_parts import SERVER, MakeLab, child, interfaces


def _get(address: str, port: int) -> str:
    connection = http.client.HTTPConnection(address, port, timeout=3)
    connection.request("GET", "/")
    text = connection.getresponse().read().decode()
    connection.close()
    return text


def _pod(lab: Lab) -> str:
    """Give the lab a pod's network namespace with a server in it; return its address."""
    address = f"10.88.{lab.net.n}.140"
    for step in (
        "ip netns add pod",
        "ip link add pod0 type veth peer name eth0 netns pod",
        "ip link set pod0 master pods up",
        f"ip -n pod addr add {address}/25 dev eth0",
        "ip -n pod link set eth0 up",
        f"ip -n pod route add default via {lab.net.bridge_ip}",
    ):
        lab.run(step.split())
    spec = child("pod", SERVER, "8080", "from the pod", ready=Ready("http", f"http://{address}:8080/"))
    lab.start(type(spec)(**{**vars(spec), "argv": ("ip", "netns", "exec", "pod", *spec.argv)}))
    return address


def test_the_caller_reaches_the_lab(lab: Lab) -> None:
    lab.start(child("web", SERVER, "6443", "hello", ready=Ready("tcp", "127.0.0.1:6443")))
    assert _get(lab.net.lab_ip, 6443) == "hello"


def test_the_caller_reaches_a_pod(lab: Lab) -> None:
    assert _get(_pod(lab), 8080) == "from the pod"


def test_the_caller_reaches_a_load_balancer_address(lab: Lab) -> None:
    lab.run(["ip", "addr", "add", f"{lab.net.lb_first}/32", "dev", "uplink"])
    lab.start(child("web", SERVER, "80", "hello", ready=Ready("tcp", "127.0.0.1:80")))
    assert _get(lab.net.lb_first, 80) == "hello"


def test_a_pod_reaches_the_lab(lab: Lab) -> None:
    _pod(lab)
    lab.start(child("web", SERVER, "80", "hello", ready=Ready("tcp", "127.0.0.1:80")))
    asked = lab.run(["ip", "netns", "exec", "pod", "curl", "--silent", f"http://{lab.net.lab_ip}/"])
    assert asked.stdout == "hello"


def test_nothing_of_the_machines_network_is_in_the_lab(lab: Lab) -> None:
    names = lab.run(["ls", "/sys/class/net"]).stdout.split()
    assert names == ["lo", "pods", "uplink"]
    assert set(re.findall(r"^\d+: (\w+)", lab.run(["ip", "-o", "link"]).stdout, re.MULTILINE)) == set(names)


def test_the_kernel_forwards_and_does_not_filter_by_path(lab: Lab) -> None:
    values = lab.run(["sysctl", "-n", "net.ipv4.ip_forward", "net.ipv4.conf.all.rp_filter"]).stdout
    assert values.split() == ["1", "0"]


@pytest.mark.parametrize("victim", ["init_pid", "launcher_pid"])
def test_open_connections_do_not_keep_the_interface(lab: Lab, victim: str) -> None:
    """A connection whose peer has gone holds its network namespace; it must not do so for long (measured: 0.06 s)."""
    address = _pod(lab)
    client = (
        "import socket, sys\n"
        "held = [socket.create_connection((sys.argv[1], 8080)) for _ in range(3)]\n"
        "print('up')\nwhile True:\n  for one in held: one.send(b'x' * 100)"
    )
    lab.start(child("client", client, address))
    wait_until("connections", lambda: "up" in lab.log("client").read_text(), deadline=3)
    connection = http.client.HTTPConnection(address, 8080, timeout=3)
    connection.connect()
    began = time.monotonic()
    os.kill(getattr(lab.record, victim), signal.SIGKILL)
    wait_until("interface gone", lambda: lab.net.interface not in interfaces(), deadline=4)
    assert time.monotonic() - began < 1
    connection.close()


@pytest.fixture
def elsewhere(privileged: None) -> Iterator[int]:
    """Return a process that sits in a network namespace of its own."""
    argv = ["unshare", "--net", sys.executable, "-S", "-c", "print(flush=True); input()"]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        yield holder.pid
        holder.communicate(b"\n")


def test_no_block_is_free(elsewhere: int, tmp_path: Path) -> None:
    enter = ["nsenter", "--net", "--target", str(elsewhere), "--"]
    subprocess.run([*enter, "ip", "link", "set", "lo", "up"], check=True)
    subprocess.run([*enter, "ip", "route", "add", "10.64.0.0/10", "dev", "lo"], check=True)
    script = (
        "import pathlib, sys; from edgegate.lab import sandbox\n"
        "sandbox.create(pathlib.Path(sys.argv[1]), 'lab', needs_mib=0)"
    )
    argv = [*enter, sys.executable, "-c", script, str(tmp_path / "labs/lab")]
    creator = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert creator.stderr.splitlines()[-1] == (
        "edgegate.errors.SubnetTaken: no block of 10.88.0.0/16 is free for a lab; taken: 10.88.0.0/24 to "
        "10.88.254.0/24 (interface lo). End a lab that is not needed (`edgegate down`), or remove the route or "
        "address that covers the range."
    )
    assert not (tmp_path / "labs/lab").exists()


def test_a_routed_block_is_left_alone(elsewhere: int, make_lab: MakeLab) -> None:
    """Asked for by its name, a lab gets the next block when its own is somebody's already."""
    first = make_lab("name")
    first.down()
    block = LabNet(first.net.n).block
    subprocess.run(["ip", "route", "add", "unreachable", block], check=True)
    try:
        assert make_lab("name").net.n == (first.net.n + 1) % 255
    finally:
        subprocess.run(["ip", "route", "del", "unreachable", block], check=True)
