"""The real operators, network-services-operator and dns-operator, as processes in place of ours.

Their flags and configuration are those of contract.md section 6. Both run as cluster administrators, and both find out
about the world by the lab's recursor, because they use the resolver of their process.
"""

from functools import partial
from pathlib import Path

import yaml

from edgegate.clusters.kinds import MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS, Ref
from edgegate.clusters.plane import ControlPlane, Manifest
from edgegate.components import cert_manager, control_plane, dns, envoy_gateway, powerdns
from edgegate.components.bring_up import Planes
from edgegate.components.control_plane import DOWNSTREAM, UPSTREAM
from edgegate.components.graph import Step
from edgegate.components.launch import DATA, Launch
from edgegate.lab import Bind, ProcessSpec, Ready

CLASS_NAME = "datum-external-global-proxy"
"""The upstream class that customers' Gateways have."""
RETRIES = [{"interval": "1s", "maxElapsed": "5s"}, {"interval": "5m"}]
"""When a Domain is tried again, as in the configuration of ours."""
OPERATOR, AGENT, REPLICATOR = "operator", "dns-agent", "dns-replicator"
METRICS = {OPERATOR: 8090, AGENT: 8091, REPLICATOR: 8092}
_PROBES = {OPERATOR: 18090, AGENT: 18091, REPLICATOR: 18092}
# The dns-operator's own webhook server takes 9443, and no flag changes that.
_WEBHOOK_PORT = 9444
_ISSUER_OPTION = "gateway.networking.datumapis.com/certificate-issuer"
_RESOLVER = "operator-resolv.conf"
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


def steps(launch: Launch, planes: Planes) -> list[Step]:
    """Return the steps that start both."""
    start, needs = launch.lab.start, ("operator-objects", "powerdns")
    return [
        Step("operator-files", partial(_write_files, launch)),
        Step("operator", lambda: start(_manager(launch)), needs=(*needs, "operator-files")),
        Step("operator-hooks", partial(_hook, launch, planes.upstream), needs=("operator",)),
        *(
            Step(name, partial(_start_dns, launch, name), needs=(*needs, "operator-files"))
            for name in (AGENT, REPLICATOR)
        ),
    ]


def _start_dns(launch: Launch, name: str) -> None:
    launch.lab.start(_dns_operator(launch, name))


def _write_files(launch: Launch) -> None:
    pair = launch.authority.issue([launch.lab.net.lab_ip, "127.0.0.1", "localhost"])
    launch.secret("operator-webhook/tls.crt", pair.certificate)
    launch.secret("operator-webhook/tls.key", pair.key)
    launch.config(_RESOLVER, f"nameserver {launch.lab.net.recursor_ip}\n")


def _process(launch: Launch, name: str, binary: Path | None, words: tuple[str, ...], **env: str) -> ProcessSpec:
    assert binary is not None, "settings that name the real operator name both binaries"
    resolver = Bind(f"{DATA}/config/{_RESOLVER}", "/etc/resolv.conf")
    ready = Ready(kind="http", address=f"http://127.0.0.1:{_PROBES[name]}/readyz", limit=60)
    probes = f"--health-probe-bind-address=127.0.0.1:{_PROBES[name]}"
    environment = launch.environment("kubernetes", GOMEMLIMIT="300MiB", **env)
    return ProcessSpec(name, (str(binary), *words, probes), env=environment, binds=(resolver,), ready=ready)


def _manager(launch: Launch) -> ProcessSpec:
    config = launch.config("operator.yaml", yaml.safe_dump(_config(launch), sort_keys=False))
    words = ("manager", f"--server-config={config}", "--singleton-controllers-leader-elect=false")
    kubeconfig = control_plane.inner_kubeconfig(launch, UPSTREAM)
    return _process(launch, OPERATOR, launch.operator.binary, words, KUBECONFIG=kubeconfig)


def _config(launch: Launch) -> Manifest:
    return {
        "apiVersion": "apiserver.config.datumapis.com/v1alpha1",
        "kind": "NetworkServicesOperator",
        # With secureServing it would ask for TokenReviews, and every reader for a token.
        "metricsServer": {"bindAddress": f"{launch.lab.net.lab_ip}:{METRICS[OPERATOR]}", "secureServing": False},
        "webhookServer": {"port": _WEBHOOK_PORT, "tls": {"certDir": f"{DATA}/secrets/operator-webhook"}},
        "discovery": {"mode": "single"},
        "downstreamResourceManagement": {"kubeconfigPath": control_plane.inner_kubeconfig(launch, DOWNSTREAM)},
        "gateway": {
            "targetDomain": dns.EDGE_ZONE,
            "downstreamGatewayClassName": envoy_gateway.CLASS_NAME,
            # Every family that is named must have an address, or no DNSEndpoint is ever written.
            "ipFamilies": ["IPv4"],
            "eppEmissionEnabled": False,
            "enableDNSIntegration": True,
            "enableDownstreamCertificateSolver": True,
            "clusterIssuerMap": {name: issuer.name for name, issuer in cert_manager.ISSUERS.items()},
            "certificateReissuance": {"retryInterval": "25s", "maxRetries": 3},
            "permittedTLSOptions": {_ISSUER_OPTION: []},
        },
        "httpProxy": {"gatewayClassName": CLASS_NAME},
        "domainVerificationConfig": {"retryIntervals": RETRIES},
    }


def _dns_operator(launch: Launch, name: str) -> ProcessSpec:
    plane = DOWNSTREAM if name == AGENT else UPSTREAM
    content = {
        "apiVersion": "dns.networking.miloapis.com/v1alpha1",
        "kind": "DNSOperator",
        "discovery": {"mode": "single"},
        "downstreamResourceManagement": {"kubeconfigPath": control_plane.inner_kubeconfig(launch, DOWNSTREAM)},
    }
    config = launch.config(f"{name}.yaml", yaml.safe_dump(content, sort_keys=False))
    words = (
        f"--role={'downstream' if name == AGENT else 'replicator'}",
        f"--server-config={config}",
        f"--metrics-bind-address={launch.lab.net.lab_ip}:{METRICS[name]}",
        "--metrics-secure=false",
        f"--webhook-cert-path={DATA}/secrets/operator-webhook",
    )
    env = {
        "KUBECONFIG": control_plane.inner_kubeconfig(launch, plane),
        "PDNS_API_URL": powerdns.api_url(launch.lab.net),
        "PDNS_API_KEY": powerdns.api_key(launch.lab),
        # The reporting instance of its events; without one they are refused.
        "POD_NAME": name,
    }
    return _process(launch, name, launch.operator.dns_binary, words, **env)


def _hook(launch: Launch, upstream: ControlPlane) -> None:
    """Let the first project's control plane ask the operator before it stores an object."""
    ca = launch.authority.certificate_base64
    for kind, verb, hooks in ((MUTATING_WEBHOOKS, "mutate", _MUTATING), (VALIDATING_WEBHOOKS, "validate", _VALIDATING)):
        webhooks = [_webhook(verb, ca, *hook) for hook in hooks]
        upstream.apply(Ref(kind, "network-services-operator").manifest(webhooks=webhooks))


def _webhook(
    verb: str, ca: str, group: str, version: str, resource: str, word: str, operations: tuple[str, ...]
) -> Manifest:
    path = f"/{verb}-{group.replace('.', '-')}-{version}-{word}"
    rule = {"apiGroups": [group], "apiVersions": [version], "resources": [resource], "operations": list(operations)}
    return {
        "name": f"{verb}-{word}.{_DATUM}",
        "clientConfig": {"url": f"https://127.0.0.1:{_WEBHOOK_PORT}{path}", "caBundle": ca},
        "rules": [rule],
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
