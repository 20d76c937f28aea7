"""The sentinel: a tenant that every edge has from its start.

It keeps the merged proxy alive between tests (Envoy Gateway removes the proxy with the last Gateway), tells the
address at which the edge answers, and is ready only when the whole path has worked once.
"""

from collections.abc import Sequence

from edgegate.clusters.plane import is_true
from edgegate.components.bring_up import Planes
from edgegate.components.envoy_gateway import NAMESPACE_NAME
from edgegate.components.graph import Step
from edgegate.components.launch import Launch
from edgegate.edge import tenant
from edgegate.edge.asking import wait_for_answer
from edgegate.edge.proxies import Proxies, Proxy
from edgegate.edge.tenancy import LabOrigins, Tenancy
from edgegate.errors import ComponentExited, NeverReady
from edgegate.lab import Lab
from edgegate.probes.http import HttpProbe

NAMESPACE = "sentinel"
PROXY_WITHIN = 60.0
"""Seconds in which a new edge must have a proxy; measured: 1 s, 14 s on a busy machine."""


def steps(launch: Launch, both: Planes, *, replicas: int = 1) -> list[Step]:
    """Return the steps that start the sentinel and wait for so many proxies."""
    plane = both.downstream
    gateway = tenant.gateway_of(NAMESPACE)

    def proxy() -> None:
        proxies = Proxies(plane)
        try:
            proxies.several(replicas, PROXY_WITHIN)
        except NeverReady as late:
            raise _container_exited(launch.lab, proxies.all()) or late from None

    def programmed() -> None:
        plane.wait(gateway, lambda found: is_true(found, "Programmed"), what="sentinel programmed", within=60)

    def answers() -> None:
        found = plane.get(gateway)
        assert found is not None
        address = found["status"]["addresses"][0]["value"]
        for tls in (False, True):
            with HttpProbe(address, tenant.host_of(NAMESPACE), tls=tls) as probe:
                wait_for_answer(probe, lambda answer: answer.ok, what="the sentinel answers", within=30)

    def build() -> None:
        tenant.build(NAMESPACE, plane, Tenancy(LabOrigins(launch.lab)), launch.authority)

    return [
        Step("sentinel", build, needs=("base",)),
        Step("proxy", proxy, needs=("sentinel", "accepted", "node", "kube-proxy", "coredns")),
        Step("programmed", programmed, needs=("proxy",)),
        # The verdict on a start is traffic too: kube-proxy programs the address a moment after all statuses are right.
        Step("traffic", answers, needs=("programmed",)),
    ]


def _container_exited(lab: Lab, proxies: Sequence[Proxy]) -> ComponentExited | None:
    """Return the error for the first container of a proxy that has ended, None when there is none."""
    for proxy in proxies:
        for name, status in proxy.ended:
            log = lab.log(f"pods/{NAMESPACE_NAME}_{proxy.name}/{name}")
            lines = log.read_text(errors="replace").splitlines() if log.exists() else []
            return ComponentExited(f"{proxy.name}/{name}", status=status, log=log, tail="\n".join(lines[-20:]))
    return None
