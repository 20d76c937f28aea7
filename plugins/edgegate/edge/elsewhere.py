"""A web server that is not the edge: where a customer's host names still lead before he changes their records."""

import sys
from collections.abc import Mapping

from edgegate.components.launch import BASE_ENVIRONMENT
from edgegate.lab import Lab, ProcessSpec, Ready

NAME = "elsewhere"
"""Its process, and the marker of its answers."""


class Elsewhere:
    """A server on port 80 of an address of its own; made by the fixture `elsewhere`. There is one at a time."""

    def __init__(self, lab: Lab, answers: Mapping[str, int]) -> None:
        """Prepare; `answers` has a status for each host name."""
        self.address = lab.net.elsewhere_ip
        self._lab, self._answers = lab, answers

    def start(self) -> None:
        """Give it its address, and return when it answers."""
        self._lab.run(["ip", "addr", "replace", f"{self.address}/27", "dev", "uplink"])
        answers = [word for host, status in self._answers.items() for word in ("--answer", f"{host}={status}")]
        server = ("-m", "edgegate.components.origin_server", "--listen", f"{self.address}:80", "--marker", NAME)
        ready = Ready(kind="http", address=f"http://{self.address}/", limit=30)
        self._lab.start(ProcessSpec(NAME, (sys.executable, *server, *answers), BASE_ENVIRONMENT, ready=ready))

    def remove(self) -> None:
        """Stop it."""
        self._lab.remove(NAME)
