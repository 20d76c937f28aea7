"""cert-manager: its controllers as a process, the pods that answer challenges through the node agent, and issuers.

Two issuers differ in who finds out that a challenge can be answered. Production's cert-manager checks itself: five
looks, 2 s apart, hard-coded. With the fast one it asks the authority at once, which 1.21 can do, and the authority is
patient. To wait a fixed time instead measured worse: 3.7 s against 1.5 s, a status written 30 times a second meanwhile,
and a burst in which the time is too short fails for an hour.
"""

from dataclasses import dataclass

from edgegate.clusters.kinds import CLUSTER_ISSUER, Ref
from edgegate.clusters.plane import ControlPlane, Manifest, is_true
from edgegate.components import control_plane, pebble
from edgegate.components.launch import Launch
from edgegate.components.pebble import AcmeServer
from edgegate.lab import LabNet, ProcessSpec, Ready

NAME = "cert-manager"
NAMESPACE = "cert-manager"
SOLVER = "acmesolver"
CRD_FOLDER = "deploy/crds"
REISSUANCE = {"retryInterval": "18s", "maxRetries": 3}
"""How an operator tries a failed certificate anew. Production's 5 min are cut short, but to more than the limit
`released`, 10 s: a scenario must see that nothing else waits meanwhile."""
_METRICS = "127.0.0.1:9402"
_SOLVER_IMAGE = "quay.io/jetstack/cert-manager-acmesolver:v{}"


@dataclass(frozen=True)
class Issuer:
    """One ClusterIssuer."""

    name: str
    """What Certificates call it."""
    server: AcmeServer
    """Where it orders."""
    self_check: bool = True
    """Whether cert-manager looks itself, as production does, before it asks the authority to."""


FAST = Issuer("acme-fast", pebble.PATIENT_SERVER, self_check=False)
SELF_CHECK = Issuer("acme-self-check", pebble.SERVER)
HOSTILE = Issuer("acme-hostile", pebble.HOSTILE_SERVER)
ISSUERS = {"auto": FAST, "production": SELF_CHECK, "hostile": HOSTILE}
"""What a listener may call each of them; the hostile one is there once somebody has asked for it."""


def spec(launch: Launch) -> ProcessSpec:
    """Return how the controllers are run."""
    argv = (
        str(launch.artifacts[NAME].binary(NAME)),
        f"--kubeconfig={control_plane.inner_kubeconfig(launch, control_plane.DOWNSTREAM)}",
        f"--cluster-resource-namespace={NAMESPACE}",
        f"--acme-http01-solver-image={_SOLVER_IMAGE.format(launch.selection.version(SOLVER))}",
        f"--acme-http01-solver-nameservers={launch.lab.net.recursor_ip}:53",
        # Between two self checks that fail; 10 s by default, which a stage clock would mostly see.
        "--dns01-check-retry-period=1s",
        f"--metrics-listen-address={_METRICS}",
        "-v=2",
    )
    environment = launch.environment(NAME, GOMEMLIMIT="300MiB", GOGC="300")
    ready = Ready(kind="http", address=f"http://{_METRICS}/metrics", limit=60)
    return ProcessSpec(NAME, argv, env=environment, ready=ready)


def add_issuer(launch: Launch, plane: ControlPlane, issuer: Issuer, within: float) -> None:
    """Create an issuer and return when it has an account at its server.

    Raises:
        NeverReady: it has none within that many seconds; shows what cert-manager says.
    """
    ref = Ref(CLUSTER_ISSUER, issuer.name)
    plane.apply(manifest(ref, issuer, launch.lab.net, launch.authority.certificate_base64))
    plane.wait(ref, lambda found: is_true(found, "Ready"), what=f"{ref} ready", within=within)


def manifest(ref: Ref, issuer: Issuer, net: LabNet, ca: str) -> Manifest:
    """Return a ClusterIssuer that trusts one authority, base64 of its PEM, to be the server's."""
    # Without a namespace a parent is the challenge's own neighbour: each tenant's Gateway of that name.
    solver: Manifest = {"http01": {"gatewayHTTPRoute": {"parentRefs": [{"kind": "Gateway", "name": "edge"}]}}}
    if not issuer.self_check:
        solver["waitInsteadOfSelfCheck"] = "0s"
    acme = {
        "server": issuer.server.directory(net),
        "caBundle": ca,
        "privateKeySecretRef": {"name": f"{issuer.name}-account"},
        "solvers": [solver],
    }
    return ref.manifest({"acme": acme})
