"""What stands for the parts of a lab on an edge that somebody else runs: origins, a login, an operator."""

import json
import secrets
from collections.abc import Mapping

from edgegate.clusters.kinds import HTTP_ROUTE_FILTER, Ref
from edgegate.clusters.plane import Manifest
from edgegate.components.launch import Launch
from edgegate.components.oidc_provider import OidcClient
from edgegate.edge.operator import Operator
from edgegate.edge.tenancy import stamped
from edgegate.edge.zone import Zone
from edgegate.errors import NotShown
from edgegate.records import MARKER

BESIDE = "nothing of ours runs beside an attached edge: no {}"
_FILTER = "origin"


class DirectOrigins:
    """Origins without a process: the proxy itself answers with the tenant's marker (HTTPRouteFilter).

    Everything that is between a visitor and a backend is passed, policies too; only the way to a backend is not.
    """

    def start(self, namespace: str) -> list[Manifest]:
        """Return the filter that answers."""
        body = {"type": "Inline", "inline": json.dumps({"marker": namespace})}
        answer = {"statusCode": 200, "contentType": "application/json", "body": body}
        return [Ref(HTTP_ROUTE_FILTER, _FILTER, namespace).manifest({"directResponse": answer})]

    def rule(self, namespace: str, headers: Mapping[str, str]) -> Manifest:
        """Return a rule that answers by the filter, with the marker and these headers."""
        rule = stamped({MARKER: namespace, **headers})
        there = {"group": "gateway.envoyproxy.io", "kind": HTTP_ROUTE_FILTER.name, "name": _FILTER}
        rule["filters"].append({"type": "ExtensionRef", "extensionRef": there})
        return rule

    def remove(self, namespace: str) -> None:
        """Do nothing: the filter goes with the namespace."""


class NamedLogin:
    """A login provider that exists by name only: Envoy sends visitors there, and nobody is there to let them in."""

    host = "login.edgegate.test"
    issuer = f"https://{host}"
    provider: Mapping[str, str] = {
        "issuer": issuer,
        # With both endpoints given, Envoy Gateway does not ask the issuer for them.
        "authorizationEndpoint": f"{issuer}/oauth2/authorize",
        "tokenEndpoint": f"{issuer}/oauth2/token",
    }

    def register(self, redirect_url: str) -> OidcClient:
        """Return credentials of a client; nobody knows it."""
        return OidcClient(f"edgegate-{secrets.token_hex(4)}", secrets.token_urlsafe(24))

    @property
    def address(self) -> str:
        """Nothing. Raises NotShown."""
        raise NotShown(BESIDE.format("login provider, so nobody can log in"))

    @property
    def port(self) -> int:
        """Nothing. Raises NotShown."""
        raise NotShown(BESIDE.format("login provider, so nobody can log in"))


class FoundOperator(Operator):
    """The operator that is found there: it is asked nothing, restarted never, and its settings stay as they are."""

    def __init__(self, *, present: bool) -> None:
        self.present = present

    @property
    def _launch(self) -> Launch:
        raise NotShown("an attached edge's operator cannot be restarted, nor can its settings be changed")

    @property
    def capabilities(self) -> tuple[str, ...]:
        """What it can is not known beyond what its kinds say."""
        return ()

    @property
    def kind(self) -> str:
        """It is judged by the budgets of the real one."""
        return "real"

    def delegate(self, zone: Zone, within: float) -> None:
        """Return once a zone is served and its Domain is verified, by whatever the operator asks. Raises NeverReady."""
        zone.wait_programmed(within)
        zone.wait_verified(within)

    @property
    def metrics(self) -> list[str]:
        """They are not reached from here."""
        return []
