"""What every component gets when it is started."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType

from edgegate.artifacts import Artifact
from edgegate.components.operator_choice import OperatorChoice
from edgegate.components.pki import Authority, KeyPair, random_token, service_account_keys
from edgegate.lab import Lab
from edgegate.pins import Selection

DATA = "/run/edgegate/data"
"""Folder inside the lab, on its own tmpfs: gone with the lab."""
TRUST = f"{DATA}/config/ca-certificates.crt"
"""Inside the lab: the authorities that the lab's world trusts, which is its own alone."""
SYSTEM_TRUST = "/etc/ssl/certs/ca-certificates.crt"
"""Where Envoy's and Go's system certificates are, in a container or a process."""
RESOLV_CONF = f"{DATA}/config/resolv.conf"
"""Inside the lab: the file that sends a component's look-ups to the cluster DNS."""
_CREDENTIALS = f"{DATA}/secrets/launch.json"

BASE_ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"}
"""The whole environment of a component, so that nothing of the caller's leaks in."""

NO_PARTS: Mapping[str, str] = MappingProxyType({})
"""The default edge, which has none."""
OURS = OperatorChoice()
"""The reference operator, without a fault."""


@dataclass(frozen=True)
class Launch:
    """The lab that is coming up, and what it is made of."""

    lab: Lab
    """The sandbox."""
    selection: Selection
    """The version of each component."""
    artifacts: Mapping[str, Artifact]
    """The files of each component, by pin name."""
    authority: Authority
    """Signs the certificates of this lab's control planes."""
    token: str
    """Bearer token of the cluster administrator, random for each lab."""
    service_account_keys: tuple[bytes, bytes]
    """Private and public key of the service account tokens, PEM."""
    parts: Mapping[str, str] = field(default_factory=dict)
    """What the lab has beyond the default edge: name of the part to its variant."""
    operator: OperatorChoice = OURS
    """The operator under test, where the lab has that part."""
    elsewhere: bool = False
    """Its control planes are not in the lab; their kubeconfigs were put into its folder."""

    @classmethod
    def new(
        cls,
        lab: Lab,
        selection: Selection,
        artifacts: Mapping[str, Artifact],
        parts: Mapping[str, str] = NO_PARTS,
        operator: OperatorChoice = OURS,
    ) -> "Launch":
        """Return the launch of an empty lab, with credentials of its own; others can `load` it."""
        made = Authority.new("edgegate lab"), random_token(), service_account_keys()
        launch = cls(lab, selection, artifacts, *made, parts, operator)
        authority = launch.authority.pair
        kept = [authority.certificate, authority.key, launch.token.encode(), *launch.service_account_keys]
        lab.put(TRUST, authority.certificate, 0o644)
        lab.put(_CREDENTIALS, json.dumps([item.decode() for item in kept]).encode(), 0o600)
        return launch

    @classmethod
    def load(
        cls,
        lab: Lab,
        selection: Selection,
        artifacts: Mapping[str, Artifact],
        parts: Mapping[str, str] = NO_PARTS,
        operator: OperatorChoice = OURS,
    ) -> "Launch":
        """Return the launch of a running lab, with the credentials that it was started with."""
        kept = [item.encode() for item in json.loads(lab.get(_CREDENTIALS))]
        credentials = Authority(KeyPair(*kept[:2])), kept[2].decode(), (kept[3], kept[4])
        return cls(lab, selection, artifacts, *credentials, parts, operator)

    @cached_property
    def folder(self) -> Path:
        """The lab's folder outside, for logs and credentials."""
        return self.lab.folder

    def secret(self, name: str, content: bytes | str) -> str:
        """Put a private file on the lab's tmpfs and return its path inside."""
        path = f"{DATA}/secrets/{name}"
        self.lab.put(path, content.encode() if isinstance(content, str) else content, 0o600)
        return path

    def config(self, name: str, content: str) -> str:
        """Put a configuration file on the lab's tmpfs and return its path inside."""
        path = f"{DATA}/config/{name}"
        self.lab.put(path, content.encode(), 0o600)
        return path

    def environment(self, pin: str, **more: str) -> dict[str, str]:
        """Return the whole environment of a component's process."""
        return {**BASE_ENVIRONMENT, **self.artifacts[pin].env, **more}
