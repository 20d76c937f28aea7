"""GatewayClass: accepted if it is ours and has no parameters. Admission policies learn from here which ones are."""

import time

from edgegate_operator import conditions, faults
from edgegate_operator.controllers.listeners import is_ours
from edgegate_operator.core.controller import Request
from edgegate_operator.core.plan import Apply, Plan, Plane, Status
from edgegate_operator.kinds import CONFIG_MAP, GATEWAY_CLASS, Obj
from edgegate_operator.settings import Settings
from edgegate_operator.site import Controller, Do, Site, Watch, itself

PARAMETERS = ("kube-system", "edgegate-admission")
"""Namespace and name of the ConfigMap that admission policies take their parameters from."""


def decide(klass: Obj, settings: Settings, now: float) -> Plan:
    """Return the status of a class that is ours."""
    if not is_ours(klass, settings):
        return Plan()
    generation, good = klass["metadata"]["generation"], "parametersRef" not in klass["spec"]
    reason, text = ("Accepted", "Accepted") if good else ("InvalidParameters", "parametersRef is not supported")
    wanted = [conditions.condition("Accepted", good, reason, text, generation)]
    dated = conditions.dated(wanted, (klass.get("status") or {}).get("conditions"), now)
    return Plan((Status(Plane.UP, klass, {"conditions": dated}),))


def parameters(classes: list[Obj], settings: Settings) -> Apply:
    """Return what admission policies must know: which classes are ours, which are not, which TLS options are allowed.

    A class that does not exist is in neither list: a Gateway may come before its class.
    """
    ours = sorted(c["metadata"]["name"] for c in classes if is_ours(c, settings))
    others = sorted(c["metadata"]["name"] for c in classes if not is_ours(c, settings))
    if settings.has(faults.FOREIGN_CLASS_ADMITTED):
        others = []
    obj = CONFIG_MAP.named(*PARAMETERS)
    obj["data"] = {
        "managed": ",".join(ours),
        "foreign": ",".join(others),
        "tlsOptions": ",".join(sorted(settings.gateway.permitted_tls_options)),
        "routeHostnames": str(settings.has(faults.ROUTE_HOSTNAMES_ADMITTED)).lower(),
        "serviceBackends": str(settings.gateway.allow_service_backends).lower(),
    }
    return Apply(Plane.UP, obj)


def _reconcile(site: Site, request: Request, _do: Do) -> Plan:
    known = parameters(site.up(GATEWAY_CLASS).all(), site.settings)
    klass = site.up(GATEWAY_CLASS).get("", request.name)
    return Plan((known, *(decide(klass, site.settings, time.time()).steps if klass else ())))


def controller(_settings: Settings) -> Controller:
    """Return the controller."""
    return Controller("gatewayclass", _reconcile, (Watch(Plane.UP, GATEWAY_CLASS, itself),))
