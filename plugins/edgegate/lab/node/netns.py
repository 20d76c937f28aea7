"""One network namespace a pod: a veth on the lab's bridge, a /32 address, and everything by way of the bridge.

The address is a /32 on purpose. With the block's prefix, two pods would talk directly over the bridge, and an answer
to a service address would by-pass the lab's own stack, where kube-proxy's translation is undone.
"""

import contextlib
import json
from pathlib import Path

from edgegate.command import run
from edgegate.errors import CommandFailed, PodTrouble
from edgegate.lab.node.config import Network, Tools

FOLDER = Path("/run/netns")
PREFIX = "pod-"


class Namespaces:
    """Makes and removes the pods' network namespaces."""

    def __init__(self, net: Network, tools: Tools) -> None:
        self._net, self._tools = net, tools

    def path(self, uid: str) -> Path:
        """Return where a pod's namespace can be entered."""
        return FOLDER / f"{PREFIX}{uid}"

    def prepare(self) -> None:
        """Remove what an earlier agent left, and make the bridge fit for gateways.

        A bridge takes the lowest hardware address of its ports unless it was given one, so each pod that comes or
        goes could change it under the others' feet. And a packet from one pod to another leaves by the interface
        that it came in on, which the kernel would answer with redirects.
        """
        bridge = self._net.bridge
        own = json.loads(self._ip("-json", "link", "show", "dev", bridge))[0]["address"]
        self._ip("link", "set", "dev", bridge, "address", own)
        for name in ("all", bridge):
            with contextlib.suppress(OSError):  # read-only in some containers; redirects then only cost a packet
                Path(f"/proc/sys/net/ipv4/conf/{name}/send_redirects").write_text("0\n")
        for name in self.leftovers():
            self._ip("netns", "del", name)

    def leftovers(self) -> list[str]:
        """Return the names of pod namespaces that exist."""
        return sorted(path.name for path in FOLDER.glob(f"{PREFIX}*")) if FOLDER.is_dir() else []

    def create(self, uid: str, address: str) -> None:
        """Make a pod's namespace with its address.

        Raises:
            PodTrouble: FailedCreatePodSandBox; with what `ip` said.
        """
        name, veth, gateway = f"{PREFIX}{uid}", _veth(uid), self._net.bridge_ip
        outside = (
            f"netns add {name}",
            f"link add {veth} type veth peer name eth0 netns {name}",
            f"link set {veth} master {self._net.bridge} up",
        )
        inside = (
            "link set lo up",
            f"addr add {address}/32 dev eth0",
            "link set eth0 up",
            f"route add {gateway} dev eth0 scope link",
            f"route add default via {gateway}",
        )
        try:
            self._ip("-batch", "-", stdin="\n".join(outside))
            self._ip("-n", name, "-batch", "-", stdin="\n".join(inside))
        except CommandFailed as trouble:
            self.remove(uid)
            raise PodTrouble("FailedCreatePodSandBox", f"network of the pod: {trouble.output.strip()}") from trouble

    def remove(self, uid: str) -> None:
        """Remove a pod's namespace and its interface; one that does not exist is fine."""
        for words in (("link", "del", _veth(uid)), ("netns", "del", f"{PREFIX}{uid}")):
            with contextlib.suppress(CommandFailed):
                self._ip(*words)

    def add_address(self, address: str) -> None:
        """Let the uplink answer for a load-balancer address."""
        self._ip("addr", "replace", f"{address}/32", "dev", self._net.uplink)

    def drop_address(self, address: str) -> None:
        """Undo `add_address`; an address that is not there is fine."""
        with contextlib.suppress(CommandFailed):
            self._ip("addr", "del", f"{address}/32", "dev", self._net.uplink)

    def held_addresses(self) -> set[str]:
        """Return the single addresses that the uplink answers for."""
        shown = json.loads(self._ip("-json", "-4", "addr", "show", "dev", self._net.uplink))
        return {one["local"] for link in shown for one in link.get("addr_info", []) if one["prefixlen"] == 32}

    def _ip(self, *words: str, stdin: str = "") -> str:
        return run([self._tools.ip, *words], stdin=stdin, timeout=10).stdout


def _veth(uid: str) -> str:
    """Return the lab's end of a pod's veth; an interface name has 15 characters at most."""
    return "v" + uid.replace("-", "")[:12]
