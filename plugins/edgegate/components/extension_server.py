"""The extension server of network-services-operator: Envoy Gateway asks it about every translation."""

import yaml

from edgegate.clusters.plane import Manifest
from edgegate.components import nso_config
from edgegate.components.control_plane import CLUSTER_DOMAIN
from edgegate.components.launch import Launch
from edgegate.components.nso_config import EXTENSION as NAME
from edgegate.components.operator_manifests import (
    CONFIG,
    FILES,
    NAMESPACE_NAME,
    PLACE,
    container,
    deployment,
    secret,
    service,
)

_GRPC_PORT = 5005
_AUTHORITY, _CLIENT = "extension-server-authority", "extension-server-client"
_HOST = f"{NAME}.{NAMESPACE_NAME}.svc.{CLUSTER_DOMAIN}"
_GROUP = "networking.datumapis.com"


def objects(launch: Launch, image: str) -> list[Manifest]:
    """Return what the downstream cluster gets for it: its own objects, and the Secrets that Envoy Gateway reads."""
    served = launch.authority.issue([_HOST])
    asking = launch.authority.issue(["envoy-gateway"], client=True)
    ca = launch.authority.certificate
    files: dict[str, str | bytes] = {
        CONFIG: _config(),
        "tls.crt": served.certificate,
        "tls.key": served.key,
        "ca.crt": ca,
    }
    return [
        secret(NAME, files),
        secret(_AUTHORITY, {"tls.crt": ca}),  # Envoy Gateway looks for the authority under this key
        secret(_CLIENT, {"tls.crt": asking.certificate, "tls.key": asking.key}),
        service(NAME, {"name": "grpc", "port": _GRPC_PORT}),
        deployment(NAME, container(NAME, image, _words(), probe="/healthz")),
    ]


def _config() -> str:
    """Return its configuration.

    The release build of Envoy has no filter written in Go, and refuses a listener that names one, so there is none.
    """
    return yaml.safe_dump({**nso_config.KIND, "gateway": {"coraza": {"disabled": True}}}, sort_keys=False)


def _words() -> tuple[str, ...]:
    return (
        "envoy-gateway-extension-server",
        f"--grpc-addr=:{_GRPC_PORT}",
        f"--health-addr={PLACE.probes}",
        f"--tls-cert={FILES}/tls.crt",
        f"--tls-key={FILES}/tls.key",
        f"--tls-client-ca={FILES}/ca.crt",
        f"--server-config={PLACE.config}",
    )


def manager() -> Manifest:
    """Return the settings by which Envoy Gateway asks the extension server, as production has them.

    Source: config/e2e-downstream/eg-downstream of network-services-operator.
    """
    every = {"includeAll": True}
    address = {"hostname": _HOST, "port": _GRPC_PORT}
    retry = {
        "maxAttempts": 4,
        "initialBackoff": "100ms",
        "maxBackoff": "1s",
        "backoffMultiplier": {"numerator": 200},
        "retryableStatusCodes": ["UNAVAILABLE"],
    }
    tls = {
        "certificateRef": {"name": _AUTHORITY, "namespace": NAMESPACE_NAME},
        "clientCertificateRef": {"name": _CLIENT, "namespace": NAMESPACE_NAME},
    }
    translated = {"listener": every, "route": every, "cluster": every, "secret": every}
    return {
        "maxMessageSize": "256Mi",
        "policyResources": [{"group": _GROUP, "version": "v1alpha", "kind": "TrafficProtectionPolicy"}],
        "resources": [{"group": _GROUP, "version": "v1alpha1", "kind": "Connector"}],
        "service": {"fqdn": address, "tls": tls, "retry": retry},
        "hooks": {"xdsTranslator": {"post": ["Translation"], "translation": translated}},
        "failOpen": False,
    }


def rights() -> list[Manifest]:
    """Return the rights that Envoy Gateway needs for it, beyond those of its chart."""
    watched = ["trafficprotectionpolicies", "connectors"]
    states = [f"{name}/status" for name in watched]
    return [
        {"apiGroups": [_GROUP], "resources": watched, "verbs": ["get", "list", "watch"]},
        {"apiGroups": [_GROUP], "resources": states, "verbs": ["update"]},
    ]
