"""The lab's login: an OpenID Connect provider that proxies, Envoy Gateway and browsers reach by one name."""

import ssl
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import httpx

from edgegate.clusters.plane import ControlPlane
from edgegate.components.cluster_dns import without_selector
from edgegate.components.launch import BASE_ENVIRONMENT, DATA, RESOLV_CONF
from edgegate.components.oidc_provider_server import MODE_PATH, MODES
from edgegate.components.pki import Authority
from edgegate.errors import UsageFault
from edgegate.lab import Bind, Lab, ProcessSpec, Ready

NAME = "oidc-provider"
NAMESPACE = "edgegate-login"
HOST = f"provider.{NAMESPACE}.svc.cluster.local"
ISSUER = f"https://{HOST}"
"""Envoy Gateway refuses an issuer without TLS from 1.9 on."""
PORT = 9400


@dataclass(frozen=True)
class OidcClient:
    """A client that the provider knows."""

    identifier: str
    """Its `client_id`."""
    secret: str
    """Its `client_secret`."""


class OidcProvider:
    """The running provider, as scenarios use it."""

    host = HOST
    issuer = ISSUER
    provider: Mapping[str, str] = {"issuer": ISSUER}
    """What a policy says of it; the rest it tells itself."""

    def __init__(self, lab: Lab, ca: Path) -> None:
        self.address = lab.net.lab_ip
        self.port = PORT
        trust = ssl.create_default_context(cafile=str(ca))
        url = f"https://{self.address}:{PORT}"
        self._http = httpx.Client(base_url=url, headers={"Host": HOST}, verify=trust, trust_env=False, timeout=10)

    def register(self, redirect_url: str) -> OidcClient:
        """Register a client that may return to one address, and return its credentials."""
        body = {"redirect_uris": [redirect_url], "token_endpoint_auth_method": "client_secret_basic"}
        answer = self._http.post("/oauth2/clients", json=body).raise_for_status().json()
        return OidcClient(answer["client_id"], answer["client_secret"])

    def switch(self, mode: str) -> None:
        """Make the provider `ok`, `error` (answers 503) or `silent` (answers nothing).

        Raises:
            UsageFault: another mode was asked for.
        """
        if mode not in MODES:
            raise UsageFault(f"'{mode}' is no mode of the OpenID provider. Accepted: {', '.join(MODES)}.")
        self._http.put(MODE_PATH, content=mode).raise_for_status()

    def close(self) -> None:
        """Close the connection to the provider."""
        self._http.close()


def spec(lab: Lab, authority: Authority) -> ProcessSpec:
    """Return how the provider is run, with a certificate that the lab's world trusts."""
    pair = authority.issue([HOST, lab.net.lab_ip])
    certificate, key = f"{DATA}/secrets/{NAME}.crt", f"{DATA}/secrets/{NAME}.key"
    lab.put(certificate, pair.certificate, 0o600)
    lab.put(key, pair.key, 0o600)
    listen = f"{lab.net.lab_ip}:{PORT}"
    server = ("-m", "edgegate.components.oidc_provider_server", "--listen", listen, "--cert", certificate, "--key", key)
    ready = Ready(kind="http", address=f"https://{listen}{MODE_PATH}", contains="ok", limit=30)
    # The server looks its own address up when it binds; outside the cluster DNS nobody answers, and that takes 10 s.
    resolver = Bind(RESOLV_CONF, "/etc/resolv.conf")
    return ProcessSpec(NAME, (sys.executable, *server), env=dict(BASE_ENVIRONMENT), binds=(resolver,), ready=ready)


def publish(lab: Lab, plane: ControlPlane) -> None:
    """Give the provider its name in the cluster DNS."""
    plane.namespace(NAMESPACE)
    ports = [{"name": "https", "port": 443, "protocol": "TCP"}]
    plane.apply(*without_selector(NAMESPACE, "provider", lab.net.lab_ip, ports, target_port=PORT))
