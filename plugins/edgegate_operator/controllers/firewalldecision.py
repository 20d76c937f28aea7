"""What follows from the firewall policies of a namespace: what the firewall is told, and what is attached to the proxy.

The firewall is told first: a request that it gets for a route without a policy is answered 503. So a policy is in force
there before the first request comes, and a route that loses its policy keeps an empty one.
"""

from dataclasses import dataclass, field

from edgegate_operator import conditions, faults, names
from edgegate_operator.controllers.trafficprotection import EDGE, is_inverted, policies_by_age
from edgegate_operator.core.firewall import InForce
from edgegate_operator.core.plan import Apply, Plan, Plane, Status, Step, removal
from edgegate_operator.kinds import (
    BACKEND,
    ENVOY_EXTENSION_POLICY,
    HTTP_ROUTE,
    TRAFFIC_PROTECTION_POLICY,
    Obj,
)
from edgegate_operator.settings import FirewallPlace, Settings

LABEL = "edgegate.dev/firewall"
BACKEND_NAME = "edgegate-firewall"
DISABLED = "Disabled"
NOBODYS = "-"
"""Name of the empty policy; no object can have it."""
ATTRIBUTES = ["xds.route_name", "source.address", "request.protocol"]
"""What the firewall has to be told of a request: by the name of the route it finds the policy."""


@dataclass(frozen=True)
class Seen:
    """What a decision is based on: one namespace."""

    project: str
    """Project."""
    namespace: str
    """Upstream."""
    space: str
    """Downstream."""
    policies: list[Obj]
    """Policies upstream that are not being deleted."""
    routes: dict[str, list[str]]
    """Route upstream to its Gateways."""
    copies: dict[str, Obj] = field(default_factory=dict)
    """Policies downstream, by name."""
    attached: dict[str, Obj] = field(default_factory=dict)
    """What we have attached downstream, by name."""
    backend: Obj | None = None
    """Where the proxy finds the firewall."""


Held = dict[tuple[str, str], str]
"""Kind and name of a target to the policy in force for it; sections are left out, the edge does not tell them apart."""


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


def _attachment(seen: Seen, kind: str, target: str, policy: str, *, fail_open: bool) -> Obj:
    """Return what makes the proxy send the requests of a target to the firewall."""
    labels = names.provenance(seen.project, TRAFFIC_PROTECTION_POLICY, seen.namespace, policy) | {LABEL: "true"}
    reference = {"group": BACKEND.group, "kind": BACKEND.kind, "name": BACKEND_NAME}
    processor = {
        "backendRefs": [reference],
        # Longer than the firewall's own limit, so that it is the firewall that answers.
        "messageTimeout": "15s",
        "failOpen": fail_open,
        "processingMode": {
            "request": {"body": "FullDuplexStreamed", "attributes": ATTRIBUTES},
            "response": {"body": "FullDuplexStreamed"},
        },
    }
    ref = {"group": HTTP_ROUTE.group, "kind": kind, "name": target}
    name = f"firewall-{kind.lower()}-{target}"
    made = ENVOY_EXTENSION_POLICY.named(seen.space, name, labels=labels)
    return made | {"spec": {"targetRefs": [ref], "extProc": [processor]}}


def _backend(seen: Seen, place: FirewallPlace) -> Obj:
    endpoint = {"ip": {"address": place.host, "port": place.port}}
    return BACKEND.named(seen.space, BACKEND_NAME, labels={LABEL: "true"}) | {"spec": {"endpoints": [endpoint]}}


def _in_force(seen: Seen, policy: Obj, ref: Obj, held: Held, told: dict[str, InForce]) -> tuple[bool, str, str]:
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
    found = seen.attached.get(f"firewall-{ref['kind'].lower()}-{ref['name']}")
    if not _accepted(found):
        return False, "Pending", "The proxy has not taken it over yet"
    return True, "Programmed", "The firewall has it, and the proxy asks the firewall"


def _accepted(attached: Obj | None) -> bool:
    ancestors = ((attached or {}).get("status") or {}).get("ancestors") or []
    found = [conditions.find(one.get("conditions"), "Accepted") for one in ancestors]
    generation = attached["metadata"]["generation"] if attached else 0
    return bool(found) and all(c.get("status") == "True" and c.get("observedGeneration") == generation for c in found)


def _status(seen: Seen, policy: Obj, held: Held, told: dict[str, InForce], now: float) -> Status | None:
    """Return what the copy says; None while it is not that of the present policy."""
    copy = seen.copies.get(policy["metadata"]["name"])
    if copy is None or copy.get("spec") != policy["spec"]:
        return None
    old = (copy.get("status") or {}).get("ancestors") or []
    ancestors = []
    for ref in _refs(policy) if not is_inverted(policy) else []:
        reference = {key: ref[key] for key in ("group", "kind", "name", "sectionName") if key in ref}
        verdict = _in_force(seen, policy, ref, held, told)
        wanted = conditions.condition("Programmed", *verdict, copy["metadata"]["generation"])
        before = next((one.get("conditions") for one in old if one["ancestorRef"] == reference), None)
        head = {"ancestorRef": reference, "controllerName": EDGE}
        ancestors.append(head | {"conditions": conditions.dated([wanted], before, now)})
    return Status(Plane.DOWN, copy, {"ancestors": ancestors})


def decide(seen: Seen, told: dict[str, InForce], settings: Settings, now: float) -> Plan:
    """Return what is attached to the edge, and what is said of it, once the firewall has been told."""
    held = held_by(seen, settings)
    active = {target: name for target, name in held.items() if _named(seen, name)["spec"].get("mode") != DISABLED}
    fail_open = settings.has(faults.WAF_FAIL_OPEN)
    wanted = [
        _attachment(seen, kind, target, policy, fail_open=fail_open)
        for (kind, target), policy in sorted(active.items())
    ]
    kept = {one["metadata"]["name"] for one in wanted}
    steps: list[Step] = [Apply(Plane.DOWN, _backend(seen, settings.firewall))] if wanted else []
    steps += [Apply(Plane.DOWN, one) for one in wanted]
    steps += [
        removal(Plane.DOWN, one, ENVOY_EXTENSION_POLICY) for name, one in seen.attached.items() if name not in kept
    ]
    if not wanted and seen.backend is not None:
        steps.append(removal(Plane.DOWN, seen.backend, BACKEND))
    statuses = [_status(seen, policy, held, told, now) for policy in seen.policies]
    return Plan((*steps, *(status for status in statuses if status is not None)))
