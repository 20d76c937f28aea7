"""Flags and configuration of the real operators, the same for a process and for a pod: contract.md section 6.

What differs between the two is where a program finds its files and where it listens, and that is a `Place`.
"""

from collections.abc import Callable
from dataclasses import dataclass

import yaml

from edgegate.clusters.kinds import MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS, Ref
from edgegate.clusters.plane import Manifest
from edgegate.components import cert_manager, dns, envoy_gateway, powerdns
from edgegate.components.launch import Launch

CLASS_NAME = "datum-external-global-proxy"
"""The upstream class that customers' Gateways have."""
RETRIES = [{"interval": "1s", "maxElapsed": "5s"}, {"interval": "5m"}]
"""When a Domain is tried again, as in the configuration of ours."""
OPERATOR, AGENT, REPLICATOR = "operator", "dns-agent", "dns-replicator"
EXTENSION = "network-services-operator-envoy-gateway-extension-server"
# The dns-operator's own webhook server takes 9443, and no flag changes that.
WEBHOOK_PORT = 9444
KIND = {"apiVersion": "apiserver.config.datumapis.com/v1alpha1", "kind": "NetworkServicesOperator"}
_ISSUER_OPTION = "gateway.networking.datumapis.com/certificate-issuer"
_GATEWAY, _ENVOY, _DATUM = "gateway.networking.k8s.io", "gateway.envoyproxy.io", "networking.datumapis.com"
_WRITES = ("CREATE", "UPDATE")
_MUTATING = ((_GATEWAY, "v1", "gateways", "gateway", _WRITES),)
_VALIDATING = (
    (_GATEWAY, "v1", "backendtlspolicies", "backendtlspolicy", _WRITES),
    (_GATEWAY, "v1", "gateways", "gateway", _WRITES),
    (_GATEWAY, "v1", "httproutes", "httproute", _WRITES),
    (_DATUM, "v1alpha", "domains", "domain", ("CREATE", "DELETE")),
    (_DATUM, "v1alpha", "httpproxies", "httpproxy", _WRITES),
    (_ENVOY, "v1alpha1", "backends", "backend", _WRITES),
    (_ENVOY, "v1alpha1", "backendtrafficpolicies", "backendtrafficpolicy", _WRITES),
    (_ENVOY, "v1alpha1", "httproutefilters", "httproutefilter", _WRITES),
    (_ENVOY, "v1alpha1", "securitypolicies", "securitypolicy", _WRITES),
)
"""Group, version, resource, the last word of the path, operations: contract.md 6.2."""


@dataclass(frozen=True)
class Place:
    """Where one of the programs finds its files, and where it listens."""

    config: str
    """Its configuration file."""
    certificates: str
    """Folder with `tls.crt` and `tls.key` of its webhooks."""
    downstream: str
    """Kubeconfig of the edge cluster; empty: the cluster that it runs in is that one."""
    metrics: str
    """Address of its metrics."""
    probes: str
    """Address that tells whether it is ready."""


def manager_words(place: Place) -> tuple[str, ...]:
    """Return what network-services-operator is started with."""
    return (
        "manager",
        f"--server-config={place.config}",
        "--singleton-controllers-leader-elect=false",
        f"--health-probe-bind-address={place.probes}",
    )


def manager_config(place: Place) -> str:
    """Return its configuration file."""
    content = {
        **KIND,
        # With secureServing it would ask for TokenReviews, and every reader for a token.
        "metricsServer": {"bindAddress": place.metrics, "secureServing": False},
        "webhookServer": {"port": WEBHOOK_PORT, "tls": {"certDir": place.certificates}},
        "discovery": {"mode": "single"},
        "downstreamResourceManagement": {"kubeconfigPath": place.downstream},
        "gateway": {
            "targetDomain": dns.EDGE_ZONE,
            "downstreamGatewayClassName": envoy_gateway.CLASS_NAME,
            # Every family that is named must have an address, or no DNSEndpoint is ever written.
            "ipFamilies": ["IPv4"],
            "eppEmissionEnabled": False,
            "enableDNSIntegration": True,
            "enableDownstreamCertificateSolver": True,
            "clusterIssuerMap": {name: issuer.name for name, issuer in cert_manager.ISSUERS.items()},
            "certificateReissuance": cert_manager.REISSUANCE,
            "permittedTLSOptions": {_ISSUER_OPTION: []},
        },
        "httpProxy": {"gatewayClassName": CLASS_NAME},
        "domainVerificationConfig": {"retryIntervals": RETRIES},
    }
    return yaml.safe_dump(content, sort_keys=False)


def dns_words(name: str, place: Place) -> tuple[str, ...]:
    """Return what dns-operator is started with, as AGENT or as REPLICATOR."""
    return (
        f"--role={'downstream' if name == AGENT else 'replicator'}",
        f"--server-config={place.config}",
        f"--metrics-bind-address={place.metrics}",
        "--metrics-secure=false",
        f"--webhook-cert-path={place.certificates}",
        f"--health-probe-bind-address={place.probes}",
    )


def dns_config(place: Place) -> str:
    """Return its configuration file."""
    content = {
        "apiVersion": "dns.networking.miloapis.com/v1alpha1",
        "kind": "DNSOperator",
        "discovery": {"mode": "single"},
        "downstreamResourceManagement": {"kubeconfigPath": place.downstream},
    }
    return yaml.safe_dump(content, sort_keys=False)


def dns_environment(launch: Launch, name: str) -> dict[str, str]:
    """Return what it is told by its environment."""
    return {
        "PDNS_API_URL": powerdns.api_url(launch.lab.net),
        "PDNS_API_KEY": powerdns.api_key(launch.lab),
        # The reporting instance of its events; without one they are refused.
        "POD_NAME": name,
    }


def webhooks(ca: str, client: Callable[[str], Manifest]) -> list[Manifest]:
    """Return what lets a control plane ask the operator before it stores an object.

    Args:
        ca: authority of its certificate, base64 of the PEM.
        client: given a path, how the operator is reached: by `url` or by `service`.
    """
    return [
        Ref(kind, "network-services-operator").manifest(webhooks=[_webhook(verb, ca, client, *hook) for hook in hooks])
        for kind, verb, hooks in (
            (MUTATING_WEBHOOKS, "mutate", _MUTATING),
            (VALIDATING_WEBHOOKS, "validate", _VALIDATING),
        )
    ]


def _webhook(
    verb: str,
    ca: str,
    client: Callable[[str], Manifest],
    group: str,
    version: str,
    resource: str,
    word: str,
    operations: tuple[str, ...],
) -> Manifest:
    path = f"/{verb}-{group.replace('.', '-')}-{version}-{word}"
    rule = {"apiGroups": [group], "apiVersions": [version], "resources": [resource], "operations": list(operations)}
    return {
        "name": f"{verb}-{word}.{_DATUM}",
        "clientConfig": {**client(path), "caBundle": ca},
        "rules": [rule],
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
