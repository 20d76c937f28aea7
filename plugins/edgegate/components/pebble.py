"""Pebble: the certificate authority, as an ACME server that really validates.

Its validation authority asks the lab's recursor for the host and then the edge at port 80, like one on the internet.
Nothing is slow or refused on purpose; the hostile settings are those that Pebble has by default, to catch clients that
rely on luck.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from edgegate.components.launch import Launch
from edgegate.lab import Lab, LabNet, ProcessSpec, Ready

SOUND: Mapping[str, str] = MappingProxyType(
    {"PEBBLE_VA_NOSLEEP": "1", "PEBBLE_WFE_NONCEREJECT": "0", "PEBBLE_AUTHZREUSE": "0"}
)
"""No sleep before a validation, no good nonce rejected, no authorization used again."""
HOSTILE: Mapping[str, str] = MappingProxyType(
    {"PEBBLE_VA_SLEEPTIME": "5", "PEBBLE_WFE_NONCEREJECT": "20", "PEBBLE_AUTHZREUSE": "50"}
)
"""Up to 4 s before a validation, every fifth good nonce rejected, every second authorization used again."""


@dataclass(frozen=True)
class AcmeServer:
    """One Pebble of a lab."""

    name: str
    """Name of its process."""
    port: int
    """Where its directory is; the management interface is one port above."""
    settings: Mapping[str, str]
    """Its environment."""

    def directory(self, net: LabNet) -> str:
        """Return the URL of its ACME directory."""
        return f"https://{net.lab_ip}:{self.port}/dir"

    def root_url(self, net: LabNet) -> str:
        """Return where its own root certificate is; another one after each start."""
        return f"https://{net.lab_ip}:{self.port + 1}/roots/0"


SERVER = AcmeServer("pebble", 14000, SOUND)
HOSTILE_SERVER = AcmeServer("pebble-hostile", 14010, HOSTILE)


def spec(launch: Launch, server: AcmeServer) -> ProcessSpec:
    """Return how the server is run."""
    net = launch.lab.net
    certificate = launch.authority.issue([net.lab_ip])
    config = {
        "listenAddress": f"{net.lab_ip}:{server.port}",
        "managementListenAddress": f"{net.lab_ip}:{server.port + 1}",
        "certificate": launch.secret(f"{server.name}.crt", certificate.certificate),
        "privateKey": launch.secret(f"{server.name}.key", certificate.key),
        "httpPort": 80,
        "tlsPort": 443,
        "keyAlgorithm": "ecdsa",
    }
    file = launch.config(f"{server.name}.json", json.dumps({"pebble": config}))
    argv = (str(launch.artifacts["pebble"].binary("pebble")), "-config", file, "-dnsserver", f"{net.recursor_ip}:53")
    environment = launch.environment("pebble", GOMEMLIMIT="100MiB", **server.settings)
    # It answers nobody who does not say who he is.
    ready = Ready(kind="http", address=server.directory(net), header={"User-Agent": "edgegate"})
    return ProcessSpec(server.name, argv, env=environment, ready=ready)


def runs(lab: Lab, server: AcmeServer) -> bool:
    """Tell whether a server was started in this lab."""
    return server.name in {status.name for status in lab.status()}
