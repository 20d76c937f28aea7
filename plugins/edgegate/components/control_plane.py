"""A Kubernetes control plane: kube-apiserver and kube-controller-manager on a key prefix of the lab's etcd."""

import base64
from dataclasses import dataclass
from pathlib import Path

import yaml

from edgegate.components import etcd
from edgegate.components.launch import TRUST, Launch
from edgegate.components.pki import write_private
from edgegate.lab import LabNet, ProcessSpec, Ready

CLUSTER_DOMAIN = "cluster.local"
ADMIN = "edgegate-admin"
_FILES = {"certificate-authority", "client-certificate", "client-key"}
"""Keys of a kubeconfig that name files."""

# What the API servers may use. Measured (docs/measurements.md): without a limit each grows to 1.2 GiB in a burst.
_MEMORY = {"GOMEMLIMIT": "800MiB", "GOGC": "200"}
# With an operator's CRDs and customers the live heap alone comes near that limit. Measured after some hundred
# proxies: it collected garbage all the time, and answered nobody for a minute.
_MEMORY_WITH_OPERATOR = {"GOMEMLIMIT": "1400MiB", "GOGC": "300"}

_EVERY_PLANE = ("garbage-collector-controller", "namespace-controller")
_WORKLOADS = (
    "daemonset-controller",
    "deployment-controller",
    "endpointslice-controller",
    "job-controller",
    "replicaset-controller",
    "root-ca-certificate-publisher-controller",
    "serviceaccount-controller",
    "statefulset-controller",
)


@dataclass(frozen=True)
class PlaneSpec:
    """What tells one control plane of a lab from another."""

    name: str
    """Its name: `downstream`, `upstream`, or a project's."""
    port: int
    """Where its API server listens."""
    services: str
    """Range of its service addresses."""
    controllers: tuple[str, ...] = _EVERY_PLANE
    """Which controllers its kube-controller-manager runs."""

    @property
    def prefix(self) -> str:
        """Its key prefix in etcd."""
        return f"/{self.name}"


DOWNSTREAM = PlaneSpec("downstream", 6443, "10.96.0.0/16", _EVERY_PLANE + _WORKLOADS)
UPSTREAM = PlaneSpec("upstream", 6444, "10.97.0.0/16")


def project(name: str, index: int) -> PlaneSpec:
    """Return the plane of a further project; `index` counts from 0 and decides port and range."""
    return PlaneSpec(name, 6445 + index, f"10.{98 + index}.0.0/16")


def api_server_url(net: LabNet, plane: PlaneSpec) -> str:
    """Return where the caller reaches the plane's API server."""
    return f"https://{net.lab_ip}:{plane.port}"


def api_server(launch: Launch, plane: PlaneSpec) -> ProcessSpec:
    """Return how the plane's API server is run."""
    net = launch.lab.net
    certificate = launch.authority.issue([net.lab_ip, "127.0.0.1", "localhost", "kubernetes.default.svc"])
    secret = launch.secret
    argv = (
        str(launch.artifacts["kubernetes"].binary("kube-apiserver")),
        f"--etcd-servers={etcd.CLIENT_URL}",
        f"--etcd-prefix={plane.prefix}",
        f"--secure-port={plane.port}",
        f"--advertise-address={net.lab_ip}",
        f"--tls-cert-file={secret(f'{plane.name}.crt', certificate.certificate)}",
        f"--tls-private-key-file={secret(f'{plane.name}.key', certificate.key)}",
        f"--token-auth-file={secret('tokens.csv', f'{launch.token},{ADMIN},{ADMIN},system:masters')}",
        f"--service-account-issuer=https://kubernetes.default.svc.{CLUSTER_DOMAIN}",
        f"--service-account-key-file={secret('sa.pub', launch.service_account_keys[1])}",
        f"--service-account-signing-key-file={secret('sa.key', launch.service_account_keys[0])}",
        f"--service-cluster-ip-range={plane.services}",
        "--authorization-mode=RBAC",
        "--allow-privileged",
        "--profiling=false",
        "--max-requests-inflight=2000",
        "--max-mutating-requests-inflight=1000",
    )
    ready = Ready(
        kind="http",
        address=f"https://127.0.0.1:{plane.port}/readyz",
        header={"Authorization": f"Bearer {launch.token}"},
        limit=90,
    )
    memory = _MEMORY_WITH_OPERATOR if "operator" in launch.parts else _MEMORY
    return ProcessSpec(_server(plane), argv, env=launch.environment("kubernetes", **memory), ready=ready)


def controller_manager(launch: Launch, plane: PlaneSpec) -> ProcessSpec:
    """Return how the plane's controllers are run."""
    ca = launch.secret("ca.crt", launch.authority.certificate)
    argv = (
        str(launch.artifacts["kubernetes"].binary("kube-controller-manager")),
        f"--kubeconfig={inner_kubeconfig(launch, plane)}",
        f"--controllers={','.join(plane.controllers)}",
        f"--root-ca-file={ca}",
        f"--service-account-private-key-file={launch.secret('sa.key', launch.service_account_keys[0])}",
        "--leader-elect=false",
        "--use-service-account-credentials=false",
        "--secure-port=0",
        "--kube-api-qps=200",
        "--kube-api-burst=400",
    )
    environment = launch.environment("kubernetes", GOMEMLIMIT="300MiB", GOGC="300")
    return ProcessSpec(f"kube-controller-manager-{plane.name}", argv, env=environment)


def inner_kubeconfig(launch: Launch, plane: PlaneSpec) -> str:
    """Return the path, inside the lab, of an administrator's kubeconfig for the plane."""
    if launch.elsewhere:
        return launch.secret(f"{plane.name}.kubeconfig", _given(launch, plane).read_text())
    return launch.secret(f"{plane.name}.kubeconfig", _kubeconfig(launch, plane, TRUST))


def outer_kubeconfig(launch: Launch, plane: PlaneSpec) -> Path:
    """Write the caller's kubeconfig into the lab's folder, for its owner alone, and return its path."""
    if launch.elsewhere:
        return _given(launch, plane)
    authority = write_private(launch.folder / "ca.crt", launch.authority.certificate)
    return write_private(launch.folder / f"{plane.name}.kubeconfig", _kubeconfig(launch, plane, str(authority)))


def portable_kubeconfig(launch: Launch, plane: PlaneSpec) -> str:
    """Return an administrator's kubeconfig of a plane that is not in the lab, with its files inside, for a pod."""
    content = yaml.safe_load(_given(launch, plane).read_text())
    holders = [one["cluster"] for one in content["clusters"]] + [one["user"] for one in content["users"]]
    for holder in holders:
        for key in _FILES & holder.keys():
            holder[f"{key}-data"] = base64.b64encode(Path(holder.pop(key)).read_bytes()).decode()
    return str(yaml.safe_dump(content, sort_keys=False))


def _given(launch: Launch, plane: PlaneSpec) -> Path:
    """Return the kubeconfig of a plane that is not in the lab."""
    return launch.folder / f"{plane.name}.kubeconfig"


def _server(plane: PlaneSpec) -> str:
    return f"kube-apiserver-{plane.name}"


def _kubeconfig(launch: Launch, plane: PlaneSpec, authority: str) -> str:
    # The authority is a file of its own: one inside the kubeconfig is copied by the Python client to a temporary file,
    # which stays behind when the process is killed.
    cluster = {
        "server": api_server_url(launch.lab.net, plane),
        "certificate-authority": authority,
    }
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": plane.name,
        "clusters": [{"name": plane.name, "cluster": cluster}],
        "users": [{"name": ADMIN, "user": {"token": launch.token}}],
        "contexts": [{"name": plane.name, "context": {"cluster": plane.name, "user": ADMIN}}],
    }
    return yaml.safe_dump(content, sort_keys=False)
