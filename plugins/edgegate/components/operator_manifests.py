"""Objects by which the real operators run as pods: accounts, files, Services, Deployments."""

import base64
from collections.abc import Mapping
from typing import Any

from edgegate.clusters.kinds import DEPLOYMENT, NAMESPACE, SECRET, SERVICE, Kind, Ref
from edgegate.clusters.plane import Manifest
from edgegate.components import pods
from edgegate.components.nso_config import AGENT, EXTENSION, OPERATOR, REPLICATOR, Place

NAMESPACE_NAME = "network-services-operator-system"
METRICS = {OPERATOR: 30090, AGENT: 30091, REPLICATOR: 30092}
"""Ports of the nodes that lead to their metrics: the machine has no route to pods of the upstream cluster."""
FILES = "/etc/operator"
"""Where each of them finds its files."""
CONFIG, KUBECONFIG = "config.yaml", "downstream.kubeconfig"
PLACE = Place(f"{FILES}/{CONFIG}", FILES, f"{FILES}/{KUBECONFIG}", metrics=":8080", probes=":8081")
"""The same in every pod: each has addresses of its own."""
# Limits of the operators' own manifests (config/manager, config/extension-server; of the manager that of config/e2e).
_MEMORY = {OPERATOR: "2Gi", REPLICATOR: "128Mi", AGENT: "128Mi", EXTENSION: "256Mi"}
_ACCOUNT = Kind("v1", "ServiceAccount")
_BINDING = Kind("rbac.authorization.k8s.io/v1", "ClusterRoleBinding")


def reference(name: str) -> Ref:
    """Return the Deployment of one of them."""
    return Ref(DEPLOYMENT, name, NAMESPACE_NAME)


def space(*names: str) -> list[Manifest]:
    """Return the namespace and the accounts in it, which are administrators of their cluster as in the lab."""
    everybody = {"kind": "Group", "name": f"system:serviceaccounts:{NAMESPACE_NAME}"}
    administers = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
    subject = {**everybody, "apiGroup": "rbac.authorization.k8s.io"}
    return [
        Ref(NAMESPACE, NAMESPACE_NAME).manifest(),
        Ref(_BINDING, NAMESPACE_NAME).manifest(roleRef=administers, subjects=[subject]),
        *(Ref(_ACCOUNT, name, NAMESPACE_NAME).manifest() for name in names),
    ]


def secret(name: str, files: Mapping[str, str | bytes]) -> Manifest:
    """Return the Secret with the files of one of them."""
    content = {key: value if isinstance(value, bytes) else value.encode() for key, value in files.items()}
    data = {key: base64.b64encode(value).decode() for key, value in content.items()}
    return Ref(SECRET, name, NAMESPACE_NAME).manifest(data=data)


def metrics_port(name: str) -> Manifest:
    """Return the port of its metrics."""
    return {"name": "metrics", "port": 8080, "nodePort": METRICS[name]}


def service(name: str, *ports: Manifest) -> Manifest:
    """Return its Service."""
    kind = "NodePort" if any("nodePort" in port for port in ports) else "ClusterIP"
    spec = {"type": kind, "selector": pods.labels(name), "ports": list(ports)}
    return Ref(SERVICE, name, NAMESPACE_NAME).manifest(spec)


def deployment(name: str, container: Manifest, **pod: Any) -> Manifest:
    """Return its Deployment; `pod` is what its pod has beyond the others'."""
    made = pods.deployment(reference(name), container, [{"name": "files", "secret": {"secretName": name}}])
    made["spec"]["template"]["spec"] |= {**pod, "enableServiceLinks": False}
    # Two at a time would both act: neither asks who leads.
    made["spec"]["strategy"] = {"type": "Recreate"}
    return made


def container(name: str, image: str, words: tuple[str, ...], *, probe: str = "/readyz") -> Manifest:
    """Return its container, which runs the entry point of its image and nothing that a registry has."""
    port = int(PLACE.probes.strip(":"))
    return {
        "name": name,
        "image": image,
        "imagePullPolicy": "Never",
        "args": list(words),
        "readinessProbe": {"httpGet": {"path": probe, "port": port}, "periodSeconds": 1},
        "livenessProbe": {
            "httpGet": {"path": "/healthz", "port": port},
            "initialDelaySeconds": 15,
            "periodSeconds": 20,
        },
        "resources": {"limits": {"memory": _MEMORY[name]}, "requests": {"cpu": "10m", "memory": "64Mi"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "runAsNonRoot": True,
            "runAsUser": 65532,
        },
        "volumeMounts": [{"name": "files", "mountPath": FILES, "readOnly": True}],
    }


def environment(values: Mapping[str, str]) -> list[Manifest]:
    """Return environment variables as a container has them."""
    return [{"name": name, "value": value} for name, value in values.items()]
