"""A customer's policy that asks visitors for a password, and the Secret with the passwords, in his namespace."""

import base64
import hashlib
import secrets

from edgegate.clusters import kinds
from edgegate.clusters.plane import Manifest
from edgegate.edge.asking import wait_for_answer
from edgegate.edge.customer_login import HELD, reason, remove_with_secret
from edgegate.edge.http_proxy import HttpProxy
from edgegate.edge.oidc_policy import accepted
from edgegate.records import Answer

KEY = ".htpasswd"
"""The key of the Secret that Envoy Gateway reads."""
USER = "visitor"


class CustomerPassword:
    """One such policy for the route of an HTTPProxy; made by the fixture `customer_password`."""

    def __init__(self, proxy: HttpProxy) -> None:
        self.proxy = proxy
        self.ref = proxy.customer.ref(kinds.SECURITY_POLICY, f"{proxy.name}-password")
        self.secret = proxy.customer.ref(kinds.SECRET, f"{proxy.name}-passwords")
        self._password = secrets.token_urlsafe(12)
        self._plane = proxy.customer.upstream

    def __repr__(self) -> str:
        return f"password policy {self.ref.namespace}/{self.ref.name}"

    def create(self) -> None:
        """Create the policy; its Secret and its route may be there or not."""
        target = {"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "name": self.proxy.route.name}
        spec = {"targetRefs": [target], "basicAuth": {"users": {"name": self.secret.name}}}
        self._plane.create(self.ref.manifest(spec))

    def create_secret(self) -> None:
        """Create the Secret, without any label of an operator's."""
        digest = base64.b64encode(hashlib.sha1(self._password.encode()).digest())  # noqa: S324 - what Envoy can read
        line = base64.b64encode(f"{USER}:{{SHA}}".encode() + digest).decode()
        self._plane.create(self.secret.manifest(type="Opaque", data={KEY: line}))

    def remove(self, within: float) -> None:
        """Delete both and return when they are gone."""
        remove_with_secret(self._plane, self.ref, self.secret, within)

    def wait_held(self, within: float) -> Manifest:
        """Return the policy as soon as it says that its Secret is waited for. Raises NeverReady."""
        what = f"{self!r} held"
        return self._plane.wait(self.ref, lambda found: reason(found) == HELD, what=what, within=within) or {}

    def wait_told(self, within: float) -> Manifest:
        """Return the policy as soon as it says, of its present form and in its own namespace, that it is in force.

        Raises:
            NeverReady: not within that many seconds.
        """
        return self._plane.wait(self.ref, self._is_told, what=f"{self!r} accepted", within=within) or {}

    def _is_told(self, found: Manifest | None) -> bool:
        condition = accepted(found) or {}
        generation = (found or {}).get("metadata", {}).get("generation")
        if condition.get("status") != "True" or condition.get("observedGeneration") != generation:
            return False
        ancestors = ((found or {}).get("status") or {}).get("ancestors") or []
        return all(one["ancestorRef"].get("namespace", self.ref.namespace) == self.ref.namespace for one in ancestors)

    def wait_refused(self, host: str, within: float) -> Answer:
        """Return the first answer that asks a visitor without password for one. Raises NeverReady."""
        with self.proxy.probe(host) as probe:
            what = f"{host} asks for a password"
            return wait_for_answer(probe, lambda answer: answer.status == 401, what=what, within=within)

    def wait_admitted(self, host: str, within: float) -> Answer:
        """Return the first answer to the right password that is the origin's. Raises NeverReady."""
        word = base64.b64encode(f"{USER}:{self._password}".encode()).decode()
        with self.proxy.probe(host) as probe:
            what, headers = f"{host} with the password", {"authorization": f"Basic {word}"}
            return wait_for_answer(probe, self.proxy.serves, what=what, within=within, headers=headers)
