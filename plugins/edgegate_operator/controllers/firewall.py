"""Firewall policies reach the edge: the firewall is told of them, and the proxy sends it what they govern."""

import time

from edgegate_operator import faults
from edgegate_operator.controllers.firewallattachments import BACKEND_NAME, LABEL, Seen
from edgegate_operator.controllers.firewalldecision import config_for, decide
from edgegate_operator.core.controller import Request
from edgegate_operator.core.firewall import Firewall, InForce
from edgegate_operator.core.plan import Plan, Plane
from edgegate_operator.kinds import (
    BACKEND,
    ENVOY_EXTENSION_POLICY,
    GATEWAY,
    HTTP_ROUTE,
    TRAFFIC_PROTECTION_POLICY,
    Kind,
    Obj,
)
from edgegate_operator.settings import Settings
from edgegate_operator.site import Controller, Do, Names, Site, Watch

DEFECTS = {
    faults.WAF_ENFORCE_IGNORED: "enforce-ignored",
    faults.WAF_EMPTY_ERROR: "empty-error",
    faults.WAF_TRUNCATED_BODY: "truncated-body",
    faults.WAF_STALE_POLICY: "stale-policy",
    faults.WAF_EXCLUSIONS_LEAK: "exclusions-leak",
    faults.WAF_OBSERVE_ENFORCED: "observe-enforced",
    faults.WAF_STREAMS_HELD: "streams-held",
    faults.WAF_SILENT_BYPASS: "silent-bypass",
    faults.WAF_NO_HELD_LIMIT: "no-held-limit",
    faults.WAF_FROZEN_BY_ONE: "frozen-by-one",
}
"""Faults that the firewall itself has, by what it calls them."""


def defects(settings: Settings) -> list[str]:
    """Return the faults that the firewall is to have."""
    return [name for fault, name in DEFECTS.items() if settings.has(fault)]


def _gather(site: Site, namespace: str, space: str) -> Seen:
    every = site.up(TRAFFIC_PROTECTION_POLICY).all(namespace)
    routes = {
        route["metadata"]["name"]: [ref["name"] for ref in route["spec"].get("parentRefs") or []]
        for route in site.up(HTTP_ROUTE).all(namespace)
    }
    ours = [
        one for one in site.down(ENVOY_EXTENSION_POLICY).all(space) if LABEL in (one["metadata"].get("labels") or {})
    ]
    return Seen(
        project=site.project,
        namespace=namespace,
        space=space,
        policies=[one for one in every if "deletionTimestamp" not in one["metadata"]],
        routes=routes,
        gateways=frozenset(one["metadata"]["name"] for one in site.up(GATEWAY).all(namespace)),
        copies={one["metadata"]["name"]: one for one in site.down(TRAFFIC_PROTECTION_POLICY).all(space)},
        attached={one["metadata"]["name"]: one for one in ours},
        backend=site.down(BACKEND).get(space, BACKEND_NAME),
    )


class Told:
    """What the firewall was told last, so that it is told again only when something has changed."""

    def __init__(self, firewall: Firewall) -> None:
        self._firewall = firewall
        self._last: dict[str, tuple[Obj, dict[str, InForce]]] = {}
        self._named: dict[tuple[str, str], tuple[str, Obj]] = {}

    def tell(self, space: str, config: Obj, *, stale: bool) -> dict[str, InForce]:
        """Tell it, and return what is in force. With `stale` a change of a policy alone is not told, but claimed."""
        before = self._last.get(space)
        if before is not None and before[0] == config:
            return before[1]
        if stale and before is not None and _names(before[0]) == _names(config):
            return {one["name"].partition("/")[2]: InForce(one.get("generation", 0)) for one in config["policies"]}
        answer = self._firewall.put(space, config)
        self._last[space] = (config, answer)
        return answer

    def by_name(self, namespace: str, space: str, config: Obj) -> Obj:
        """Return a configuration whose policies are those of the project that first had their names; a defect."""
        policies = []
        for one in config["policies"]:
            key = namespace, one["name"].partition("/")[2]
            if self._named.setdefault(key, (space, one))[0] == space:
                self._named[key] = space, one
            ours = {name: one[name] for name in ("name", "generation") if name in one}
            policies.append(self._named[key][1] | ours)
        return config | {"policies": policies}


def _names(config: Obj) -> list[str]:
    return sorted(one["name"] for one in config["policies"])


def _reconcile_with(told: Told, site: Site, request: Request, _do: Do) -> Plan:
    space = site.downstream_namespace(request.namespace)
    if space is None:
        return Plan()
    seen = _gather(site, request.namespace, space)
    config = config_for(seen, site.settings)
    if site.settings.has(faults.WAF_SHARED_BY_NAME):
        config = told.by_name(request.namespace, space, config)
    answer = told.tell(space, config, stale=site.settings.has(faults.MODE_FLIP_UNSEEN))
    return decide(seen, answer, site.settings, time.time())


def _always(_site: Site, obj: Obj) -> Names:
    yield obj["metadata"]["namespace"], ""


def _where_policies_are(site: Site, obj: Obj) -> Names:
    """Wake where there is a policy, or where the last one's attachment may not have gone yet."""
    namespace = obj["metadata"]["namespace"]
    below = site.downstream_namespace(namespace)
    if site.up(TRAFFIC_PROTECTION_POLICY).all(namespace) or (below and site.down(ENVOY_EXTENSION_POLICY).all(below)):
        yield namespace, ""


def _upstream(site: Site, obj: Obj) -> Names:
    found = site.origin(obj)
    if found:
        yield found[0], ""


def _parents(route: Obj) -> object:
    return route["spec"].get("parentRefs"), route["metadata"].get("deletionTimestamp")


def controller(_settings: Settings, firewall: Firewall) -> Controller:
    """Return the controller."""
    told = Told(firewall)
    watched: tuple[tuple[Plane, Kind], ...] = (
        (Plane.DOWN, ENVOY_EXTENSION_POLICY),
        (Plane.DOWN, TRAFFIC_PROTECTION_POLICY),
    )
    return Controller(
        name="firewall",
        reconcile=lambda site, request, do: _reconcile_with(told, site, request, do),
        watches=(
            Watch(
                Plane.UP,
                TRAFFIC_PROTECTION_POLICY,
                _always,
                about=lambda one: (one["spec"], one["metadata"].get("deletionTimestamp")),
            ),
            Watch(Plane.UP, HTTP_ROUTE, _where_policies_are, about=_parents),
            Watch(Plane.UP, GATEWAY, _where_policies_are, about=lambda _: None),
            *(Watch(plane, kind, _upstream) for plane, kind in watched),
        ),
        reads=((Plane.DOWN, BACKEND),),
    )
