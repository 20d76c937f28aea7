"""Attach the firewall to a tenant without an operator: what Envoy Gateway and the firewall have to be told."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

import httpx

from edgegate.clusters.kinds import BACKEND, ENVOY_EXTENSION_POLICY, Ref
from edgegate.clusters.plane import Manifest
from edgegate.components import waf
from edgegate.edge.asking import wait_for_answer
from edgegate.edge.tenant import Tenant
from edgegate.errors import ServerRefused, ServerUnreachable
from edgegate.lab import LabNet
from edgegate.probes.http import HttpProbe

ATTACK = "/healthz?q=%3Cscript%3Ealert(1)%3C/script%3E"
"""The ladder's origin answers it with 200."""
CONTENT_TYPES = 920420
"""The rule that refuses content types other than those of forms, JSON and XML: gRPC among them."""


POLICY = "guard"
"""Name of a tenant's policy."""


def have_faults(url: str, names: Sequence[str]) -> None:
    """Let the firewall have these defects and no others. Raises as `tell`."""
    _put(url, "/faults", ",".join(names).encode())


@dataclass(frozen=True)
class Told:
    """What the firewall says about a policy that it was told."""

    applied: int
    """The generation that is in force; 0 for none."""
    mistake: str = ""
    """What is wrong with the one that it was told: the policy, the line of its directives, and why."""


def tell(url: str, tenant: Tenant, mode: str, *, generation: int = 1, directives: str = "") -> Told:
    """Let the firewall have a policy for a tenant's routes, and return what it says of it.

    Raises:
        ServerRefused, ServerUnreachable: it does not take it.
    """
    name = f"{tenant.namespace}/{POLICY}"
    policy = {"name": name, "generation": generation, "mode": mode, "directives": directives}
    policy["ruleExclusions"] = {"ids": [CONTENT_TYPES]}
    route = {"prefix": f"httproute/{tenant.namespace}/", "policy": name}
    config = json.dumps({"policies": [policy], "routes": [route]})
    (said,) = json.loads(_put(url, f"/policies/{tenant.namespace}", config.encode()))["policies"]
    mistake = said.get("mistake") or {}
    words = f"{mistake['policy']}, line {mistake.get('line', 0)}: {mistake['message']}" if mistake else ""
    return Told(said["appliedGeneration"], words)


def _put(url: str, path: str, content: bytes) -> bytes:
    place = f"PUT {path}"
    try:
        answer = httpx.put(url + path, content=content, timeout=10)
    except httpx.HTTPError as error:
        raise ServerUnreachable(waf.NAME, place, text=str(error)) from error
    if answer.status_code != 200:
        raise ServerRefused(waf.NAME, place, status=answer.status_code, text=answer.text)
    return answer.content


def objects(tenant: Tenant, net: LabNet) -> list[Manifest]:
    """Return what makes Envoy Gateway let the proxy ask the firewall about every request for a tenant's route."""
    backend = Ref(BACKEND, "firewall", tenant.namespace)
    endpoint = {"ip": {"address": net.lab_ip, "port": waf.PORT}}
    processor = {
        "backendRefs": [{"group": "gateway.envoyproxy.io", "kind": "Backend", "name": backend.name}],
        "messageTimeout": "15s",
        "processingMode": {
            "request": {
                "body": "FullDuplexStreamed",
                "attributes": ["xds.route_name", "source.address", "request.protocol"],
            },
            "response": {"body": "FullDuplexStreamed"},
        },
    }
    target = {"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "name": tenant.route.name}
    attachment = Ref(ENVOY_EXTENSION_POLICY, "firewall", tenant.namespace)
    return [
        backend.manifest({"endpoints": [endpoint]}),
        attachment.manifest({"targetRefs": [target], "extProc": [processor]}),
    ]


def wait_answered(tenant: Tenant, status: int, within: float) -> None:
    """Return once an attack on a tenant is answered with a status. Raises NeverReady."""
    with HttpProbe(tenant.site.address, tenant.host) as probe:
        what = f"an attack on {tenant.host} is answered {status}"
        wait_for_answer(probe, lambda answer: answer.status == status, what=what, within=within, path=ATTACK)
