"""kube-proxy: makes service and load-balancer addresses work inside the lab, as on a node."""

import yaml

from edgegate.components import control_plane
from edgegate.components.launch import Launch
from edgegate.lab import ProcessSpec, Ready

NAME = "kube-proxy"
NODE_NAME = "edge-node"
_HEALTH = "127.0.0.1:10256"
_TIMEOUT = "/proc/sys/net/netfilter/nf_conntrack_tcp_timeout_"
FORGET_SOON = ("sh", "-c", f"for state in syn_sent close; do echo 1 > {_TIMEOUT}$state || exit 1; done")
"""What lets a node's kernel forget dead connections after 1 s: those that nobody answered, and those that were reset.

An entry of connection tracking keeps leading to its pod when that is gone, and the next connection from the same port
follows it there and is never answered: after a reset by the server, tracking lets a SYN pass as it is. The kernel's
120 s and 10 s do no harm where thousands of clients share a node. A prober takes hundreds of ports a second from one
address, and meets its own again; docs/measurements.md has how often.
"""


def spec(launch: Launch) -> ProcessSpec:
    """Return how kube-proxy is run, in its nftables mode."""
    path = f"{launch.artifacts['nftables'].file('usr/sbin')}:/usr/sbin:/usr/bin:/sbin:/bin"
    environment = launch.environment("nftables", PATH=path, GOMEMLIMIT="100MiB")
    config = launch.config("kube-proxy.yaml", yaml.safe_dump(_config(launch), sort_keys=False))
    argv = (str(launch.artifacts["kubernetes"].binary("kube-proxy")), f"--config={config}")
    # /livez answers before the rules are there; /healthz once they have been written.
    ready = Ready(kind="http", address=f"http://{_HEALTH}/healthz", limit=60)
    return ProcessSpec(NAME, argv, env=environment, ready=ready)


def start(launch: Launch) -> None:
    """Start kube-proxy, and let the kernel forget soon, which it can only be told once its rules track connections."""
    launch.lab.start(spec(launch))
    launch.lab.run(FORGET_SOON)


def _config(launch: Launch) -> dict[str, object]:
    kubeconfig = control_plane.inner_kubeconfig(launch, control_plane.DOWNSTREAM)
    return {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "nftables",
        "hostnameOverride": NODE_NAME,
        "clientConnection": {"kubeconfig": kubeconfig},
        "clusterCIDR": launch.lab.net.pod_cidr,
        "detectLocalMode": "ClusterCIDR",
        "healthzBindAddress": _HEALTH,
        "metricsBindAddress": "127.0.0.1:10249",
        # Limits of connection tracking belong to the whole machine: 0 leaves them as they are.
        "conntrack": {"maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},
        "nftables": {"minSyncPeriod": "0s", "syncPeriod": "30s"},
    }
