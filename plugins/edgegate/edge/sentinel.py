"""The sentinel: a tenant that every edge has from its start.

It keeps the merged proxy alive between tests (Envoy Gateway removes the proxy with the last Gateway), tells the
address at which the edge answers, and is ready only when the whole path has worked once.
"""

from edgegate.clusters.plane import is_true
from edgegate.components.bring_up import Planes
from edgegate.components.graph import Step
from edgegate.components.launch import Launch
from edgegate.edge import tenant
from edgegate.edge.asking import wait_for_answer
from edgegate.edge.proxies import Proxies
from edgegate.probes.http import HttpProbe

NAMESPACE = "sentinel"


def steps(launch: Launch, both: Planes) -> list[Step]:
    """Return the steps that start the sentinel and wait for its proxy."""
    plane = both.downstream
    gateway = tenant.gateway_of(NAMESPACE)

    def programmed() -> None:
        plane.wait(gateway, lambda found: is_true(found, "Programmed"), what="sentinel programmed", within=60)

    def answers() -> None:
        found = plane.get(gateway)
        assert found is not None
        address = found["status"]["addresses"][0]["value"]
        for tls in (False, True):
            with HttpProbe(address, tenant.host_of(NAMESPACE), tls=tls) as probe:
                wait_for_answer(probe, lambda answer: answer.ok, what="the sentinel answers", within=30)

    return [
        Step("sentinel", lambda: tenant.build(NAMESPACE, plane, launch.lab, launch.authority), needs=("base",)),
        Step("proxy", lambda: Proxies(plane).one(60), needs=("sentinel", "accepted", "node", "kube-proxy", "coredns")),
        Step("programmed", programmed, needs=("proxy",)),
        # The verdict on a start is traffic too: kube-proxy programs the address a moment after all statuses are right.
        Step("traffic", answers, needs=("programmed",)),
    ]
