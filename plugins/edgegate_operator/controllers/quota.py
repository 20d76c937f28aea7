"""ResourceClaim: each object of a project holds one, and it goes with its object.

Milo's work in production, not an edge operator's: one policy a kind lets it make the claim when an object is admitted.
This stands in for it, so that what customers leave behind can be looked at as a whole. It grants everything, because
nothing of the edge asks; the claim's end is left to Kubernetes, by way of its owner.
"""

from edgegate_operator import faults
from edgegate_operator.core.controller import Request
from edgegate_operator.core.plan import Claim, Plan, Plane
from edgegate_operator.kinds import (
    BACKEND,
    BACKEND_TLS_UP,
    BACKEND_TRAFFIC_POLICY,
    CONNECTOR,
    CONNECTOR_ADVERTISEMENT,
    DOMAIN,
    ENDPOINT_SLICE,
    GATEWAY,
    HTTP_PROXY,
    HTTP_ROUTE,
    HTTP_ROUTE_FILTER,
    RESOURCE_CLAIM,
    SECURITY_POLICY,
    TRAFFIC_PROTECTION_POLICY,
    Kind,
    Obj,
    kind_of,
)
from edgegate_operator.settings import Settings
from edgegate_operator.site import Controller, Do, Names, Site, Watch, itself

COUNTED = (
    BACKEND, BACKEND_TLS_UP, BACKEND_TRAFFIC_POLICY, CONNECTOR, CONNECTOR_ADVERTISEMENT, DOMAIN, ENDPOINT_SLICE,
    GATEWAY, HTTP_PROXY, HTTP_ROUTE, HTTP_ROUTE_FILTER, SECURITY_POLICY, TRAFFIC_PROTECTION_POLICY,
)  # fmt: skip
"""The kinds that production has a policy for."""
_BY_WORD = {kind.kind.lower(): kind for kind in COUNTED}


def claim_name(kind: Kind, name: str) -> str:
    """Return what the claim of an object is called; the next object of that name has a claim of the same name."""
    return f"{kind.kind.lower()}-{name}"


def decide(project: str, holder: Obj, settings: Settings) -> Plan:
    """Return the claim of an object, one piece of its kind; none while it is being deleted."""
    kind, meta = kind_of(holder), holder["metadata"]
    if "deletionTimestamp" in meta:
        return Plan()
    owner = {"apiVersion": kind.api_version, "kind": kind.kind, "name": meta["name"], "uid": meta["uid"]}
    owners = [] if settings.has(faults.QUOTA_CLAIM_KEPT) else [owner]
    claim = RESOURCE_CLAIM.named(meta["namespace"], claim_name(kind, meta["name"]), ownerReferences=owners)
    claim["spec"] = {
        "consumerRef": {"apiGroup": "resourcemanager.miloapis.com", "kind": "Project", "name": project},
        "requests": [{"resourceType": f"{kind.group}/{kind.plural}", "amount": 1}],
        "resourceRef": {
            "apiGroup": kind.group,
            "kind": kind.kind,
            "namespace": meta["namespace"],
            "name": meta["name"],
        },
    }
    return Plan((Claim(Plane.UP, claim),))


def _reconcile(site: Site, request: Request, _do: Do) -> Plan:
    word, _, name = request.name.partition("-")
    kind = _BY_WORD.get(word)
    holder = site.up(kind).get(request.namespace, name) if kind else None
    return decide(site.project, holder, site.settings) if holder else Plan()


def _its_claim(_site: Site, holder: Obj) -> Names:
    meta = holder["metadata"]
    yield meta["namespace"], claim_name(kind_of(holder), meta["name"])


def _identity(obj: Obj) -> object:
    return obj["metadata"]["uid"]


def controller(_settings: Settings) -> Controller:
    """Return the controller. The end of a claim wakes it too: by then its name may be another object's."""
    holders = (Watch(Plane.UP, kind, _its_claim, about=_identity) for kind in COUNTED)
    return Controller("quota", _reconcile, (*holders, Watch(Plane.UP, RESOURCE_CLAIM, itself, about=_identity)))
