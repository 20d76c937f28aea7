"""Where visitors log in, as policies and scenarios know it."""

from collections.abc import Mapping
from typing import Protocol

from edgegate.components.oidc_provider import OidcClient


class LoginProvider(Protocol):
    """An OpenID Connect provider."""

    @property
    def host(self) -> str:
        """Its name."""
        ...

    @property
    def issuer(self) -> str:
        """Its URL."""
        ...

    @property
    def provider(self) -> Mapping[str, str]:
        """What a policy has to say of it."""
        ...

    @property
    def address(self) -> str:
        """Where it is reached. Raises NotShown when nobody is there."""
        ...

    @property
    def port(self) -> int:
        """Return its port there. Raises NotShown when nobody is there."""
        ...

    def register(self, redirect_url: str) -> OidcClient:
        """Register a client that may return to one address, and return its credentials."""
        ...
