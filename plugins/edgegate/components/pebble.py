"""Pebble: the certificate authority, as an ACME server that really validates.

Its validation authority asks the lab's recursor for the host and then the edge at port 80, like one on the internet.
Nothing is slow or refused on purpose; the hostile settings are those that Pebble has by default, to catch clients that
rely on luck.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
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


PATIENCE = 15.0
"""Seconds for which the patient door looks for an answer before it lets Pebble decide."""


@dataclass(frozen=True)
class AcmeServer:
    """One Pebble of a lab, and the door by which it is entered."""

    name: str
    """Name of its process."""
    settings: Mapping[str, str]
    """Its environment."""
    base: int
    """Its first port: the directory, then the management interface, then the patient door."""
    patient: bool = False
    """Whether the door is the patient one, see native/pebble."""

    def directory(self, net: LabNet) -> str:
        """Return the URL of its ACME directory."""
        return f"https://{net.lab_ip}:{self.base + (2 if self.patient else 0)}/dir"

    def root_url(self, net: LabNet) -> str:
        """Return where its own root certificate is; another one after each start."""
        return f"https://{net.lab_ip}:{self.base + 1}/roots/0"


SERVER = AcmeServer("pebble", SOUND, 14000)
PATIENT_SERVER = replace(SERVER, patient=True)
HOSTILE_SERVER = AcmeServer("pebble-hostile", HOSTILE, 14010)


def spec(launch: Launch, server: AcmeServer) -> ProcessSpec:
    """Return how the server is run."""
    file = launch.config(f"{server.name}.json", json.dumps(_config(launch, server)))
    environment = launch.environment("pebble", GOMEMLIMIT="100MiB", **server.settings)
    # It answers nobody who does not say who he is.
    ready = Ready(kind="http", address=server.directory(launch.lab.net), header={"User-Agent": "edgegate"})
    argv = (str(launch.artifacts["pebble"].binary("pebble")), "-config", file)
    return ProcessSpec(server.name, argv, env=environment, ready=ready)


def _config(launch: Launch, server: AcmeServer) -> dict[str, object]:
    net = launch.lab.net
    certificate = launch.authority.issue([net.lab_ip])
    door = {
        "listenAddress": f"{net.lab_ip}:{server.base}",
        "managementListenAddress": f"{net.lab_ip}:{server.base + 1}",
        "certificate": launch.secret(f"{server.name}.crt", certificate.certificate),
        "privateKey": launch.secret(f"{server.name}.key", certificate.key),
        "httpPort": 80,
        "tlsPort": 443,
        "keyAlgorithm": "ecdsa",
    }
    patient = {
        "listenAddress": f"{net.lab_ip}:{server.base + 2}",
        "resolver": f"{net.authoritative_ip}:53",
        "limit": int(PATIENCE * 1000),
    }
    return {"pebble": door, "resolver": f"{net.recursor_ip}:53", "patient": patient}


def runs(lab: Lab, server: AcmeServer) -> bool:
    """Tell whether a server was started in this lab."""
    return server.name in {status.name for status in lab.status()}
