"""The controllers. Each module holds one, or the pure decisions of one that needs more than a page."""

from edgegate_operator.config import Settings
from edgegate_operator.controllers import (
    dnsrecordset,
    dnsrecordset_replicator,
    dnszone,
    dnszone_replicator,
    gateway,
    gatewayclass,
    httpproxy,
    httproute,
)
from edgegate_operator.controllers.agent import Agent
from edgegate_operator.core.powerdns import PowerDns
from edgegate_operator.site import Controller


def controllers_for(settings: Settings) -> tuple[Controller, ...]:
    """Return the controllers that these settings ask for."""
    modules = (httpproxy, gateway, gatewayclass, httproute, dnszone_replicator, dnsrecordset_replicator)
    found = [module.controller(settings) for module in modules]
    if settings.dns.pdns_url:
        pdns = PowerDns(settings.dns.pdns_url, settings.dns.pdns_key, settings.dns.pdns_key_file)
        agent = Agent(pdns)
        found += [dnszone.controller(settings, agent), dnsrecordset.controller(settings, agent)]
    return tuple(found)
