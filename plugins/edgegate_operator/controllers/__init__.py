"""The controllers. Each module holds one, or the pure decisions of one that needs more than a page."""

from edgegate_operator.config import Settings
from edgegate_operator.controllers import gateway, gatewayclass, httpproxy, httproute
from edgegate_operator.site import Controller


def controllers_for(settings: Settings) -> tuple[Controller, ...]:
    """Return the controllers that these settings ask for."""
    modules = (httpproxy, gateway, gatewayclass, httproute)
    return tuple(module.controller(settings) for module in modules)
