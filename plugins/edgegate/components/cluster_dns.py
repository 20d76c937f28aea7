"""Cluster DNS: CoreDNS with its kubernetes plugin, reached by pods at the usual service address."""

from edgegate.clusters.kinds import ENDPOINT_SLICE, SERVICE, Ref
from edgegate.clusters.plane import Manifest
from edgegate.components import control_plane
from edgegate.components.launch import Launch
from edgegate.lab import LabNet, ProcessSpec, Ready

NAME = "coredns"
NAMESPACE = "kube-system"


def spec(launch: Launch) -> ProcessSpec:
    """Return how CoreDNS is run; it listens on the pods' gateway address."""
    corefile = launch.config("Corefile", _corefile(launch))
    argv = (str(launch.artifacts["coredns"].binary("coredns")), "-conf", corefile)
    # The plugin `ready` answers once the kubernetes plugin has its first full list.
    ready = Ready(kind="http", address="http://127.0.0.1:8181/ready", limit=60)
    return ProcessSpec(NAME, argv, env=launch.environment("coredns", GOMEMLIMIT="100MiB"), ready=ready)


def _corefile(launch: Launch) -> str:
    kubeconfig = control_plane.inner_kubeconfig(launch, control_plane.DOWNSTREAM)
    # Without a cache: what a look-up sees is what the recursor knows at that moment.
    outside = f"    forward . {launch.lab.net.recursor_ip}\n" if "dns" in launch.parts else ""
    return f""".:53 {{
    bind {launch.lab.net.bridge_ip}
    errors
    ready 127.0.0.1:8181
{outside}\
    kubernetes {control_plane.CLUSTER_DOMAIN} in-addr.arpa ip6.arpa {{
        kubeconfig {kubeconfig}
        pods insecure
        ttl 1
    }}
}}
"""


def service(net: LabNet) -> list[Manifest]:
    """Return the Service `kube-dns` at its fixed address, and the endpoint behind it."""
    ports = [{"name": "dns", "port": 53, "protocol": "UDP"}, {"name": "dns-tcp", "port": 53, "protocol": "TCP"}]
    return without_selector(NAMESPACE, "kube-dns", net.bridge_ip, ports, cluster_ip=net.dns_ip)


def without_selector(
    namespace: str,
    name: str,
    address: str,
    ports: list[Manifest],
    *,
    cluster_ip: str | None = None,
    target_port: int | None = None,
) -> list[Manifest]:
    """Return a Service that leads to one address which no pod has, and its EndpointSlice.

    Without `target_port` the endpoint listens on the Service's own ports.
    """
    labels = {"kubernetes.io/service-name": name, "endpointslice.kubernetes.io/managed-by": "edgegate"}
    targets = [{**port, "port": target_port or port["port"]} for port in ports]
    addressed = {"ports": ports} | ({"clusterIP": cluster_ip} if cluster_ip else {})
    endpoints = [{"addresses": [address], "conditions": {"ready": True}}]
    endpoint_slice = Ref(ENDPOINT_SLICE, name, namespace).manifest(
        addressType="IPv4", ports=targets, endpoints=endpoints
    )
    endpoint_slice["metadata"]["labels"] = labels
    return [Ref(SERVICE, name, namespace).manifest(addressed), endpoint_slice]
