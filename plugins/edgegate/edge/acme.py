"""Certificates from a real authority as scenarios use them."""

from functools import cached_property
from pathlib import Path

import httpx

from edgegate.clusters.plane import ControlPlane
from edgegate.components import cert_manager, pebble
from edgegate.components.cert_manager import FAST, HOSTILE, SELF_CHECK, Issuer
from edgegate.components.launch import Launch
from edgegate.components.pebble import AcmeServer
from edgegate.errors import NotShown, ServerUnreachable
from edgegate.probes import tls


class Acme:
    """The certificate authority of one edge, and the issuers that get certificates from it."""

    fast: Issuer = FAST
    """Waits a fixed time instead of checking itself."""
    self_check: Issuer = SELF_CHECK
    """Checks itself for 8 s, as production does."""

    def __init__(self, launch: Launch, plane: ControlPlane) -> None:
        """Raise NotShown when the edge was made without the part `acme`."""
        if "acme" not in launch.parts:
            raise NotShown("this edge was made without the part 'acme', so nobody issues certificates in it")
        self._launch, self._plane = launch, plane

    @property
    def root(self) -> Path:
        """PEM file of the authority's root; what a client must trust."""
        return self._root_of(pebble.SERVER)

    @cached_property
    def hostile(self) -> Issuer:
        """An issuer whose server is slow, rejects good nonces and uses authorizations again; started at first use."""
        if not pebble.runs(self._launch.lab, pebble.HOSTILE_SERVER):
            self._launch.lab.start(pebble.spec(self._launch, pebble.HOSTILE_SERVER))
        cert_manager.add_issuer(self._launch, self._plane, HOSTILE, within=60)
        return HOSTILE

    def root_of(self, issuer: Issuer) -> Path:
        """Return the PEM file of the root that an issuer's certificates lead to."""
        return self._root_of(issuer.server)

    def _root_of(self, server: AcmeServer) -> Path:
        """Fetch the root each time: a server that was started again has another one."""
        url = server.root_url(self._launch.lab.net)
        ours = self._launch.folder / "ca.crt"
        try:
            answer = httpx.get(url, verify=tls.trusting(ours), trust_env=False, timeout=10).raise_for_status()
        except httpx.HTTPError as trouble:
            raise ServerUnreachable(server.name, f"GET {url}", text=str(trouble)) from trouble
        kept = self._launch.folder / f"{server.name}-root.crt"
        kept.write_bytes(answer.content)
        return kept
