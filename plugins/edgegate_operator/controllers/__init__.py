"""The controllers. Each module holds one, or the pure decisions of one that needs more than a page."""

from edgegate_operator.controllers import (
    connector,
    dnsrecordset,
    dnsrecordset_replicator,
    dnszone,
    dnszone_replicator,
    domain,
    errorpage,
    firewall,
    gateway,
    gatewayclass,
    httpproxy,
    httproute,
    quota,
    replicator,
    solver,
    trafficprotection,
)
from edgegate_operator.controllers.agent import Agent
from edgegate_operator.core.firewall import Firewall
from edgegate_operator.core.powerdns import PowerDns
from edgegate_operator.settings import Settings
from edgegate_operator.site import Controller


def controllers_for(settings: Settings) -> tuple[Controller, ...]:
    """Return the controllers that these settings ask for."""
    modules = (
        httpproxy,
        gateway,
        gatewayclass,
        httproute,
        domain,
        connector,
        replicator,
        trafficprotection,
        dnszone_replicator,
        dnsrecordset_replicator,
    )
    found = [module.controller(settings) for module in modules]
    found.append(connector.advertisement_controller(settings))
    if settings.gateway.enable_downstream_certificate_solver:
        found.append(solver.controller(settings))
    if settings.gateway.error_page.enabled:
        found.append(errorpage.controller(settings))
    if settings.quota.claims:
        found.append(quota.controller(settings))
    if settings.dns.pdns_url:
        pdns = PowerDns(settings.dns.pdns_url, settings.dns.pdns_key, settings.dns.pdns_key_file)
        agent = Agent(pdns)
        found += [dnszone.controller(settings, agent), dnsrecordset.controller(settings, agent)]
    if settings.firewall.url:
        found.append(firewall.controller(settings, Firewall(settings.firewall.url, firewall.defects(settings))))
    return tuple(found)
