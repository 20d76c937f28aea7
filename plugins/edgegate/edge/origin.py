"""An origin of a customer's own: a process with a marker, reached by address and by name."""

import random
import secrets
import sys

from edgegate.components import recursor
from edgegate.components.launch import BASE_ENVIRONMENT
from edgegate.edge.dns import Dns
from edgegate.edge.http_proxy import Backend
from edgegate.errors import PortTaken
from edgegate.lab import Lab, ProcessSpec, Ready

_PORTS = (30000, 31999)


class Origin:
    """One origin; made by the fixture `origin`."""

    def __init__(self, name: str, lab: Lab, dns: Dns) -> None:
        self.marker = f"{name}-{secrets.token_hex(3)}"
        self.host = f"{self.marker}.origins.{recursor.DOMAIN}"
        self._lab, self._dns = lab, dns
        self.port = 0

    @property
    def by_address(self) -> Backend:
        """Reach it by its address."""
        return Backend(f"http://{self._lab.net.lab_ip}:{self.port}")

    @property
    def by_name(self) -> Backend:
        """Reach it by its name, which the proxy looks up at the recursor."""
        return Backend(f"http://{self.host}:{self.port}")

    def start(self) -> None:
        """Start it on a free port and give it its name."""
        while True:
            self.port = random.randint(*_PORTS)  # noqa: S311 - only spreads the ports
            listen = f"{self._lab.net.lab_ip}:{self.port}"
            server = ("-m", "edgegate.components.origin_server", "--listen", listen, "--marker", self.marker)
            ready = Ready(kind="http", address=f"http://{listen}/", limit=30)
            try:
                self._lab.start(ProcessSpec(self._process, (sys.executable, *server), BASE_ENVIRONMENT, ready=ready))
            except PortTaken:
                continue
            break
        self._dns.api.replace(recursor.DOMAIN, self.host, "A", [self._lab.net.lab_ip])

    def remove(self) -> None:
        """Stop it and take its name away."""
        self._lab.remove(self._process)
        self._dns.api.remove(recursor.DOMAIN, self.host, "A")

    @property
    def _process(self) -> str:
        return f"origin-{self.marker}"
