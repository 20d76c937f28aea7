"""TrafficProtectionPolicy: which policy is in force for its targets, and whether the edge applies it."""

import time
from dataclasses import dataclass, field

from edgegate_operator import conditions, faults
from edgegate_operator.core.controller import Request
from edgegate_operator.core.plan import Plan, Plane, Status
from edgegate_operator.kinds import GATEWAY, HTTP_ROUTE, TRAFFIC_PROTECTION_POLICY, Obj
from edgegate_operator.settings import Settings
from edgegate_operator.site import Controller, Do, Names, Site, Watch

EDGE = "networking.datumapis.com/envoy-gateway-extension-server"
"""Controller name under which the edge reports, in the status of the copy."""

Target = tuple[str, str, str]
"""Kind, name and section of a target."""


@dataclass(frozen=True)
class Seen:
    """What a decision is based on."""

    policies: list[Obj]
    """All policies of a namespace."""
    copies: dict[str, Obj] = field(default_factory=dict)
    """Their copies downstream, by name."""
    present: frozenset[tuple[str, str]] = frozenset()
    """Kind and name of the Gateways and HTTPRoutes of the namespace."""


def _target(ref: Obj) -> Target:
    return ref["kind"], ref["name"], ref.get("sectionName", "")


def _age(policy: Obj) -> tuple[str, str]:
    return policy["metadata"]["creationTimestamp"], policy["metadata"]["name"]


def is_inverted(policy: Obj) -> bool:
    """Return whether blocking is above detection; new objects cannot be so, stored ones can."""
    levels = [
        (rule_set.get("owaspCoreRuleSet") or {}).get("paranoiaLevels") or {}
        for rule_set in policy["spec"].get("ruleSets") or []
    ]
    return any(level.get("blocking", 1) > level.get("detection", 1) for level in levels)


def policies_by_age(policies: list[Obj]) -> list[Obj]:
    """Return policies in the order in which they win: the oldest, then the first by name."""
    return sorted(policies, key=_age)


def winners(policies: list[Obj]) -> dict[Target, str]:
    """Return the policy in force for each target: the oldest, then the first by name. Invalid ones do not count."""
    found: dict[Target, str] = {}
    for policy in policies_by_age(policies):
        for ref in policy["spec"]["targetRefs"] if not is_inverted(policy) else ():
            found.setdefault(_target(ref), policy["metadata"]["name"])
    return found


def _programmed(policy: Obj, copy: Obj | None, ref: Obj) -> tuple[bool, str, str]:
    """Return what the edge says about a target; only about the policy as it stands now."""
    if copy is None or copy.get("spec") != policy["spec"]:
        return False, "Pending", "Not copied to the edge yet"
    reports = [
        conditions.find(item.get("conditions"), "Programmed")
        for item in (copy.get("status") or {}).get("ancestors") or []
        if item["controllerName"] == EDGE and item["ancestorRef"].get("name") == ref["name"]
    ]
    current = [item for item in reports if item.get("observedGeneration") == copy["metadata"]["generation"]]
    if current and all(item.get("status") == "True" for item in current):
        return True, "Programmed", "The edge applies it"
    if any(item.get("status") == "True" for item in current):
        return False, "PartialFailure", "The edge applies it in part"
    return False, "Pending", "The edge does not apply it yet"


def ancestor(policy: Obj, ref: Obj, seen: Seen, held: dict[Target, str], settings: Settings, now: float) -> Obj:
    """Return the status of a policy for one target."""
    meta, generation = policy["metadata"], policy["metadata"]["generation"]
    accepted = (True, "Accepted", "In force")
    if is_inverted(policy):
        accepted = (False, "Invalid", "The blocking paranoia level is above the detection level")
    elif (ref["kind"], ref["name"]) not in seen.present:
        accepted = (False, "TargetNotFound", f"{ref['kind']} {ref['name']} does not exist")
    elif held.get(_target(ref)) != meta["name"] and not settings.has(faults.CONFLICT_ACCEPTED):
        accepted = (False, "Conflicted", f"{held.get(_target(ref))} is older and in force")
    wanted = [conditions.condition("Accepted", *accepted, generation)]
    if accepted[0]:
        verdict = _programmed(policy, seen.copies.get(meta["name"]), ref)
        wanted.append(conditions.condition("Programmed", *verdict, generation))
    full = {k: ref[k] for k in ("group", "kind", "name", "sectionName") if k in ref} | {"namespace": meta["namespace"]}
    old = (policy.get("status") or {}).get("ancestors") or []
    before = next((item.get("conditions") for item in old if item["ancestorRef"] == full), None)
    head = {"ancestorRef": full, "controllerName": settings.gateway.controller_name}
    return head | {"conditions": conditions.dated(wanted, before, now)}


def decide(seen: Seen, settings: Settings, now: float) -> Plan:
    """Return the status of every policy of a namespace: one that goes makes room for the next."""
    alive = [policy for policy in seen.policies if "deletionTimestamp" not in policy["metadata"]]
    held = winners(alive)
    return Plan(
        tuple(
            Status(
                Plane.UP,
                policy,
                {"ancestors": [ancestor(policy, r, seen, held, settings, now) for r in policy["spec"]["targetRefs"]]},
            )
            for policy in alive
        )
    )


def _reconcile(site: Site, request: Request, _do: Do) -> Plan:
    space, below = request.namespace, site.downstream_namespace(request.namespace)
    policies = site.up(TRAFFIC_PROTECTION_POLICY).all(space)
    if not policies or below is None:
        return Plan()
    present = {(kind.kind, o["metadata"]["name"]) for kind in (GATEWAY, HTTP_ROUTE) for o in site.up(kind).all(space)}
    copies = {obj["metadata"]["name"]: obj for obj in site.down(TRAFFIC_PROTECTION_POLICY).all(below)}
    return decide(Seen(policies, copies, frozenset(present)), site.settings, time.time())


def _namespace(site: Site, obj: Obj) -> Names:
    """Wake for the namespace as a whole, if it has policies at all."""
    space = obj["metadata"]["namespace"]
    if site.up(TRAFFIC_PROTECTION_POLICY).all(space):
        yield space, ""


def _upstream_namespace(site: Site, copy: Obj) -> Names:
    found = site.origin(copy)
    if found:
        yield found[0], ""


def controller(_settings: Settings) -> Controller:
    """Return the controller."""
    return Controller(
        name="trafficprotectionpolicy",
        reconcile=_reconcile,
        watches=(
            Watch(Plane.UP, TRAFFIC_PROTECTION_POLICY, _namespace),
            Watch(Plane.UP, GATEWAY, _namespace),
            Watch(Plane.UP, HTTP_ROUTE, _namespace),
            Watch(Plane.DOWN, TRAFFIC_PROTECTION_POLICY, _upstream_namespace),
        ),
    )
