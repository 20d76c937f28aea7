"""Envoy Gateway with merged gateways: its process, and the objects that make the class usable."""

import base64

import yaml

from edgegate.clusters.kinds import ENVOY_PROXY, GATEWAY_CLASS, NAMESPACE, SECRET, Ref
from edgegate.clusters.plane import ControlPlane, Manifest, is_true
from edgegate.components import control_plane
from edgegate.components.cluster_dns import without_selector
from edgegate.components.launch import DATA, RESOLV_CONF, TRUST, Launch
from edgegate.errors import NeverReady
from edgegate.lab import Bind, ProcessSpec, Ready

NAME = "envoy-gateway"
NAMESPACE_NAME = "envoy-gateway-system"
GATEWAY_NAMESPACE = "datum-downstream-gateway"
CLASS_NAME = "datum-downstream-gateway"
CONTROLLER = "gateway.envoyproxy.io/datum-downstream-gateway"
TENANT_LABEL = "meta.datumapis.com/upstream-cluster-name"
"""Envoy Gateway looks at namespaces with this label only, as in production (contract.md 6.3)."""
ADMIN_PORT = 19000
XDS_PORT = 18000
LOG_EVERY = 1.0
"""Seconds between two writes of the proxies' logs."""
_CERTIFICATES = f"{DATA}/envoy-gateway-certs"
_PROXY = "merged"


def namespaces() -> list[Manifest]:
    """Return the namespaces that must exist before Envoy Gateway starts.

    Its own one carries the tenant label too: without it Envoy Gateway 1.8 leaves every Gateway at
    AddressNotAssigned for good (1.7 does not need it).
    """
    labelled = {TENANT_LABEL: "edge"}
    wanted = [Ref(NAMESPACE, name).manifest() for name in (NAMESPACE_NAME, GATEWAY_NAMESPACE)]
    for namespace in wanted:
        namespace["metadata"]["labels"] = labelled
    return wanted


def generate_certificates(launch: Launch) -> None:
    """Let Envoy Gateway write its control-plane certificates as Secrets; once for every new etcd."""
    argv = [str(launch.artifacts[NAME].binary(NAME)), "certgen", "--disable-topology-injector"]
    launch.lab.run(argv, env=_environment(launch), timeout=60)


def mount_certificates(launch: Launch, plane: ControlPlane) -> None:
    """Write the control-plane certificates where the process will find them as `/certs`."""
    secret = plane.get(Ref(SECRET, NAME, NAMESPACE_NAME))
    if secret is None:
        raise NeverReady("certificates of Envoy Gateway", limit="certgen", last="no Secret envoy-gateway")
    for key, value in secret["data"].items():
        launch.lab.put(f"{_CERTIFICATES}/{key}", base64.b64decode(value), 0o600)


def spec(launch: Launch) -> ProcessSpec:
    """Return how Envoy Gateway is run; it reads `/certs` and resolves names through the cluster DNS."""
    config = launch.config(
        "envoy-gateway.yaml", yaml.safe_dump(server_config(launch.selection.version(NAME)), sort_keys=False)
    )
    launch.config("resolv.conf", f"nameserver {launch.lab.net.dns_ip}\n")
    return ProcessSpec(
        name=NAME,
        argv=(str(launch.artifacts[NAME].binary(NAME)), "server", f"--config-path={config}"),
        env=_environment(launch),
        binds=(Bind(_CERTIFICATES, "/certs"), Bind(RESOLV_CONF, "/etc/resolv.conf")),
        ready=Ready(kind="http", address="http://127.0.0.1:8081/readyz", limit=60),
    )


def objects(launch: Launch) -> list[Manifest]:
    """Return the Service by which proxies find Envoy Gateway, the merged proxy's settings, and the class."""
    ports = [{"name": "xds", "port": XDS_PORT, "protocol": "TCP"}]
    return [
        *without_selector(NAMESPACE_NAME, NAME, launch.lab.net.lab_ip, ports),
        envoy_proxy(launch.selection.version("envoy")),
        gateway_class(),
    ]


def envoy_proxy(version: str) -> Manifest:
    """Return the settings of the merged proxy that runs an Envoy version.

    Three settings differ from Envoy Gateway's defaults: containers listen on the listeners' own ports, as in
    production; Envoy's admin interface answers outside its pod, because the probes read it; and its log is written
    every second, not every ten, because scenarios read it and a failure's diagnostics must have its end.
    """
    admin = {"socket_address": {"address": "0.0.0.0", "port_value": ADMIN_PORT}}
    patch = {"op": "replace", "path": "/admin/address", "value": admin}
    deployment = {"replicas": 1, "container": {"image": f"docker.io/envoyproxy/envoy:v{version}"}}
    kubernetes = {"useListenerPortAsContainerPort": True, "envoyDeployment": deployment}
    return Ref(ENVOY_PROXY, _PROXY, GATEWAY_NAMESPACE).manifest(
        {
            "mergeGateways": True,
            "provider": {"type": "Kubernetes", "kubernetes": kubernetes},
            "bootstrap": {"type": "JSONPatch", "jsonPatches": [patch]},
            "extraArgs": ["--file-flush-interval-msec", str(int(LOG_EVERY * 1000))],
        }
    )


def gateway_class() -> Manifest:
    """Return the class whose Gateways share one proxy."""
    proxy = {"group": "gateway.envoyproxy.io", "kind": "EnvoyProxy", "name": _PROXY, "namespace": GATEWAY_NAMESPACE}
    return Ref(GATEWAY_CLASS, CLASS_NAME).manifest({"controllerName": CONTROLLER, "parametersRef": proxy})


def _environment(launch: Launch) -> dict[str, str]:
    return launch.environment(
        NAME,
        KUBECONFIG=control_plane.inner_kubeconfig(launch, control_plane.DOWNSTREAM),
        ENVOY_GATEWAY_NAMESPACE=NAMESPACE_NAME,
        SSL_CERT_FILE=TRUST,
        KUBERNETES_CLUSTER_DOMAIN=control_plane.CLUSTER_DOMAIN,
        GOMEMLIMIT="500MiB",
        GOGC="300",
    )


def server_config(version: str) -> Manifest:
    """Return Envoy Gateway's own settings, the same wherever it runs."""
    selector = {"matchExpressions": [{"key": TENANT_LABEL, "operator": "Exists"}]}
    kubernetes = {
        "leaderElection": {"disable": True},
        "watch": {"type": "NamespaceSelector", "namespaceSelector": selector},
        # With the injector a proxy waits 15 s and more for an EDS answer that never comes outside a cluster.
        "proxyTopologyInjector": {"disabled": True},
        # The sidecar's default image is a development one; the released chart sets the release's own.
        "shutdownManager": {"image": f"docker.io/envoyproxy/gateway:v{version}"},
    }
    return {
        "apiVersion": "gateway.envoyproxy.io/v1alpha1",
        "kind": "EnvoyGateway",
        "gateway": {"controllerName": CONTROLLER},
        "provider": {"type": "Kubernetes", "kubernetes": kubernetes},
        "extensionApis": {"enableBackend": True, "enableEnvoyPatchPolicy": True},
        "runtimeFlags": {"enabled": ["XDSNameSchemeV2"]},
        "logging": {"level": {"default": "info"}},
        "admin": {"address": {"host": "127.0.0.1", "port": 19900}},
    }


def wait_for_class(plane: ControlPlane) -> None:
    """Return once Envoy Gateway has accepted the class, which tells that its controllers are at work."""
    plane.wait(Ref(GATEWAY_CLASS, CLASS_NAME), lambda found: is_true(found, "Accepted"), what="class accepted")
