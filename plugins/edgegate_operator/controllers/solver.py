"""HTTP-01: each Challenge downstream gets a route on the Gateway whose certificate it is for, which answers the key."""

from dataclasses import dataclass

from edgegate_operator import faults, names
from edgegate_operator.controllers import guard
from edgegate_operator.core.controller import Request
from edgegate_operator.core.plan import Apply, Delete, Plan, Plane, removal
from edgegate_operator.kinds import (
    CERTIFICATE,
    CHALLENGE,
    GATEWAY,
    HTTP_ROUTE,
    HTTP_ROUTE_FILTER,
    ORDER,
    SECURITY_POLICY,
    Obj,
)
from edgegate_operator.settings import Gateways, Settings
from edgegate_operator.site import Controller, Do, Names, Site, Watch, itself

CERTIFICATE_NAME = "cert-manager.io/certificate-name"
PATH = "/.well-known/acme-challenge/"


@dataclass(frozen=True)
class Seen:
    """What a decision is based on."""

    challenge: Obj
    """The Challenge."""
    gateway: Obj | None
    """The Gateway downstream that owns the Certificate; None if a link of the chain is missing."""
    guarded: bool = False
    """Whether a SecurityPolicy is about that Gateway as a whole."""


def is_mapped(challenge: Obj, settings: Gateways) -> bool:
    """Return whether the issuer is one that listeners can ask for; others solve their challenges themselves."""
    issuer = challenge["spec"].get("issuerRef") or {}
    return issuer.get("kind") == "ClusterIssuer" and issuer.get("name") in settings.cluster_issuer_map.values()


def _owner(challenge: Obj) -> Obj:
    return {
        "apiVersion": CHALLENGE.api_version,
        "kind": CHALLENGE.kind,
        "name": challenge["metadata"]["name"],
        "uid": challenge["metadata"]["uid"],
        "controller": True,
    }


def solver_objects(challenge: Obj, parent: Obj) -> tuple[Obj, Obj]:
    """Return the filter that answers the key, and the route that leads to it; `parent` is what it hangs on."""
    meta, spec = challenge["metadata"], challenge["spec"]
    owned = {"labels": {names.SOLVER_LABEL: "true"}, "ownerReferences": [_owner(challenge)]}
    answer = HTTP_ROUTE_FILTER.named(meta["namespace"], meta["name"], **owned)
    body = {"type": "Inline", "inline": spec["key"]}
    answer["spec"] = {"directResponse": {"statusCode": 200, "contentType": "text/plain", "body": body}}
    route = HTTP_ROUTE.named(meta["namespace"], meta["name"], **owned)
    filter_ref = {"group": HTTP_ROUTE_FILTER.group, "kind": HTTP_ROUTE_FILTER.kind, "name": meta["name"]}
    rule = {
        "matches": [{"path": {"type": "Exact", "value": PATH + spec["token"]}}],
        "filters": [{"type": "ExtensionRef", "extensionRef": filter_ref}],
    }
    route["spec"] = {"parentRefs": [parent], "hostnames": [spec["dnsName"]], "rules": [rule]}
    return answer, route


def open_door(challenge: Obj) -> Obj:
    """Return the policy that lets an ACME server in where the whole Gateway asks for login: the closer one counts."""
    meta = challenge["metadata"]
    owned = {"labels": {names.SOLVER_LABEL: "true"}, "ownerReferences": [_owner(challenge)]}
    policy = SECURITY_POLICY.named(meta["namespace"], meta["name"], **owned)
    target = {"group": HTTP_ROUTE.group, "kind": HTTP_ROUTE.kind, "name": meta["name"]}
    policy["spec"] = {"targetRefs": [target], "authorization": {"defaultAction": "Allow"}}
    return policy


def decide(seen: Seen, settings: Settings) -> Plan:
    """Return what follows from what was seen."""
    challenge = seen.challenge
    if "deletionTimestamp" in challenge["metadata"] or challenge["spec"].get("type") != "HTTP-01":
        return Plan()
    if not is_mapped(challenge, settings.gateway):
        return Plan()
    if (challenge.get("status") or {}).get("state") == "errored" and settings.gateway.delete_errored_challenges:
        return Plan((removal(Plane.DOWN, challenge, CHALLENGE),))
    if seen.gateway is None:
        return Plan()
    answer, route = solver_objects(challenge, _parent(seen.gateway, settings))
    first = (
        [Apply(Plane.DOWN, open_door(challenge))]
        if seen.guarded and not settings.has(faults.SOLVER_BEHIND_LOGIN)
        else []
    )
    return Plan((*first, Apply(Plane.DOWN, answer), Apply(Plane.DOWN, route)))


def _parent(gateway: Obj, settings: Settings) -> Obj:
    """Return the reference to the Gateway whose listeners answer: all that have the host name."""
    meta = gateway["metadata"]
    found = {"group": GATEWAY.group, "kind": GATEWAY.kind, "name": meta["name"], "namespace": meta["namespace"]}
    if settings.has(faults.WRONG_SOLVER_PLANE):
        found["name"] += "-hub"  # a Gateway of the other plane: the route is there, and nothing serves it
    return found | ({"port": 443} if settings.has(faults.SOLVER_OVER_TLS) else {})


def _certificate(site: Site, challenge: Obj) -> Obj | None:
    """Return the Certificate that a Challenge is for: Challenge → Order → Certificate."""
    space = challenge["metadata"]["namespace"]
    owners = [o["name"] for o in challenge["metadata"].get("ownerReferences") or [] if o["kind"] == ORDER.kind]
    order = site.down(ORDER).get(space, owners[0]) if owners else None
    name = ((order or {}).get("metadata") or {}).get("annotations", {}).get(CERTIFICATE_NAME)
    return site.down(CERTIFICATE).get(space, name) if name else None


def _reconcile(site: Site, request: Request, _do: Do) -> Plan:
    space = request.namespace
    challenge = site.down(CHALLENGE).get(space, request.name)
    if challenge is None:  # the garbage collector is slower than the next probe
        kinds = (HTTP_ROUTE, HTTP_ROUTE_FILTER, SECURITY_POLICY)
        found = [(kind, site.down(kind).get(space, request.name)) for kind in kinds]
        left = [(kind, obj) for kind, obj in found if obj and _is_solver(obj)]
        return Plan(tuple(Delete(Plane.DOWN, kind, space, request.name, obj["metadata"]["uid"]) for kind, obj in left))
    certificate = _certificate(site, challenge)
    owners = (certificate or {}).get("metadata", {}).get("ownerReferences") or []
    gateway = next((site.down(GATEWAY).get(space, o["name"]) for o in owners if o["kind"] == GATEWAY.kind), None)
    policies = site.down(SECURITY_POLICY).all(space) if gateway else []
    guarded = any(guard.targets(policy, GATEWAY, gateway) for policy in policies if gateway)
    return decide(Seen(challenge, gateway, guarded), site.settings)


def _is_solver(obj: Obj) -> bool:
    return (obj["metadata"].get("labels") or {}).get(names.SOLVER_LABEL) == "true"


def _of_order(site: Site, order: Obj) -> Names:
    """Wake the Challenges of an Order: they may have come before we saw it."""
    meta = order["metadata"]
    for challenge in site.down(CHALLENGE).all(meta["namespace"]):
        if any(owner["uid"] == meta["uid"] for owner in challenge["metadata"].get("ownerReferences") or []):
            yield meta["namespace"], challenge["metadata"]["name"]


def _of_namespace(site: Site, obj: Obj) -> Names:
    """Wake every Challenge beside a Certificate or Gateway; there are few at any time."""
    for challenge in site.down(CHALLENGE).all(obj["metadata"]["namespace"]):
        yield obj["metadata"]["namespace"], challenge["metadata"]["name"]


def controller(_settings: Settings) -> Controller:
    """Return the controller."""
    return Controller(
        name="downstream-certificate-solver",
        reconcile=_reconcile,
        watches=(
            Watch(Plane.DOWN, CHALLENGE, itself),
            Watch(Plane.DOWN, ORDER, _of_order),
            Watch(Plane.DOWN, CERTIFICATE, _of_namespace),
            Watch(Plane.DOWN, GATEWAY, _of_namespace),
            Watch(Plane.DOWN, SECURITY_POLICY, _of_namespace),
        ),
        reads=((Plane.DOWN, HTTP_ROUTE), (Plane.DOWN, HTTP_ROUTE_FILTER)),
        workers=2,
        downstream_only=True,
    )
