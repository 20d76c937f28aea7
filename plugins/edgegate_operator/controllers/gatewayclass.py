"""GatewayClass: accepted if it is ours and has no parameters."""

import time

from edgegate_operator import conditions
from edgegate_operator.controllers.listeners import is_ours
from edgegate_operator.core.controller import Request
from edgegate_operator.core.plan import Plan, Plane, Status
from edgegate_operator.kinds import GATEWAY_CLASS, Obj
from edgegate_operator.settings import Settings
from edgegate_operator.site import Controller, Do, Site, Watch, itself


def decide(klass: Obj, settings: Settings, now: float) -> Plan:
    """Return the status of a class that is ours."""
    if not is_ours(klass, settings):
        return Plan()
    generation, good = klass["metadata"]["generation"], "parametersRef" not in klass["spec"]
    reason, text = ("Accepted", "Accepted") if good else ("InvalidParameters", "parametersRef is not supported")
    wanted = [conditions.condition("Accepted", good, reason, text, generation)]
    dated = conditions.dated(wanted, (klass.get("status") or {}).get("conditions"), now)
    return Plan((Status(Plane.UP, klass, {"conditions": dated}),))


def _reconcile(site: Site, request: Request, _do: Do) -> Plan:
    klass = site.up(GATEWAY_CLASS).get("", request.name)
    return decide(klass, site.settings, time.time()) if klass else Plan()


def controller(_settings: Settings) -> Controller:
    """Return the controller."""
    return Controller("gatewayclass", _reconcile, (Watch(Plane.UP, GATEWAY_CLASS, itself),))
