"""The part `acme`: a certificate authority, and cert-manager that gets certificates from it."""

from functools import partial

from edgegate.components import cert_manager, pebble
from edgegate.components.bring_up import Planes
from edgegate.components.graph import Step
from edgegate.components.launch import Launch
from edgegate.components.part import Part


def steps(launch: Launch, planes: Planes) -> list[Step]:
    """Return the steps that start both and give each issuer its account."""
    start, plane = launch.lab.start, planes.downstream
    accounts = [
        Step(
            f"issuer-{issuer.name}",
            partial(cert_manager.add_issuer, launch, plane, issuer, within=60),
            needs=("cert-manager", "pebble"),
        )
        for issuer in (cert_manager.FAST, cert_manager.SELF_CHECK)
    ]
    return [
        Step("pebble", lambda: start(pebble.spec(launch, pebble.SERVER))),
        Step("cert-manager-namespace", lambda: plane.namespace(cert_manager.NAMESPACE), needs=("base",)),
        Step("cert-manager", lambda: start(cert_manager.spec(launch)), needs=("cert-manager-namespace",)),
        *accounts,
    ]


PART = Part(
    name="acme",
    pins=("pebble", "cert-manager", "acmesolver"),
    steps=steps,
    crds={"cert-manager": cert_manager.CRD_FOLDER},
    needs=("dns",),
)
