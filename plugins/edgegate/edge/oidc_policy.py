"""A SecurityPolicy with OIDC for one tenant, and the Secret that it needs."""

import base64
from collections.abc import Callable
from enum import StrEnum

from edgegate.clusters.kinds import NAMESPACE, REFERENCE_GRANT, SECRET, SECURITY_POLICY, Ref
from edgegate.clusters.plane import ControlPlane, Manifest, conditions
from edgegate.components.oidc_provider import OidcClient
from edgegate.edge.login_provider import LoginProvider
from edgegate.edge.tenant import Tenant

SECRET_KEY = "client-secret"  # noqa: S105 - the name of a key
CALLBACK = "/oauth2/callback"
LOGOUT = "/logout"


class SecretState(StrEnum):
    """What is wrong, or not, with the Secret that a policy names."""

    VALID = "valid"
    MISSING = "missing"
    WITHOUT_KEY = "without key client-secret"
    WITHOUT_GRANT = "in another namespace without grant"


class Target(StrEnum):
    """What a policy is attached to."""

    ROUTE = "HTTPRoute"
    GATEWAY = "Gateway"


class OidcPolicy:
    """One tenant's OIDC policy; made by the fixture `oidc_policy`."""

    def __init__(
        self, tenant: Tenant, target: Target, state: SecretState, plane: ControlPlane, login: LoginProvider
    ) -> None:
        self.tenant, self.target, self.state = tenant, target, state
        self.ref = Ref(SECURITY_POLICY, "login", tenant.namespace)
        elsewhere = f"{tenant.namespace}-vault" if state is SecretState.WITHOUT_GRANT else tenant.namespace
        self._vault = elsewhere
        self.secret = Ref(SECRET, "oidc-client", elsewhere)
        self._plane = plane
        self._client = login.register(f"https://{tenant.host}{CALLBACK}")
        self._provider = dict(login.provider)
        self._valid = state is SecretState.VALID

    def __repr__(self) -> str:
        return f"OIDC policy of {self.tenant.name} on its {self.target}, secret {self.state}"

    @property
    def validity(self) -> str:
        """Say in a word whether the policy is one that works, as it stands now."""
        return "a valid policy" if self._valid else "an unusable one"

    def create(self) -> None:
        """Create the Secret in the state that was asked for, then the policy."""
        if self.state is SecretState.WITHOUT_GRANT:
            self._plane.namespace(self.secret.namespace, self.tenant.labels)
        if self.state is SecretState.WITHOUT_KEY:
            self._plane.apply(_secret(self.secret, {"other": "value"}))
        elif self.state is not SecretState.MISSING:
            self._plane.apply(_secret(self.secret, {SECRET_KEY: self._client.secret}))
        self._plane.apply(self._manifest(self._client))

    def repair(self, *, by_grant: bool) -> None:
        """Make the Secret valid: create it, add its key, or grant its use.

        Without `by_grant` a Secret in another namespace is copied to the tenant's own: before Envoy Gateway 1.8 no
        grant helps, a policy must not refer to another namespace at all.
        """
        self._valid = True
        if self.state is SecretState.WITHOUT_GRANT and by_grant:
            self._plane.apply(_grant(self.secret, self.tenant.namespace))
            return
        self.secret = Ref(SECRET, self.secret.name, self.tenant.namespace)
        self._plane.apply(_secret(self.secret, {SECRET_KEY: self._client.secret}), self._manifest(self._client))

    def remove(self, within: float) -> None:
        """Delete the policy and return when it is gone; another namespace than the tenant's goes a little later."""
        self._plane.delete_and_wait(self.ref, within=within)
        if self._vault != self.tenant.namespace:
            self._plane.delete(Ref(NAMESPACE, self._vault))

    def wait_judged(self, within: float) -> Manifest:
        """Return the policy's `Accepted` condition, as soon as Envoy Gateway has given one.

        Raises:
            NeverReady: it gave none within that many seconds.
        """
        return self._wait(lambda condition: True, "judged", within)

    def wait_accepted(self, within: float) -> Manifest:
        """Return the policy's `Accepted` condition, as soon as it is True.

        Raises:
            NeverReady: it was not within that many seconds.
        """
        return self._wait(lambda condition: condition["status"] == "True", "accepted", within)

    def _wait(self, right: Callable[[Manifest], bool], what: str, within: float) -> Manifest:
        seen: list[Manifest] = []

        def look(policy: Manifest | None) -> bool:
            condition = accepted(policy)
            seen[:] = [condition] if condition else []
            return condition is not None and right(condition)

        self._plane.wait(self.ref, look, what=f"{self.ref} {what}", within=within)
        return seen[0]

    def _manifest(self, client: OidcClient) -> Manifest:
        on = self.tenant.route if self.target is Target.ROUTE else self.tenant.gateway
        secret = {"name": self.secret.name}
        if self.secret.namespace != self.tenant.namespace:
            secret["namespace"] = self.secret.namespace
        oidc = {
            "provider": self._provider,
            "clientID": client.identifier,
            "clientSecret": secret,
            "redirectURL": f"https://{self.tenant.host}{CALLBACK}",
            "logoutPath": LOGOUT,
        }
        target = {"group": "gateway.networking.k8s.io", "kind": on.kind.name, "name": on.name}
        return self.ref.manifest({"targetRefs": [target], "oidc": oidc})


def accepted(policy: Manifest | None) -> Manifest | None:
    """Return the `Accepted` condition of a policy's first ancestor, None while there is none."""
    for ancestor in ((policy or {}).get("status") or {}).get("ancestors") or []:
        found = conditions({"status": ancestor}).get("Accepted")
        if found:
            return found
    return None


def _secret(ref: Ref, values: dict[str, str]) -> Manifest:
    data = {key: base64.b64encode(value.encode()).decode() for key, value in values.items()}
    return ref.manifest(type="Opaque", data=data)


def _grant(secret: Ref, user: str) -> Manifest:
    allowed = {"group": "gateway.envoyproxy.io", "kind": "SecurityPolicy", "namespace": user}
    spec = {"from": [allowed], "to": [{"group": "", "kind": "Secret", "name": secret.name}]}
    return Ref(REFERENCE_GRANT, "oidc-client", secret.namespace).manifest(spec)
