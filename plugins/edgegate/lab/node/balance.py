"""`python -m edgegate.lab.node.balance`: addresses for Services of a cluster whose nodes are not ours.

The same controller as in the node agent; here somebody else sees to it that packets find the addresses.
"""

import argparse
import logging
import signal
import sys
import threading
from pathlib import Path

from edgegate.lab.node.balancer import Balancer
from edgegate.lab.node.config import Network
from edgegate.lab.node.events import Recorder
from edgegate.lab.node.health import serve
from edgegate.lab.node.kube import Api

COMPONENT = "edgegate-load-balancer"


class Elsewhere:
    """What the controller may leave undone, because a route leads to every address of its range already."""

    def held_addresses(self) -> set[str]:
        """Return none."""
        return set()

    def add_address(self, address: str) -> None:
        """Do nothing."""

    def drop_address(self, address: str) -> None:
        """Do nothing."""


def main() -> int:
    """Give addresses until told to stop."""
    parser = argparse.ArgumentParser(prog="python -m edgegate.lab.node.balance", description=__doc__)
    parser.add_argument("--kubeconfig", type=Path, required=True, help="Of the cluster")
    parser.add_argument("--first", required=True, help="First address")
    parser.add_argument("--last", required=True, help="Last address")
    parser.add_argument("--health", required=True, help="Where /healthz is served, as in 127.0.0.1:10248")
    options = parser.parse_args()
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname).1s %(message)s")
    told = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: told.set())
    api = Api(options.kubeconfig)
    range_only = Network("", "", "", "", lb_first=options.first, lb_last=options.last)
    recorder = Recorder(api, COMPONENT)
    balancer = Balancer(api, range_only, Elsewhere(), recorder, told)
    serve(options.health, lambda: "" if balancer.reflector.synced.is_set() else "Services not listed yet")
    recorder.start()
    balancer.reflector.start()
    balancer.start()
    told.wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
