"""Certificates from a real authority as scenarios use them."""

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import httpx

from edgegate.clusters.plane import ControlPlane
from edgegate.components import cert_manager, pebble
from edgegate.components.cert_manager import FAST, HOSTILE, SELF_CHECK, Issuer
from edgegate.components.launch import Launch
from edgegate.edge.challenges import AUTHORITY, CHECKER, ChallengeRequest, wait_for_answered
from edgegate.edge.proxy_log import ProxyLog
from edgegate.errors import NotShown, ServerUnreachable
from edgegate.probes import tls
from edgegate.probes.target import AGENT


@dataclass(frozen=True)
class Untrusted:
    """Stands for an authority where nobody issues certificates."""

    why: str

    @property
    def root(self) -> Path:
        """Nothing. Raises NotShown."""
        raise NotShown(f"nobody issues certificates that can be judged here: {self.why}")


class Acme:
    """The certificate authority of one edge, and the issuers that get certificates from it."""

    fast: Issuer = FAST
    """The authority looks for the answer, and validates as soon as it is there."""
    self_check: Issuer = SELF_CHECK
    """cert-manager looks for the answer, for 8 s, as in production."""

    def __init__(
        self,
        launch: Launch,
        plane: ControlPlane,
        alone: Callable[[], AbstractContextManager[None]] = nullcontext,
        logs: Callable[[], Sequence[ProxyLog]] = tuple,
    ) -> None:
        """Take what is needed to start a further server, `alone` among the processes that share the edge.

        `logs` returns what each proxy writes, wherever that is kept.

        Raises:
            NotShown: the edge was made without the part `acme`.
        """
        if "acme" not in launch.parts:
            raise NotShown("this edge was made without the part 'acme', so nobody issues certificates in it")
        self._launch, self._plane, self._alone, self._logs = launch, plane, alone, logs

    @property
    def root(self) -> Path:
        """PEM file of the authority's root; what a client of the fast and the checking issuer must trust."""
        return self.root_of(FAST)

    @cached_property
    def hostile(self) -> Issuer:
        """An issuer with self check, whose server is slow and rejects good nonces; started at first use."""
        with self._alone():
            if not pebble.runs(self._launch.lab, pebble.HOSTILE_SERVER):
                self._launch.lab.start(pebble.spec(self._launch, pebble.HOSTILE_SERVER))
            cert_manager.add_issuer(self._launch, self._plane, HOSTILE, within=60)
        return HOSTILE

    def challenges(self, host: str) -> list[ChallengeRequest]:
        """Return the challenge requests for a host that reached the edge, the authority's own among them.

        Waits for the proxies' logs, which are written every second. Raises NeverReady when the authority never came.
        """
        return wait_for_answered(self._logs(), host)

    def seen_by_all(self, host: str) -> list[ChallengeRequest]:
        """Return the same when issuer, authority and a probe of ours have each been answered. Raises NeverReady."""
        return wait_for_answered(self._logs(), host, (CHECKER, AUTHORITY, AGENT))

    def root_of(self, issuer: Issuer) -> Path:
        """Return the PEM file of the root that an issuer's certificates lead to.

        It is fetched each time: a server that was started again has another one.
        """
        server, ours = issuer.server, self._launch.folder / "ca.crt"
        url = server.root_url(self._launch.lab.net)
        try:
            answer = httpx.get(url, verify=tls.trusting(ours), trust_env=False, timeout=10).raise_for_status()
        except httpx.HTTPError as trouble:
            raise ServerUnreachable(server.name, f"GET {url}", text=str(trouble)) from trouble
        kept = self._launch.folder / f"{server.name}-root.crt"
        fresh = kept.with_name(f"{kept.name}.{os.getpid()}")
        fresh.write_bytes(answer.content)
        return fresh.replace(kept)
