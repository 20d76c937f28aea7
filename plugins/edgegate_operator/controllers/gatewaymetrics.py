"""Metrics of Gateways, by project: two projects may have a Gateway of the same name in a namespace of the same name."""

from edgegate_operator import conditions
from edgegate_operator.controllers.gatewaydecision import Decision, Seen
from edgegate_operator.core.controller import Request
from edgegate_operator.site import Site

PROGRAMMED = "nso_gateway_programmed_total"
WITHHELD = "nso_gateway_listener_cert_withheld"
GATING = "nso_gateway_listener_cert_gating_total"
EXPIRY = "nso_gateway_listener_cert_expiry_time"
MANAGED = "nso_gateway_listener_cert_managed"


def _declare(site: Site) -> None:
    site.metrics.declare(PROGRAMMED, "gauge", "Whether a Gateway serves everything that it declares")
    site.metrics.declare(WITHHELD, "gauge", "Listeners that wait for a usable certificate")
    site.metrics.declare(GATING, "counter", "Times that a listener was withheld for its certificate")
    site.metrics.declare(EXPIRY, "gauge", "End of validity of a served certificate, in seconds since 1970")
    site.metrics.declare(MANAGED, "gauge", "Listeners whose certificate we manage")


def forget(site: Site, request: Request) -> None:
    """Drop the series of a Gateway that is gone."""
    _declare(site)
    match = {"project": request.project, "namespace": request.namespace, "name": request.name}
    for family in (PROGRAMMED, WITHHELD, EXPIRY, MANAGED):
        site.metrics.clear(family, match)


def record(site: Site, seen: Seen, decision: Decision) -> None:
    """Set the series of a Gateway; what was true before and is not now disappears."""
    meta, metrics = seen.gateway["metadata"], site.metrics
    forget(site, Request(site.project, meta["namespace"], meta["name"]))
    who = {"project": site.project, "namespace": meta["namespace"], "name": meta["name"]}
    served = all(conditions.is_true(seen.below, kind) for kind in ("Accepted", "Programmed"))
    dropped = any(not decision.grants.serves(item.get("hostname")) for item in decision.meant)
    metrics.set(PROGRAMMED, float(served and not dropped), **who)
    for item in decision.needed:
        if item.hostname in decision.grants.managed:
            continue
        labels = who | {"listener": item.listener, "hostname": item.hostname}
        metrics.set(MANAGED, 1, **labels)
        if item.listener in decision.choice.withheld:
            metrics.set(WITHHELD, 1, **labels, reason="InvalidCertificateRef")
            metrics.add(GATING, **labels, reason="InvalidCertificateRef")
        else:
            metrics.set(EXPIRY, decision.choice.expiry[item.listener], **labels, secret=item.name)
