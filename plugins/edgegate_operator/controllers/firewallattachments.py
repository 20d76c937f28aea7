"""How the proxy is made to ask the firewall: what is attached to which target, and how that comes and goes.

Envoy Gateway sends all that follows from an attachment at once, and Envoy takes it in an order of its own. Measured on
Envoy Gateway 1.8.3 × Envoy 1.38.3, with a look every 18 ms: whenever one came or went, up to three looks were answered
500 (`Cluster_not_available`); where a route's took the place of its Gateway's, attacks passed besides. Therefore:

* What asks already is left alone. The firewall finds the policy by the name of the route, so a route needs no
  attachment beside its Gateway's, and one that is there stays for as long as some policy needs it.
* One that comes or goes lets pass what the firewall cannot be asked about (`failOpen`): its policy is not in force yet,
  or no more. One that goes stays so for `SETTLE` seconds: connections that visitors keep have the old form until Envoy
  closes them, with their next answer.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from edgegate_operator import conditions, faults, names
from edgegate_operator.core.plan import Apply, Plan, Plane, Step, removal
from edgegate_operator.kinds import BACKEND, ENVOY_EXTENSION_POLICY, HTTP_ROUTE, TRAFFIC_PROTECTION_POLICY, Obj
from edgegate_operator.settings import FirewallPlace, Settings

LABEL = "edgegate.dev/firewall"
BACKEND_NAME = "edgegate-firewall"
ATTRIBUTES = ["xds.route_name", "source.address", "request.protocol"]
"""What the firewall has to be told of a request: by the name of the route it finds the policy."""
BODIES = "FullDuplexStreamed"
"""How bodies are sent to the firewall: it holds all parts until it has seen the last."""
OPENED = "edgegate.dev/opened"
"""Annotation of an attachment that goes: when it was opened, in Unix time."""
SETTLE = 2.0
"""Seconds; a connection that is in use was closed 0.3 s after the change at the latest."""
_GATEWAY = "Gateway"

Target = tuple[str, str]
"""Kind and name; sections are left out, the edge does not tell them apart."""


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
    gateways: frozenset[str] = frozenset()
    """Gateways upstream."""
    copies: dict[str, Obj] = field(default_factory=dict)
    """Policies downstream, by name."""
    attached: dict[str, Obj] = field(default_factory=dict)
    """What we have attached downstream, by name."""
    backend: Obj | None = None
    """Where the proxy finds the firewall."""


def name_of(target: Target) -> str:
    """Return the name of a target's attachment."""
    return f"firewall-{target[0].lower()}-{target[1]}"


def target_of(attachment: Obj) -> Target:
    """Return what an attachment is for."""
    (ref,) = attachment["spec"]["targetRefs"]
    return ref["kind"], ref["name"]


def needed(seen: Seen, active: Iterable[Target], settings: Settings) -> frozenset[Target]:
    """Return where attachments have to be, so that the firewall is asked about some targets."""
    asking, there = frozenset(active), {target_of(one) for one in seen.attached.values()}
    if settings.has(faults.WAF_ROUTE_SWAPPED):
        return asking
    if settings.has(faults.WAF_GATEWAY_LET_GO):
        there = set()
    inherit = {
        (kind, name)
        for kind, name in asking
        if kind != _GATEWAY and (kind, name) not in there and _asked(seen, name, asking | there)
    }
    gateways = {(_GATEWAY, gateway) for _, route in inherit for gateway in seen.routes[route]}
    return (asking - inherit) | gateways


def _asked(seen: Seen, route: str, attached: Iterable[Target]) -> bool:
    gateways = seen.routes.get(route)
    return bool(gateways) and {(_GATEWAY, one) for one in gateways or ()} <= set(attached)


def in_force(seen: Seen, target: Target, settings: Settings) -> bool:
    """Return whether the proxy asks the firewall about a target, and lets nothing pass without an answer."""
    kind, name = target
    own = seen.attached.get(name_of(target))
    inherited = [seen.attached.get(name_of((_GATEWAY, one))) for one in seen.routes.get(name, ())]
    found = [own] if own is not None or kind == _GATEWAY else inherited
    wanted = _stays_open(settings)
    return bool(found) and all(one is not None and _is_open(one) is wanted and _accepted(one) for one in found)


def plan(seen: Seen, wanted: Mapping[Target, str], settings: Settings, now: float) -> Plan:
    """Return what has to be done so that there are these attachments, each for a policy, and no others."""
    steps: list[Step] = [Apply(Plane.DOWN, _backend(seen, settings.firewall))] if wanted else []
    steps += [_coming(seen, target, policy, settings) for target, policy in sorted(wanted.items())]
    going = [one for one in seen.attached.values() if target_of(one) not in wanted]
    steps += [step for one in going for step in _going(seen, one, settings, now)]
    if not wanted and not going and seen.backend is not None:
        steps.append(removal(Plane.DOWN, seen.backend, BACKEND))
    left = [_opened(one) + SETTLE - now for one in going if _opened(one)]
    return Plan(tuple(steps), after=max(0.1, min(left)) if left else None)


def _coming(seen: Seen, target: Target, policy: str, settings: Settings) -> Step:
    """Let an attachment be there: open until the proxy has it, then shut."""
    held = seen.attached.get(name_of(target))
    opens = held is None or (_is_open(held) and not _accepted(held))
    if _shut_from_the_start(settings):
        opens = False
    labels = names.provenance(seen.project, TRAFFIC_PROTECTION_POLICY, seen.namespace, policy) | {LABEL: "true"}
    return _attachment(seen, target, labels, opens=opens or _stays_open(settings))


def _going(seen: Seen, held: Obj, settings: Settings, now: float) -> Iterator[Step]:
    """Let an attachment go: first it is open, and when the proxy has that for a while it is taken away."""
    kind, name = target = target_of(held)
    orphan = name not in (seen.gateways if kind == _GATEWAY else seen.routes)
    at_once = orphan or _refused(held) or _shut_from_the_start(settings)
    opened = _opened(held)
    if at_once or (opened and _accepted(held) and now >= opened + SETTLE):
        yield removal(Plane.DOWN, held, ENVOY_EXTENSION_POLICY)
    elif not opened:
        yield _attachment(seen, target, held["metadata"]["labels"], opens=True, annotations={OPENED: f"{now:.3f}"})


def _stays_open(settings: Settings) -> bool:
    return settings.has(faults.WAF_FAIL_OPEN)


def _shut_from_the_start(settings: Settings) -> bool:
    return settings.has(faults.WAF_ATTACHED_SHUT)


def _opened(held: Obj) -> float:
    """Return when an attachment that goes was opened; 0 when it was not."""
    return float((held["metadata"].get("annotations") or {}).get(OPENED, 0))


def _attachment(
    seen: Seen,
    target: Target,
    labels: Mapping[str, str],
    *,
    opens: bool,
    annotations: Mapping[str, str] | None = None,
) -> Step:
    """Return what makes the proxy send the requests of a target to the firewall."""
    reference = {"group": BACKEND.group, "kind": BACKEND.kind, "name": BACKEND_NAME}
    processor = {
        "backendRefs": [reference],
        # Longer than the firewall's own limit, so that it is the firewall that answers.
        "messageTimeout": "15s",
        "failOpen": opens,
        "processingMode": {"request": {"attributes": ATTRIBUTES}},
    }
    if not opens:  # Envoy Gateway refuses both together; an open one is asked about headers alone
        bodies = {"request": {"body": BODIES, "attributes": ATTRIBUTES}, "response": {"body": BODIES}}
        processor["processingMode"] = bodies
    ref = {"group": HTTP_ROUTE.group, "kind": target[0], "name": target[1]}
    # An empty map would be a change for the API server each time it is applied.
    more = {"annotations": dict(annotations)} if annotations else {}
    made = ENVOY_EXTENSION_POLICY.named(seen.space, name_of(target), labels=dict(labels), **more)
    return Apply(Plane.DOWN, made | {"spec": {"targetRefs": [ref], "extProc": [processor]}})


def _backend(seen: Seen, place: FirewallPlace) -> Obj:
    endpoint = {"ip": {"address": place.host, "port": place.port}}
    return BACKEND.named(seen.space, BACKEND_NAME, labels={LABEL: "true"}) | {"spec": {"endpoints": [endpoint]}}


def _is_open(attachment: Obj) -> bool:
    return bool(attachment["spec"]["extProc"][0].get("failOpen"))


def _told(attachment: Obj) -> list[str]:
    """Return what is said about the present form of an attachment, once a Gateway."""
    ancestors = (attachment.get("status") or {}).get("ancestors") or []
    found = [conditions.find(one.get("conditions"), "Accepted") for one in ancestors]
    generation = attachment["metadata"]["generation"]
    return [one.get("status", "") if one.get("observedGeneration") == generation else "" for one in found]


def _accepted(attachment: Obj) -> bool:
    told = _told(attachment)
    return bool(told) and all(one == "True" for one in told)


def _refused(attachment: Obj) -> bool:
    return "False" in _told(attachment)
