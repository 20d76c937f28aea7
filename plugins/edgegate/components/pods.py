"""What runs as pods where nodes have a kubelet: Envoy Gateway as its chart has it, and the cluster's DNS."""

from collections.abc import Sequence

import yaml

from edgegate.clusters.kinds import CONFIG_MAP, DEPLOYMENT, POD, SERVICE, Kind, Ref
from edgegate.clusters.plane import ControlPlane, Manifest
from edgegate.components import envoy_gateway
from edgegate.components.control_plane import CLUSTER_DOMAIN
from edgegate.components.launch import SYSTEM_TRUST

_ACCOUNT = Kind("v1", "ServiceAccount")
_RBAC = "rbac.authorization.k8s.io/v1"
_CLUSTER_ROLE, _CLUSTER_BINDING = Kind(_RBAC, "ClusterRole"), Kind(_RBAC, "ClusterRoleBinding")
_ROLE, _BINDING = Kind(_RBAC, "Role"), Kind(_RBAC, "RoleBinding")
GATEWAY, DNS = envoy_gateway.NAME, "coredns"
_TRUST = "edge-trust"
"""ConfigMap with the authorities that the edge's world trusts: the lab's alone."""
_PROXY = {"app.kubernetes.io/component": "proxy"}
_READ = ["get", "list", "watch"]
_MAKE = ["create", "get", "list", "delete", "deletecollection", "patch", "watch"]


def trust(authority: bytes) -> Manifest:
    """Return the ConfigMap that Envoy Gateway and every proxy have in the place of the system's authorities."""
    data = {"ca-certificates.crt": authority.decode()}
    return Ref(CONFIG_MAP, _TRUST, envoy_gateway.NAMESPACE_NAME).manifest(data=data)


def envoy_proxy(version: str, replicas: int) -> Manifest:
    """Return the proxies' settings: those of the host lab, the lab's authorities, and a number of pods."""
    made = envoy_gateway.envoy_proxy(version)
    deployment = made["spec"]["provider"]["kubernetes"]["envoyDeployment"]
    deployment["replicas"] = replicas
    deployment["pod"] = {"volumes": [_volume(_TRUST, _TRUST)]}
    deployment["container"]["volumeMounts"] = [_mount_of_trust()]
    # Envoy Gateway lets the kubelet look every 10 s and 5 s; a gate that waits for a proxy would see little else.
    eager = {"periodSeconds": 1}
    looks = {"startupProbe": {**eager, "failureThreshold": 300}, "readinessProbe": eager}
    containers = [{"name": name, **looks} for name in ("envoy", "shutdown-manager")]
    # One proxy a node as far as there are nodes, because each node hands what comes to it to its own proxies.
    spread = {"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway"}
    deployment["pod"]["topologySpreadConstraints"] = [{**spread, "labelSelector": {"matchLabels": _PROXY}}]
    template = {"spec": {"template": {"spec": {"containers": containers}}}}
    deployment["patch"] = {"type": "StrategicMerge", "value": template}
    return made


def gateway(version: str, *, more: Manifest | None = None, rights: Sequence[Manifest] = ()) -> list[Manifest]:
    """Return Envoy Gateway: its account and rights as in the chart, its settings, its Service and its Deployment.

    Args:
        version: of Envoy Gateway.
        more: settings beyond those of the host lab.
        rights: rights beyond those of the chart.
    """
    space = envoy_gateway.NAMESPACE_NAME
    settings = yaml.safe_dump({**envoy_gateway.server_config(version), **(more or {})}, sort_keys=False)
    everywhere = [*_gateway_rights(), *rights]
    ports = [{"name": "grpc", "port": envoy_gateway.XDS_PORT, "targetPort": envoy_gateway.XDS_PORT}]
    return [
        Ref(_ACCOUNT, GATEWAY, space).manifest(),
        *_bound(_CLUSTER_ROLE, _CLUSTER_BINDING, Ref(_CLUSTER_ROLE, GATEWAY), everywhere, space),
        *_bound(_ROLE, _BINDING, Ref(_ROLE, GATEWAY, space), _infrastructure_rights(), space),
        Ref(CONFIG_MAP, "envoy-gateway-config", space).manifest(data={"envoy-gateway.yaml": settings}),
        Ref(SERVICE, GATEWAY, space).manifest({"selector": labels(GATEWAY), "ports": ports}),
        deployment(Ref(DEPLOYMENT, GATEWAY, space), _gateway_container(version), _gateway_volumes()),
    ]


def _gateway_container(version: str) -> Manifest:
    space = {"name": "ENVOY_GATEWAY_NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}}
    return {
        "name": GATEWAY,
        "image": f"docker.io/envoyproxy/gateway:v{version}",
        "args": ["server", "--config-path=/config/envoy-gateway.yaml"],
        "env": [space, {"name": "KUBERNETES_CLUSTER_DOMAIN", "value": CLUSTER_DOMAIN}],
        "livenessProbe": {
            "httpGet": {"path": "/healthz", "port": 8081},
            "initialDelaySeconds": 15,
            "periodSeconds": 20,
        },
        # The chart looks every 10 s, the first time after 5 s, which every start would wait for.
        "readinessProbe": {**_asked("/readyz", 8081), "periodSeconds": 1},
        "resources": {"limits": {"memory": "1024Mi"}, "requests": {"cpu": "100m", "memory": "256Mi"}},
        "securityContext": {"allowPrivilegeEscalation": False, "runAsNonRoot": True, "runAsUser": 65532},
        "volumeMounts": [
            {"name": "config", "mountPath": "/config", "readOnly": True},
            {"name": "certs", "mountPath": "/certs", "readOnly": True},
            _mount_of_trust(),
        ],
    }


def _gateway_volumes() -> list[Manifest]:
    certs = {"name": "certs", "secret": {"secretName": "envoy-gateway"}}
    return [_volume("config", "envoy-gateway-config"), certs, _volume(_TRUST, _TRUST)]


def _gateway_rights() -> list[Manifest]:
    ours, gateway = "gateway.envoyproxy.io", "gateway.networking.k8s.io"
    routes = ["httproutes", "grpcroutes", "tcproutes", "tlsroutes", "udproutes"]
    policies = ["clienttrafficpolicies", "backendtrafficpolicies", "securitypolicies", "envoyextensionpolicies"]
    policies += ["envoypatchpolicies", "backends"]
    stated = ["gateways", "listenersets", "backendtlspolicies", *routes]
    return [
        _rule("", ["configmaps", "secrets", "services", "nodes", "namespaces"], _READ),
        _rule("apps", ["deployments", "daemonsets"], _READ),
        _rule("discovery.k8s.io", ["endpointslices"], _READ),
        _rule(ours, ["envoyproxies", "httproutefilters", *policies], _READ),
        _rule(ours, [f"{name}/status" for name in policies], ["update"]),
        _rule(gateway, ["referencegrants", *stated], _READ),
        _rule(gateway, [f"{name}/status" for name in stated], ["update"]),
        _rule(gateway, ["gatewayclasses"], [*_READ, "patch", "update"]),
        _rule(gateway, ["gatewayclasses/status"], ["update"]),
        _rule("multicluster.x-k8s.io", ["serviceimports"], _READ),
    ]


def _infrastructure_rights() -> list[Manifest]:
    return [
        _rule("", ["serviceaccounts", "services", "configmaps"], _MAKE),
        _rule("apps", ["deployments", "daemonsets"], _MAKE),
        _rule("autoscaling", ["horizontalpodautoscalers"], _MAKE),
        _rule("policy", ["poddisruptionbudgets"], _MAKE),
        _rule("certificates.k8s.io", ["clustertrustbundles"], _READ),
    ]


def cluster_dns(version: str, address: str, recursor: str) -> list[Manifest]:
    """Return CoreDNS at a service address; every name that is not the cluster's goes to `recursor`, if there is one."""
    space, name = "kube-system", DNS
    outside = f"    forward . {recursor}\n" if recursor else ""
    corefile = (
        f".:53 {{\n    errors\n    health\n    ready\n{outside}"
        f"    kubernetes {CLUSTER_DOMAIN} in-addr.arpa ip6.arpa {{\n        pods insecure\n        ttl 1\n    }}\n}}\n"
    )
    ports = [{"name": "dns", "port": 53, "protocol": "UDP"}, {"name": "dns-tcp", "port": 53, "protocol": "TCP"}]
    container = {
        "name": name,
        "image": f"registry.k8s.io/coredns/coredns:v{version}",
        "args": ["-conf", "/etc/coredns/Corefile"],
        "readinessProbe": {**_asked("/ready", 8181), "periodSeconds": 1},
        "resources": {"limits": {"memory": "170Mi"}, "requests": {"cpu": "50m", "memory": "70Mi"}},
        "volumeMounts": [{"name": "config", "mountPath": "/etc/coredns", "readOnly": True}],
    }
    rights = [
        _rule("", ["endpoints", "services", "pods", "namespaces"], ["list", "watch"]),
        _rule("discovery.k8s.io", ["endpointslices"], ["list", "watch"]),
    ]
    return [
        Ref(_ACCOUNT, name, space).manifest(),
        *_bound(_CLUSTER_ROLE, _CLUSTER_BINDING, Ref(_CLUSTER_ROLE, name), rights, space),
        Ref(CONFIG_MAP, name, space).manifest(data={"Corefile": corefile}),
        Ref(SERVICE, "kube-dns", space).manifest({"selector": labels(name), "ports": ports, "clusterIP": address}),
        deployment(Ref(DEPLOYMENT, name, space), container, [_volume("config", name)]),
    ]


def wait_available(plane: ControlPlane, ref: Ref, within: float = 90.0) -> None:
    """Return once all pods of a Deployment's present form are available. Raises NeverReady."""
    plane.wait(ref, is_available, what=f"{ref} available", within=within)


def is_available(found: Manifest | None) -> bool:
    """Tell whether all pods of a Deployment's present form are available."""
    status, wanted = (found or {}).get("status", {}), (found or {}).get("spec", {}).get("replicas", 1)
    seen = status.get("observedGeneration", 0) >= (found or {}).get("metadata", {}).get("generation", 1)
    updated, total = status.get("updatedReplicas", 0), status.get("replicas", 0)
    return bool(seen and updated == total == status.get("availableReplicas", 0) == wanted)


def of(plane: ControlPlane, namespace: str, name: str) -> list[Manifest]:
    """Return the pods of one of our Deployments, those included that are being deleted."""
    return plane.list(POD, namespace, labels=",".join(f"{key}={value}" for key, value in labels(name).items()))


def refs(plane: ControlPlane, namespace: str, name: str) -> list[Ref]:
    """Return the references to the pods of one of our Deployments; a listed object does not say what kind it is."""
    return [Ref(POD, pod["metadata"]["name"], namespace) for pod in of(plane, namespace, name)]


def deployment(ref: Ref, container: Manifest, volumes: Sequence[Manifest]) -> Manifest:
    """Return a Deployment of one pod with one container, under the account of its own name."""
    pod = {
        "serviceAccountName": ref.name,
        "containers": [container],
        "volumes": list(volumes),
        "terminationGracePeriodSeconds": 10,
        "tolerations": [{"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}],
    }
    template = {"metadata": {"labels": labels(ref.name)}, "spec": pod}
    return ref.manifest({"replicas": 1, "selector": {"matchLabels": labels(ref.name)}, "template": template})


def labels(name: str) -> dict[str, str]:
    """Return what tells the pods of one of our Deployments from others."""
    return {"app.kubernetes.io/name": name, "app.kubernetes.io/instance": "edge"}


def _rule(group: str, resources: list[str], verbs: list[str]) -> Manifest:
    return {"apiGroups": [group], "resources": resources, "verbs": verbs}


def _bound(kind: Kind, binding: Kind, role: Ref, rules: list[Manifest], space: str) -> list[Manifest]:
    subjects = [{"kind": "ServiceAccount", "name": role.name, "namespace": space}]
    leads_to = {"apiGroup": _RBAC.partition("/")[0], "kind": kind.name, "name": role.name}
    return [
        role.manifest(rules=rules),
        Ref(binding, role.name, role.namespace).manifest(roleRef=leads_to, subjects=subjects),
    ]


def _asked(path: str, port: int) -> Manifest:
    return {"httpGet": {"path": path, "port": port}}


def _volume(name: str, config_map: str) -> Manifest:
    return {"name": name, "configMap": {"name": config_map}}


def _mount_of_trust() -> Manifest:
    folder = SYSTEM_TRUST.rpartition("/")[0]
    return {"name": _TRUST, "mountPath": folder, "readOnly": True}
