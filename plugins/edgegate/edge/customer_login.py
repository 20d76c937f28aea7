"""A customer's login policy for an HTTPProxy, and the Secret that it needs, both in the customer's namespace."""

import base64
from contextlib import suppress

from edgegate.clusters import kinds
from edgegate.clusters.kinds import Ref
from edgegate.clusters.plane import ControlPlane, Manifest
from edgegate.edge.asking import wait_for_answer
from edgegate.edge.http_proxy import HttpProxy
from edgegate.edge.login_provider import LoginProvider
from edgegate.edge.oidc_policy import CALLBACK, LOGOUT, SECRET_KEY, Target, accepted
from edgegate.errors import NeverReady
from edgegate.records import Answer
from edgegate.report.gate import Gate

HELD = "PendingSecret"
"""The reason of a policy that waits for its Secret."""


class CustomerLogin:
    """One login policy; made by the fixture `customer_login`."""

    def __init__(self, proxy: HttpProxy, target: Target, login: LoginProvider, host: str) -> None:
        self.proxy, self.target, self.host = proxy, target, host
        self.ref = proxy.customer.ref(kinds.SECURITY_POLICY, f"{proxy.name}-login")
        self.secret = proxy.customer.ref(kinds.SECRET, f"{proxy.name}-oidc")
        self.provider = login.issuer
        self._login = login
        self._client = login.register(f"https://{host}{CALLBACK}")
        self._plane = proxy.customer.upstream

    def __repr__(self) -> str:
        return f"login policy {self.ref.namespace}/{self.ref.name} on the {self.target}"

    def create(self) -> None:
        """Create the policy; its Secret may be there or not."""
        on = self.proxy.route if self.target is Target.ROUTE else self.proxy.gateway
        oidc = {
            "provider": dict(self._login.provider),
            "clientID": self._client.identifier,
            "clientSecret": {"name": self.secret.name},
            "redirectURL": f"https://{self.host}{CALLBACK}",
            "logoutPath": LOGOUT,
        }
        target = {"group": "gateway.networking.k8s.io", "kind": on.kind.name, "name": on.name}
        self._plane.create(self.ref.manifest({"targetRefs": [target], "oidc": oidc}))

    def create_secret(self) -> None:
        """Create the Secret, without any label of an operator's."""
        value = base64.b64encode(self._client.secret.encode()).decode()
        self._plane.create(self.secret.manifest(type="Opaque", data={SECRET_KEY: value}))

    def delete_secret(self) -> None:
        """Delete the Secret, and do not wait."""
        self._plane.delete(self.secret)

    def delete(self) -> None:
        """Delete the policy, and do not wait."""
        self._plane.delete(self.ref)

    def wait_gone(self, within: float) -> None:
        """Return once the policy is gone. Raises NeverReady."""
        self._plane.wait(self.ref, lambda found: found is None, what=f"{self!r} gone", within=within)

    def free_secret(self) -> None:
        """Take from the Secret what holds it, as somebody has to do by hand whose operator has forgotten it."""
        self._plane.patch(self.secret, {"metadata": {"finalizers": None}})

    def wait_secret_gone(self, within: float) -> None:
        """Return once nothing holds the deleted Secret any more. Raises NeverReady."""
        what = f"{self.secret} gone"
        self._plane.wait(self.secret, lambda found: found is None, what=what, within=within)

    def remove(self, within: float) -> None:
        """Delete both and return when they are gone."""
        remove_with_secret(self._plane, self.ref, self.secret, within)

    def wait_held(self, within: float) -> Manifest:
        """Return the policy's `Accepted` condition as soon as it says that the Secret is waited for.

        Raises:
            NeverReady: not within that many seconds.
        """
        found = self._plane.wait(self.ref, lambda one: reason(one) == HELD, what=f"{self!r} held", within=within)
        return accepted(found) or {}

    def condition(self) -> Manifest:
        """Return the policy's `Accepted` condition as it is now; empty while there is none."""
        return accepted(self._plane.get(self.ref)) or {}

    def plant(self, gate: Gate) -> None:
        """Name the poison: the policy is there, and its Secret is not. Raises PoisonNotLive when that is not so."""
        policy, secret = self._plane.get(self.ref), self._plane.get(self.secret)
        gone = secret is None or "deletionTimestamp" in secret["metadata"]  # an operator's finalizer may hold it
        evidence = f"policy {'there' if policy else 'missing'}, Secret {'gone' if gone else 'there'}"
        gate.poison(f"{self!r} without its Secret", live=bool(policy) and gone, evidence=evidence)

    def wait_withdrawn(self, within: float) -> None:
        """Return once the edge cluster has no copy of the policy. Raises NeverReady."""
        copy = self.proxy.below(kinds.SECURITY_POLICY, self.ref.name)
        what = f"{self!r} withdrawn from the edge cluster"
        self.proxy.customer.downstream.wait(copy, lambda found: found is None, what=what, within=within)

    def asks(self, answer: Answer) -> bool:
        """Say whether an answer sends the visitor to the provider, over TLS with a trusted certificate."""
        sent = answer.status == 302 and (answer.location or "").startswith(f"{self.provider}/")
        return sent and answer.trusted is not False

    def wait_asked(self, within: float, *, host: str = "", tls: bool = False) -> Answer:
        """Return the first answer that sends the visitor to the provider. Raises NeverReady."""
        name = host or self.host
        with self.proxy.probe(name, tls=tls) as probe:
            return wait_for_answer(probe, self.asks, what=f"{name} asks for login", within=within)

    def wait_shut(self, within: float) -> Answer:
        """Return the first answer that is not the origin's. Raises NeverReady."""
        with self.proxy.probe(self.host) as probe:
            what = f"{self.host} gives no content"
            return wait_for_answer(probe, lambda one: not self.proxy.serves(one), what=what, within=within)


def reason(policy: Manifest | None) -> str:
    """Return the reason of a policy's `Accepted` condition; empty while there is none."""
    return str((accepted(policy) or {}).get("reason", ""))


def remove_with_secret(plane: ControlPlane, policy: Ref, secret: Ref, within: float) -> None:
    """Delete a policy and its Secret, and return when they are gone.

    The Secret goes first: whether one goes whose policy is gone is the promise of one scenario, not of each. So is the
    way back: an operator that does not withdraw the policy of a Secret that goes lets that go only after the policy.
    """
    with suppress(NeverReady):
        plane.delete_and_wait(secret, within=within / 2)
    plane.delete_and_wait(policy, within=within)
    plane.delete_and_wait(secret, within=within)
