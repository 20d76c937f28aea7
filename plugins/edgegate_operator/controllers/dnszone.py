"""DNSZone downstream → zone in PowerDNS. This is the agent's half."""

from edgegate_operator.controllers.agent import Agent
from edgegate_operator.core.controller import Request
from edgegate_operator.core.plan import Apply, Plan, Plane, Status
from edgegate_operator.kinds import DNS_ZONE, DNS_ZONE_CLASS, Obj
from edgegate_operator.settings import Settings
from edgegate_operator.site import Controller, Do, Names, Site, Watch, itself

FINALIZER = "dns.networking.miloapis.com/finalize-dnszone-downstream"


def name_servers(klass: Obj | None) -> list[str]:
    """Return the name servers of a class that PowerDNS serves, sorted; none if it is missing or another's."""
    if klass is None or klass["spec"]["controllerName"] != "powerdns":
        return []
    return sorted((klass["spec"].get("nameServerPolicy") or {}).get("static", {}).get("servers") or [])


def touch(zone: Obj, present: bool) -> Apply:
    """Return the step that sets or takes away our finalizer."""
    meta = zone["metadata"]
    more = {"finalizers": [FINALIZER]} if present else {}
    return Apply(Plane.DOWN, DNS_ZONE.named(meta["namespace"], meta["name"], uid=meta["uid"], **more), touch=True)


def _reconcile_with(agent: Agent, site: Site, request: Request, do: Do) -> Plan:
    zone = site.down(DNS_ZONE).get(request.namespace, request.name)
    if zone is None:
        return Plan()
    domain = zone["spec"]["domainName"]
    if "deletionTimestamp" in zone["metadata"]:  # whether its class exists or not: a zone must always be deletable
        agent.remove(domain)
        return Plan((touch(zone, present=False),))
    servers = name_servers(site.down(DNS_ZONE_CLASS).get("", zone["spec"]["dnsZoneClassName"]))
    if not servers:
        return Plan()
    do(Plan((touch(zone, present=True),)))
    agent.create(domain, servers)
    return Plan((Status(Plane.DOWN, zone, {"nameservers": servers}),))


def _of_class(site: Site, klass: Obj) -> Names:
    for zone in site.down(DNS_ZONE).all():
        if zone["spec"]["dnsZoneClassName"] == klass["metadata"]["name"]:
            yield zone["metadata"]["namespace"], zone["metadata"]["name"]


def controller(_settings: Settings, agent: Agent) -> Controller:
    """Return the controller."""
    return Controller(
        name="dnszone",
        reconcile=lambda site, request, do: _reconcile_with(agent, site, request, do),
        watches=(Watch(Plane.DOWN, DNS_ZONE, itself), Watch(Plane.DOWN, DNS_ZONE_CLASS, _of_class)),
        downstream_only=True,
    )
