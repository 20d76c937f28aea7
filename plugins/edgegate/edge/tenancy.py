"""What a tenant's objects say that depends on where the edge runs: class, labels, and where its requests end."""

import random
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from edgegate.clusters.plane import Manifest
from edgegate.components import envoy_gateway
from edgegate.components.cluster_dns import without_selector
from edgegate.components.launch import BASE_ENVIRONMENT
from edgegate.errors import PortTaken
from edgegate.lab import Lab, ProcessSpec, Ready

_ORIGIN_PORTS = (20000, 29999)


class Origins(Protocol):
    """Gives each tenant something that answers with the tenant's marker, which is the name of its namespace."""

    def start(self, namespace: str) -> list[Manifest]:
        """Start a tenant's origin, and return the objects of its namespace that lead to it."""
        ...

    def rule(self, namespace: str, headers: Mapping[str, str]) -> Manifest:
        """Return the rule of a route that leads there; answers carry these headers besides."""
        ...

    def remove(self, namespace: str) -> None:
        """Stop it; the objects are gone with the namespace."""
        ...


@dataclass(frozen=True)
class Tenancy:
    """How a tenant's objects are made on one edge."""

    origins: Origins
    """Where its requests end."""
    gateway_class: str = envoy_gateway.CLASS_NAME
    """Class of its Gateway: one that merges all its Gateways into one proxy."""
    labels: Mapping[str, str] = field(default_factory=lambda: {envoy_gateway.TENANT_LABEL: "edge"})
    """What its namespace must carry to be seen by Envoy Gateway."""


class LabOrigins:
    """Origins that are processes in a lab; the cluster reaches them at the lab's address."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab

    def start(self, namespace: str) -> list[Manifest]:
        """Start an origin on a free port, and return a Service without selector that leads to it."""
        ports = [{"name": "http", "port": 80, "protocol": "TCP"}]
        return without_selector(namespace, "origin", self._lab.net.lab_ip, ports, target_port=self._start(namespace))

    def rule(self, namespace: str, headers: Mapping[str, str]) -> Manifest:
        """Return a rule with the Service as backend."""
        return {"backendRefs": [{"name": "origin", "port": 80}], **stamped(headers)}

    def remove(self, namespace: str) -> None:
        """Stop the process."""
        self._lab.remove(_process(namespace))

    def _start(self, marker: str) -> int:
        while True:
            port = random.randint(*_ORIGIN_PORTS)  # noqa: S311 - only spreads the ports
            listen = f"{self._lab.net.lab_ip}:{port}"
            server = ("-m", "edgegate.components.origin_server", "--listen", listen, "--marker", marker)
            ready = Ready(kind="http", address=f"http://{listen}/", limit=30)
            argv = (sys.executable, *server)
            try:
                self._lab.start(ProcessSpec(_process(marker), argv, dict(BASE_ENVIRONMENT), ready=ready))
            except PortTaken:
                continue
            return port


def stamped(headers: Mapping[str, str]) -> Manifest:
    """Return the filters by which a rule's answers carry these headers; nothing without any."""
    if not headers:
        return {}
    values = [{"name": name, "value": value} for name, value in headers.items()]
    return {"filters": [{"type": "ResponseHeaderModifier", "responseHeaderModifier": {"set": values}}]}


def _process(marker: str) -> str:
    return f"origin-{marker}"
