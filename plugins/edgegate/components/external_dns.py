"""external-dns: turns the DNSEndpoint objects of the downstream plane into records of the authoritative server."""

from edgegate.components import control_plane, powerdns
from edgegate.components.launch import Launch
from edgegate.lab import ProcessSpec, Ready

NAME = "external-dns"
CRD_FILE = "config/crd/standard/dnsendpoints.externaldns.k8s.io.yaml"
OWNER = "edgegate"
"""What the TXT records say that mark a record as its own."""


def spec(launch: Launch, domain: str) -> ProcessSpec:
    """Return how external-dns is run for the names below one domain."""
    argv = (
        str(launch.artifacts[NAME].binary(NAME)),
        f"--kubeconfig={control_plane.inner_kubeconfig(launch, control_plane.DOWNSTREAM)}",
        "--source=crd",
        "--provider=pdns",
        f"--pdns-server={powerdns.api_url(launch.lab.net)}",
        f"--domain-filter={domain}",
        "--policy=sync",
        "--registry=txt",
        f"--txt-owner-id={OWNER}",
        # Its own defaults are one minute without events. A stage clock shall see the edge, not this timer.
        "--events",
        "--min-event-sync-interval=50ms",
        "--interval=1m",
    )
    environment = launch.environment(NAME, EXTERNAL_DNS_PDNS_API_KEY=powerdns.api_key(launch.lab), GOMEMLIMIT="100MiB")
    # It ends when the server's API is away, and is started again: in a cluster by the kubelet, here by the supervisor.
    return ProcessSpec(NAME, argv, env=environment, ready=Ready(kind="none"), restart="always")
