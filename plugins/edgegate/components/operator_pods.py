"""The real operators as pods, in production's topology.

network-services-operator and the replicator of dns-operator run in the upstream cluster; the agent of dns-operator and
the extension server run in the downstream one, where Envoy Gateway asks the latter about every translation. Each is at
home in its cluster by a service account, and finds the other cluster by a kubeconfig that names a node's address.
"""

import base64
from dataclasses import replace
from functools import partial

from edgegate.clock import wait_until
from edgegate.clusters.kinds import DOMAIN, NODE, SECRET, Ref
from edgegate.clusters.plane import ControlPlane, Manifest
from edgegate.components import control_plane, extension_server, nso_config, pod_trouble, pods
from edgegate.components import operator_manifests as manifests
from edgegate.components.bring_up import Planes, plane_of
from edgegate.components.control_plane import DOWNSTREAM, UPSTREAM
from edgegate.components.graph import Step
from edgegate.components.launch import Launch
from edgegate.components.nso_config import AGENT, EXTENSION, OPERATOR, REPLICATOR
from edgegate.components.operator_manifests import CONFIG, KUBECONFIG, NAMESPACE_NAME, PLACE, reference
from edgegate.errors import PlaneRefused

IMAGES_LOADED = "operator-images"
"""Step of the clusters' backend after which the nodes of both have the images."""
WHERE = {OPERATOR: UPSTREAM, REPLICATOR: UPSTREAM, AGENT: DOWNSTREAM, EXTENSION: DOWNSTREAM}
"""Each Deployment, and the cluster that it runs in."""
_ASKS_WITHIN = 30.0
_FAILED_CALL = 500
"""Status with which a control plane refuses an object because it could not ask a webhook about it."""


def steps(launch: Launch, planes: Planes) -> list[Step]:
    """Return the steps that start all four; the backend has a step IMAGES_LOADED."""
    up, down = planes.upstream, planes.downstream
    needs = ("operator-objects", "powerdns", IMAGES_LOADED)
    return [
        Step("operator-pods", lambda: up.apply(*upstream(launch)), needs=(*needs, "objects-upstream")),
        Step("agent-pods", lambda: down.apply(*downstream(launch)), needs=(*needs, "crds-downstream")),
        Step(OPERATOR, partial(_available, launch, up, OPERATOR), needs=("operator-pods",)),
        Step(REPLICATOR, partial(_available, launch, up, REPLICATOR), needs=("operator-pods",)),
        Step(AGENT, partial(_available, launch, down, AGENT), needs=("agent-pods",)),
        Step(EXTENSION, partial(_available, launch, down, EXTENSION), needs=("agent-pods",)),
        Step("operator-hooks", partial(_hook, launch, up), needs=(OPERATOR,)),
    ]


def upstream(launch: Launch) -> list[Manifest]:
    """Return what the upstream cluster gets."""
    image, dns_image = launch.operator.on_nodes
    pair = launch.authority.issue([f"{OPERATOR}.{NAMESPACE_NAME}.svc"])
    kubeconfig = control_plane.portable_kubeconfig(launch, DOWNSTREAM)
    files: dict[str, str | bytes] = {KUBECONFIG: kubeconfig, "tls.crt": pair.certificate, "tls.key": pair.key}
    resolver = {"dnsPolicy": "None", "dnsConfig": {"nameservers": [launch.lab.net.recursor_ip]}}
    operator = manifests.container(OPERATOR, image, nso_config.manager_words(PLACE))
    replicator = manifests.container(REPLICATOR, dns_image, nso_config.dns_words(REPLICATOR, PLACE))
    replicator["env"] = manifests.environment(nso_config.dns_environment(launch, REPLICATOR))
    hooks = {"name": "webhooks", "port": 443, "targetPort": nso_config.WEBHOOK_PORT}
    return [
        *manifests.space(OPERATOR, REPLICATOR),
        manifests.secret(OPERATOR, {CONFIG: nso_config.manager_config(PLACE), **files}),
        manifests.secret(REPLICATOR, {CONFIG: nso_config.dns_config(PLACE), **files}),
        manifests.service(OPERATOR, manifests.metrics_port(OPERATOR), hooks),
        manifests.service(REPLICATOR, manifests.metrics_port(REPLICATOR)),
        manifests.deployment(OPERATOR, operator, **resolver),
        manifests.deployment(REPLICATOR, replicator, **resolver),
    ]


def downstream(launch: Launch) -> list[Manifest]:
    """Return what the downstream cluster gets."""
    image, dns_image = launch.operator.on_nodes
    home = replace(PLACE, downstream="")
    agent = manifests.container(AGENT, dns_image, nso_config.dns_words(AGENT, home))
    agent["env"] = manifests.environment(nso_config.dns_environment(launch, AGENT))
    return [
        *manifests.space(AGENT, EXTENSION),
        manifests.secret(AGENT, {CONFIG: nso_config.dns_config(home)}),
        manifests.service(AGENT, manifests.metrics_port(AGENT)),
        manifests.deployment(AGENT, agent),
        *extension_server.objects(launch, image),
    ]


def metrics_urls(launch: Launch) -> list[str]:
    """Return where the metrics of those are that have queues."""
    addresses = {plane: _node_address(plane_of(launch, plane)) for plane in (UPSTREAM, DOWNSTREAM)}
    return [f"http://{addresses[WHERE[name]]}:{port}/metrics" for name, port in manifests.METRICS.items()]


def _node_address(plane: ControlPlane) -> str:
    found = plane.list(NODE)[0]["status"]["addresses"]
    return str(next(one["address"] for one in found if one["type"] == "InternalIP"))


def read_config(plane: ControlPlane) -> str:
    """Return the configuration of network-services-operator."""
    secret = plane.get(Ref(SECRET, OPERATOR, NAMESPACE_NAME))
    assert secret is not None, "it is there from the start to the end"
    return base64.b64decode(secret["data"][CONFIG]).decode()


def write_config(plane: ControlPlane, content: str) -> None:
    """Give network-services-operator another configuration, which it reads at its next start."""
    plane.patch(Ref(SECRET, OPERATOR, NAMESPACE_NAME), {"data": {CONFIG: base64.b64encode(content.encode()).decode()}})


def stop(plane: ControlPlane, within: float = 30.0) -> None:
    """Let network-services-operator have no pod, and return when none is left. Raises NeverReady."""
    plane.patch(reference(OPERATOR), {"spec": {"replicas": 0}})
    wait_until("operator stopped", lambda: not pods.of(plane, NAMESPACE_NAME, OPERATOR), deadline=within, every=0.1)


def start(launch: Launch, plane: ControlPlane) -> None:
    """Let network-services-operator have its pod again, and return when it is asked. Raises as its first start."""
    plane.patch(reference(OPERATOR), {"spec": {"replicas": 1}})
    _available(launch, plane, OPERATOR)
    _wait_asked(plane)


def _available(launch: Launch, plane: ControlPlane, name: str, within: float = 90.0) -> None:
    """Return when a Deployment is available.

    Raises:
        ComponentExited: its program has ended; has its last lines.
        PodNotStarted: the node cannot start it.
        NeverReady: it is not ready in time.
    """
    ref = reference(name)
    wait_until(
        f"{plane.name}: {ref} available",
        lambda: pods.is_available(plane.get(ref)),
        deadline=within,
        failed=lambda: pod_trouble.of_start(plane, NAMESPACE_NAME, name, launch.folder / "logs"),
        every=0.2,
    )


def _hook(launch: Launch, plane: ControlPlane) -> None:
    """Let the control plane ask the operator before it stores an object, and return when it reaches it.

    Raises:
        NeverReady: it does not reach it; shows what it says.
    """
    service = {"namespace": NAMESPACE_NAME, "name": OPERATOR}
    hooks = nso_config.webhooks(
        launch.authority.certificate_base64, lambda path: {"service": {**service, "path": path}}
    )
    plane.apply(*hooks)
    _wait_asked(plane)


def _wait_asked(plane: ControlPlane) -> None:
    """Return when the control plane reaches the operator: the node learns of a ready pod up to a second later."""
    said = [""]

    def asks() -> bool:
        said[0] = _refusal(plane)
        return not said[0]

    wait_until(f"{plane.name}: webhooks of the operator", asks, deadline=_ASKS_WITHIN, last=lambda: said[0], every=0.2)


def _refusal(plane: ControlPlane) -> str:
    """Return why the operator could not be asked about an object; whether it then likes the object does not matter."""
    body = Ref(DOMAIN, "edgegate", "default").manifest({"domainName": "edgegate.test"})
    try:
        plane.request("POST", plane.collection(DOMAIN, "default"), query={"dryRun": "All"}, body=body)
    except PlaneRefused as refusal:
        return str(refusal) if refusal.status == _FAILED_CALL else ""
    return ""
