"""The node agent: runs the pods of the downstream plane as processes, and hands out load-balancer addresses."""

import json
import sys

from edgegate.components import control_plane
from edgegate.components.kube_proxy import NODE_NAME
from edgegate.components.launch import BASE_ENVIRONMENT, DATA, Launch
from edgegate.lab import ProcessSpec, Ready

NAME = "node-agent"
BALANCER = "load-balancer"


def spec(launch: Launch, images: dict[str, object]) -> ProcessSpec:
    """Return how the agent is run; `images` maps image names to the pinned binaries that stand for them."""
    config = launch.config("node-agent.json", json.dumps(_config(launch, images)))
    argv = (sys.executable, "-m", "edgegate.lab.node", "--config", config)
    ready = Ready(kind="http", address="http://127.0.0.1:10248/healthz", limit=60)
    return ProcessSpec(NAME, argv, env=launch.environment("bubblewrap"), ready=ready)


def balancer(launch: Launch, first: str, last: str) -> ProcessSpec:
    """Return how load-balancer addresses of a range are handed out where nodes are not the lab's."""
    kubeconfig = control_plane.inner_kubeconfig(launch, control_plane.DOWNSTREAM)
    health = "127.0.0.1:10248"
    words = ("-m", "edgegate.lab.node.balance", "--kubeconfig", kubeconfig, "--first", first, "--last", last)
    ready = Ready(kind="http", address=f"http://{health}/healthz", limit=60)
    argv = (sys.executable, *words, "--health", health)
    return ProcessSpec(BALANCER, argv, env=dict(BASE_ENVIRONMENT), ready=ready)


def _config(launch: Launch, images: dict[str, object]) -> dict[str, object]:
    net, bubblewrap = launch.lab.net, launch.artifacts["bubblewrap"]
    network = {
        "bridge": "pods",
        "bridge_ip": net.bridge_ip,
        "pod_cidr": net.pod_cidr,
        "dns_ip": net.dns_ip,
        "lb_first": net.lb_first,
        "lb_last": net.lb_last,
    }
    return {
        "kubeconfig": control_plane.inner_kubeconfig(launch, control_plane.DOWNSTREAM),
        "node": NODE_NAME,
        "net": network,
        "logs": str(launch.folder / "logs" / "pods"),
        "root": f"{DATA}/pods",
        "images": images,
        "tools": {"bwrap": str(bubblewrap.binary("bwrap")), "env": dict(bubblewrap.env)},
        "eager_first_probe": True,
    }
