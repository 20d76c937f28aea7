"""What becomes of a Gateway: a pure function of the objects around it."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from edgegate_operator import conditions, faults, names
from edgegate_operator.controllers import certificates, gatewaydns, listeners
from edgegate_operator.controllers.mapped import anchor, namespace, reference
from edgegate_operator.core.plan import Apply, Plan, Plane, Status, Step, removal
from edgegate_operator.kinds import CONFIG_MAP, DNS_ENDPOINT, GATEWAY, Obj
from edgegate_operator.settings import Settings

CLASS_AGAIN = 30.0
"""Seconds until we look again for a class that is missing; its arrival wakes us too."""
FLOOR, LATE, RECORDS_LATE = 60.0, 65.0, 10.0
"""Seconds, of the faults `requeue-floor`, `address-late` and `certificate-first`."""


@dataclass(frozen=True)
class Seen:
    """What a decision is based on."""

    project: str
    """Project."""
    gateway: Obj
    """The Gateway upstream."""
    space: str
    """Namespace downstream."""
    managed: bool = True
    """Whether its class exists and is ours."""
    domains: list[Obj] = field(default_factory=list)
    """Domains of the namespace."""
    zones: list[Obj] = field(default_factory=list)
    """DNSZones of the namespace."""
    records: list[Obj] = field(default_factory=list)
    """DNSRecordSets of the namespace."""
    routes: list[Obj] = field(default_factory=list)
    """HTTPRoutes that name the Gateway."""
    below: Obj | None = None
    """The Gateway downstream."""
    endpoint: Obj | None = None
    """The DNSEndpoint downstream."""
    certificates: dict[str, Obj] = field(default_factory=dict)
    """Certificates downstream that were made for it, by name."""
    secrets: dict[str, Obj] = field(default_factory=dict)
    """Secrets downstream with the names of those Certificates, and shared ones."""
    claims: list[Obj] = field(default_factory=list)
    """All claims."""

    @property
    def me(self) -> str:
        """Return how this Gateway is written as holder of claims."""
        meta = self.gateway["metadata"]
        return names.claim_owner(self.project, meta["namespace"], meta["name"])


def _touch(gateway: Obj, settings: Settings) -> Apply:
    """Return what we add to the user's Gateway: the finalizer, and the canonical name of the default listeners."""
    meta = gateway["metadata"]
    obj = GATEWAY.named(meta["namespace"], meta["name"], uid=meta["uid"], finalizers=[names.GATEWAY_FINALIZER])
    canonical = listeners.canonical_name(gateway, settings.gateway)
    ours = [item for item in gateway["spec"]["listeners"] if item["name"] in listeners.DEFAULTS]
    if ours:
        keys = ("name", "port", "protocol")
        obj["spec"] = {"listeners": [{key: item[key] for key in keys} | {"hostname": canonical} for item in ours]}
    return Apply(Plane.UP, obj, touch=True)


def _names(seen: Seen, settings: Settings) -> tuple[str, list[Obj], list[str]]:
    """Return canonical name, listeners as they are meant, and host names that need a claim."""
    canonical = listeners.canonical_name(seen.gateway, settings.gateway)
    meant = listeners.with_canonical(seen.gateway, canonical)
    managed = {*listeners.managed_names(canonical, settings.gateway)}
    return canonical, meant, listeners.declared(meant, managed)


def prepare(seen: Seen, settings: Settings) -> Plan:
    """Return what must be settled first: our fields, claims of verified host names, Domains that are missing."""
    if "deletionTimestamp" in seen.gateway["metadata"] or not seen.managed:
        return Plan()
    _, _, hostnames = _names(seen, settings)
    verified = listeners.verified_names(hostnames, seen.domains, seen.below, settings.gateway)
    meta = seen.gateway["metadata"]
    steps: list[Step] = [_touch(seen.gateway, settings)]
    if not settings.gateway.disable_hostname_verification:
        steps += listeners.missing_domains(hostnames, seen.domains, meta["namespace"])
    steps += [
        listeners.claim(name, seen.project, seen.gateway, settings.gateway) for name in hostnames if name in verified
    ]
    return Plan(tuple(steps))


def grants_of(seen: Seen, settings: Settings) -> listeners.Grants:
    """Return what became of each host name."""
    canonical, _, hostnames = _names(seen, settings)
    verified = listeners.verified_names(hostnames, seen.domains, seen.below, settings.gateway)
    holders = {obj["metadata"]["name"]: str((obj.get("data") or {}).get("owner")) for obj in seen.claims}
    managed = frozenset(listeners.managed_names(canonical, settings.gateway))
    return listeners.Grants(managed, verified, {k: v for k, v in holders.items() if k in verified}, seen.me)


def _clean_up(seen: Seen, settings: Settings) -> Plan:
    """Return what is to be done when a Gateway is deleted: records, edge, claims, then the finalizer."""
    if names.GATEWAY_FINALIZER not in (seen.gateway["metadata"].get("finalizers") or []):
        return Plan()
    steps: list[Step] = [*gatewaydns.removed(seen.gateway, seen.records)]
    if seen.endpoint is not None:
        steps.append(removal(Plane.DOWN, seen.endpoint, DNS_ENDPOINT))
    if seen.below is not None:
        steps.append(removal(Plane.DOWN, seen.below, GATEWAY))
    steps += certificates.stale([], certificates.Choice({}, frozenset(), {}), seen.certificates, seen.secrets)
    steps += listeners.stale_claims(seen.claims, seen.me, frozenset(), settings)
    meta = seen.gateway["metadata"]
    steps.append(removal(Plane.DOWN, CONFIG_MAP.named(seen.space, names.anchor_name(meta["uid"])), CONFIG_MAP))
    steps.append(Apply(Plane.UP, GATEWAY.named(meta["namespace"], meta["name"], uid=meta["uid"]), touch=True))
    return Plan(tuple(steps))


@dataclass(frozen=True)
class Decision:
    """The parts of a decision that more than one function needs."""

    grants: listeners.Grants
    """Host names."""
    canonical: str
    """Canonical host name."""
    meant: list[Obj]
    """Listeners."""
    needed: list[certificates.Wanted]
    """Certificates."""
    choice: certificates.Choice
    """Which of them serve."""
    retry: certificates.Retry
    """Which are tried anew."""


def weigh(seen: Seen, settings: Settings, now: float) -> Decision:
    """Return what can be served with what is there."""
    canonical, meant, _ = _names(seen, settings)
    grants = grants_of(seen, settings)
    served = [item for item in meant if grants.serves(item.get("hostname"))]
    needed = list(certificates.wanted(seen.gateway, served, settings.gateway))
    choice = certificates.choose(needed, served, seen.certificates, seen.secrets, settings, now)
    retry = certificates.retries(needed, seen.certificates, seen.below, settings, now)
    return Decision(grants, canonical, meant, needed, choice, retry)


def _downstream(seen: Seen, decision: Decision, settings: Settings) -> Iterator[Step]:
    """Yield the downstream Gateway with its Certificates."""
    meta = seen.gateway["metadata"]
    labels = names.provenance(seen.project, GATEWAY, meta["namespace"], meta["name"])
    obj = GATEWAY.named(seen.space, meta["name"], labels=labels, ownerReferences=[reference(seen.gateway)])
    if decision.retry.counts:
        obj["metadata"]["annotations"] = decision.retry.counts
    served = listeners.downstream_listeners(decision.meant, decision.grants, decision.choice.secrets)
    obj["spec"] = {"gatewayClassName": settings.gateway.downstream_gateway_class_name, "listeners": served}
    if served:
        yield namespace(seen.project, meta["namespace"], seen.space)
        yield anchor(seen.project, seen.gateway, seen.space)
        yield Apply(Plane.DOWN, obj)
    yield from decision.retry.removed
    if served or seen.below is not None:
        owner = reference(seen.gateway)
        yield from certificates.applied(decision.needed, seen.space, labels, owner, meta["name"])
    if not settings.has(faults.ORPHANED_CERTIFICATE):
        yield from certificates.stale(decision.needed, decision.choice, seen.certificates, seen.secrets)


def _gateway_conditions(seen: Seen, decision: Decision, outcome: gatewaydns.Outcome, settings: Settings) -> list[Obj]:
    generation = seen.gateway["metadata"]["generation"]
    found = []
    for kind in ("Accepted", "Programmed"):
        below = conditions.of(seen.below, kind)
        good = below.get("status") == "True" and conditions.is_current(seen.below, kind)
        reason, text = (kind, f"{kind} downstream") if good else ("Pending", below.get("message") or "Not there yet")
        if below.get("status") == "False" and conditions.is_current(seen.below, kind):
            reason = below["reason"]
        found.append(conditions.condition(kind, good, reason, text, generation))
    wrong = listeners.invalid_listeners(decision.meant, decision.grants)
    if settings.has(faults.LISTENER_DROPPED_SILENTLY):
        wrong = [i["name"] for i in decision.meant if i["name"] in wrong and i.get("hostname")]
    if wrong:
        text = f"Not served: {', '.join(wrong)}"
        found[1] = conditions.condition("Programmed", False, "ListenersNotValid", text, generation)
    records = gatewaydns.gateway_condition(outcome, generation)
    return [*found, records] if records else found


def _status(seen: Seen, decision: Decision, outcome: gatewaydns.Outcome, settings: Settings, now: float) -> Obj:
    old = seen.gateway.get("status") or {}
    found = listeners.statuses(
        seen.gateway, decision.meant, decision.grants, decision.choice.withheld, seen.below, seen.routes
    )
    before = {item["name"]: item.get("conditions") for item in old.get("listeners") or []}
    for item in found:
        item["conditions"] = conditions.dated(item["conditions"], before.get(item["name"]), now)
    addresses = listeners.managed_names(decision.canonical, settings.gateway)
    wanted = _gateway_conditions(seen, decision, outcome, settings)
    return {
        "addresses": [{"type": "Hostname", "value": value} for value in addresses],
        "listeners": found,
        "conditions": conditions.dated(wanted, old.get("conditions"), now),
    }


def _age(obj: Obj, now: float) -> float:
    return now - conditions.seconds(obj["metadata"]["creationTimestamp"])


def decide(seen: Seen, settings: Settings, now: float) -> tuple[Plan, Decision | None]:
    """Return what follows from what was seen, and the decision for metrics."""
    if "deletionTimestamp" in seen.gateway["metadata"]:
        return _clean_up(seen, settings), None
    if not seen.managed:
        return Plan(after=CLASS_AGAIN), None
    decision = weigh(seen, settings, now)
    steps: list[Step] = [*_downstream(seen, decision, settings)]
    if settings.has(faults.REQUEUE_FLOOR) and decision.choice.withheld and _age(seen.gateway, now) < FLOOR:
        return Plan(tuple(steps), after=FLOOR), decision
    if settings.has(faults.FAILED_CERTIFICATE_BLOCKS) and decision.retry.after is not None:
        return Plan(tuple(steps), after=decision.retry.after), decision
    if settings.has(faults.CERTIFICATE_FIRST) and _age(seen.gateway, now) < RECORDS_LATE:
        return Plan(tuple(steps), after=RECORDS_LATE - _age(seen.gateway, now)), decision
    _, _, hostnames = _names(seen, settings)
    served = [name for name in hostnames if decision.grants.serves(name)]
    outcome = gatewaydns.records(
        seen.gateway, served, decision.canonical, seen.domains, seen.zones, seen.records, settings, now
    )
    steps += outcome.steps
    endpoint = gatewaydns.endpoint(decision.canonical, seen.below, settings) if seen.below else None
    late = settings.has(faults.ADDRESS_LATE) and _age(seen.gateway, now) < LATE
    if endpoint and not late:
        steps.append(Apply(Plane.DOWN, endpoint))
    steps += listeners.stale_claims(seen.claims, seen.me, decision.grants.verified, settings)
    steps.append(Status(Plane.UP, seen.gateway, _status(seen, decision, outcome, settings, now)))
    waits = [wait for wait in (decision.retry.after, decision.choice.after) if wait is not None]
    return Plan(tuple(steps), after=LATE - _age(seen.gateway, now) if late else min(waits, default=None)), decision
