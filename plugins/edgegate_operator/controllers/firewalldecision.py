"""What follows from the firewall policies of a namespace: what the firewall is told, and what is attached to the proxy.

The firewall is told first: a request that it gets for a route without a policy is answered 503. So a policy is in force
there before the first request comes, and a route that loses its policy keeps an empty one.
"""

from dataclasses import replace

from edgegate_operator import conditions, faults
from edgegate_operator.controllers import firewallattachments as attachments
from edgegate_operator.controllers.firewallattachments import Seen, Target
from edgegate_operator.controllers.trafficprotection import EDGE, is_inverted, policies_by_age
from edgegate_operator.core.firewall import InForce
from edgegate_operator.core.plan import Plan, Plane, Status
from edgegate_operator.kinds import Obj
from edgegate_operator.settings import Settings

DISABLED = "Disabled"
NOBODYS = "-"
"""Name of the empty policy; no object can have it."""
Held = dict[Target, str]
"""Target to the policy in force for it."""


def held_by(seen: Seen, settings: Settings) -> Held:
    """Return the policy in force for each target. An invalid one holds nothing."""
    if settings.has(faults.INVALID_SHADOWS):
        every = [((ref["kind"], ref["name"]), one) for one in policies_by_age(seen.policies) for ref in _refs(one)]
        found: Held = {}
        for target, policy in every:
            found.setdefault(target, policy["metadata"]["name"])
        return {target: name for target, name in found.items() if not is_inverted(_named(seen, name))}
    # In the order of age, so that of two sections of one target the older policy counts.
    valid = [one for one in policies_by_age(seen.policies) if not is_inverted(one)]
    if settings.has(faults.WAF_NEWEST_WINS):
        valid.reverse()
    held: Held = {}
    for policy in valid:
        for ref in _refs(policy):
            held.setdefault((ref["kind"], ref["name"]), policy["metadata"]["name"])
    return held


def _refs(policy: Obj) -> list[Obj]:
    refs: list[Obj] = policy["spec"]["targetRefs"]
    return refs


def _named(seen: Seen, name: str) -> Obj:
    return next(one for one in seen.policies if one["metadata"]["name"] == name)


def governing(seen: Seen, held: Held, settings: Settings) -> dict[str, str]:
    """Return the policy of each route: its own, else that of the first of its Gateways that has one."""
    found = {}
    for route, gateways in seen.routes.items():
        candidates = [("HTTPRoute", route), *(("Gateway", name) for name in gateways)]
        if settings.has(faults.WAF_GATEWAY_FIRST):
            candidates.reverse()
        policy = next((held[target] for target in candidates if target in held), None)
        if policy is not None:
            found[route] = policy
    return found


def config_for(seen: Seen, settings: Settings) -> Obj:
    """Return what the firewall is told of a namespace."""
    held = held_by(seen, settings)
    mine = [_policy(seen, name) for name in sorted(set(held.values()))]
    empty = {"name": f"{seen.space}/{NOBODYS}", "mode": DISABLED}
    routes = [
        {"prefix": f"httproute/{seen.space}/{route}/", "policy": f"{seen.space}/{policy}"}
        for route, policy in sorted(governing(seen, held, settings).items())
    ]
    rest = {"prefix": f"httproute/{seen.space}/", "policy": empty["name"]}
    return {"policies": [*mine, empty], "routes": [*routes, rest]}


def _policy(seen: Seen, name: str) -> Obj:
    policy = _named(seen, name)
    spec = policy["spec"]
    rules = next((one.get("owaspCoreRuleSet") or {} for one in spec.get("ruleSets") or []), {})
    own = {"name": f"{seen.space}/{name}", "generation": policy["metadata"]["generation"]}
    own |= {key: spec[key] for key in ("mode", "samplingPercentage") if key in spec}
    return own | {key: rules[key] for key in ("paranoiaLevels", "scoreThresholds", "ruleExclusions") if key in rules}


def _in_force(
    seen: Seen, policy: Obj, ref: Obj, held: Held, told: dict[str, InForce], settings: Settings
) -> tuple[bool, str, str]:
    """Return whether the edge applies a policy to a target, as a condition has it."""
    name, generation = policy["metadata"]["name"], policy["metadata"]["generation"]
    if held.get((ref["kind"], ref["name"])) != name:
        return False, "Pending", "Another policy is in force"
    firewall = told.get(name, InForce(0))
    if firewall.mistake:
        return False, "Invalid", firewall.mistake
    if firewall.generation != generation:
        return False, "Pending", f"The firewall has generation {firewall.generation}"
    if policy["spec"].get("mode") == DISABLED:
        return True, "Programmed", "Nothing is inspected"
    if not attachments.in_force(seen, (ref["kind"], ref["name"]), settings):
        return False, "Pending", "The proxy has not taken it over yet"
    return True, "Programmed", "The firewall has it, and the proxy asks the firewall"


def _status(
    seen: Seen, policy: Obj, held: Held, told: dict[str, InForce], settings: Settings, now: float
) -> Status | None:
    """Return what the copy says; None while it is not that of the present policy."""
    copy = seen.copies.get(policy["metadata"]["name"])
    if copy is None or copy.get("spec") != policy["spec"]:
        return None
    old = (copy.get("status") or {}).get("ancestors") or []
    ancestors = []
    for ref in _refs(policy) if not is_inverted(policy) else []:
        reference = {key: ref[key] for key in ("group", "kind", "name", "sectionName") if key in ref}
        verdict = _in_force(seen, policy, ref, held, told, settings)
        wanted = conditions.condition("Programmed", *verdict, copy["metadata"]["generation"])
        before = next((one.get("conditions") for one in old if one["ancestorRef"] == reference), None)
        head = {"ancestorRef": reference, "controllerName": EDGE}
        ancestors.append(head | {"conditions": conditions.dated([wanted], before, now)})
    return Status(Plane.DOWN, copy, {"ancestors": ancestors})


def decide(seen: Seen, told: dict[str, InForce], settings: Settings, now: float) -> Plan:
    """Return what is attached to the edge, and what is said of it, once the firewall has been told."""
    held = held_by(seen, settings)
    active = {target: name for target, name in held.items() if _named(seen, name)["spec"].get("mode") != DISABLED}
    wanted = {
        target: active.get(target) or _borrower(seen, target, active)
        for target in attachments.needed(seen, active, settings)
    }
    statuses = [_status(seen, policy, held, told, settings, now) for policy in seen.policies]
    changes = attachments.plan(seen, wanted, settings, now)
    return replace(changes, steps=(*changes.steps, *(status for status in statuses if status is not None)))


def _borrower(seen: Seen, gateway: Target, active: Held) -> str:
    """Return the policy for whose sake a Gateway without one is attached to: that of one of its routes."""
    return min(
        name
        for (kind, route), name in active.items()
        if gateway[1] in seen.routes.get(route, ()) and kind != gateway[0]
    )
