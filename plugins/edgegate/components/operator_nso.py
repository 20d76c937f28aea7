"""The real operators, network-services-operator and dns-operator, as processes in place of ours.

Both run as cluster administrators, and both find out about the world by the lab's recursor, because they use the
resolver of their process.
"""

from functools import partial
from pathlib import Path

from edgegate.clusters.plane import ControlPlane
from edgegate.components import control_plane, nso_config
from edgegate.components.bring_up import Planes
from edgegate.components.control_plane import DOWNSTREAM, UPSTREAM
from edgegate.components.graph import Step
from edgegate.components.launch import DATA, Launch
from edgegate.components.nso_config import AGENT, OPERATOR, REPLICATOR, Place
from edgegate.lab import Bind, ProcessSpec, Ready

CONFIG = "operator.yaml"
METRICS = {OPERATOR: 8090, AGENT: 8091, REPLICATOR: 8092}
_PROBES = {OPERATOR: 18090, AGENT: 18091, REPLICATOR: 18092}
_RESOLVER = "operator-resolv.conf"
_CERTIFICATES = "operator-webhook"


def steps(launch: Launch, planes: Planes) -> list[Step]:
    """Return the steps that start both."""
    start, needs = launch.lab.start, ("operator-objects", "powerdns")
    return [
        Step("operator-files", partial(_write_files, launch)),
        Step("operator", lambda: start(_manager(launch)), needs=(*needs, "operator-files")),
        Step("operator-hooks", partial(_hook, launch, planes.upstream), needs=("operator",)),
        *(
            Step(name, partial(_start_dns, launch, name), needs=(*needs, "operator-files"))
            for name in (AGENT, REPLICATOR)
        ),
    ]


def _start_dns(launch: Launch, name: str) -> None:
    launch.lab.start(_dns_operator(launch, name))


def _write_files(launch: Launch) -> None:
    pair = launch.authority.issue([launch.lab.net.lab_ip, "127.0.0.1", "localhost"])
    launch.secret(f"{_CERTIFICATES}/tls.crt", pair.certificate)
    launch.secret(f"{_CERTIFICATES}/tls.key", pair.key)
    launch.config(_RESOLVER, f"nameserver {launch.lab.net.recursor_ip}\n")


def _place(launch: Launch, name: str, config: str) -> Place:
    return Place(
        config=f"{DATA}/config/{config}",
        certificates=f"{DATA}/secrets/{_CERTIFICATES}",
        downstream=control_plane.inner_kubeconfig(launch, DOWNSTREAM),
        metrics=f"{launch.lab.net.lab_ip}:{METRICS[name]}",
        probes=f"127.0.0.1:{_PROBES[name]}",
    )


def _process(launch: Launch, name: str, binary: Path | None, words: tuple[str, ...], **env: str) -> ProcessSpec:
    assert binary is not None, "settings that name the real operator's binary name both"
    resolver = Bind(f"{DATA}/config/{_RESOLVER}", "/etc/resolv.conf")
    ready = Ready(kind="http", address=f"http://127.0.0.1:{_PROBES[name]}/readyz", limit=60)
    environment = launch.environment("kubernetes", GOMEMLIMIT="300MiB", **env)
    return ProcessSpec(name, (str(binary), *words), env=environment, binds=(resolver,), ready=ready)


def _manager(launch: Launch) -> ProcessSpec:
    place = _place(launch, OPERATOR, CONFIG)
    launch.config(CONFIG, nso_config.manager_config(place))
    kubeconfig = control_plane.inner_kubeconfig(launch, UPSTREAM)
    return _process(launch, OPERATOR, launch.operator.binary, nso_config.manager_words(place), KUBECONFIG=kubeconfig)


def _dns_operator(launch: Launch, name: str) -> ProcessSpec:
    place = _place(launch, name, f"{name}.yaml")
    launch.config(f"{name}.yaml", nso_config.dns_config(place))
    kubeconfig = control_plane.inner_kubeconfig(launch, DOWNSTREAM if name == AGENT else UPSTREAM)
    env = {"KUBECONFIG": kubeconfig, **nso_config.dns_environment(launch, name)}
    return _process(launch, name, launch.operator.dns_binary, nso_config.dns_words(name, place), **env)


def _hook(launch: Launch, upstream: ControlPlane) -> None:
    """Let the first project's control plane ask the operator before it stores an object."""
    at = f"https://127.0.0.1:{nso_config.WEBHOOK_PORT}"
    upstream.apply(*nso_config.webhooks(launch.authority.certificate_base64, lambda path: {"url": f"{at}{path}"}))
