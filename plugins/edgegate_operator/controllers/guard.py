"""The guard of login: a SecurityPolicy whose Secret is missing stays off the edge, and its routes answer nothing.

Envoy Gateway 1.8 turns such a policy into a filter that an Envoy older than 1.38 refuses, and then every tenant of the
merged Gateway is dark after the proxy's next start. Held back without anything else, though, the route would be open
to everybody. So while a policy is held, its routes answer 503.
"""

from collections.abc import Callable, Iterable

from edgegate_operator import conditions, faults
from edgegate_operator.kinds import GATEWAY, HTTP_ROUTE, Kind, Obj
from edgegate_operator.settings import Settings

PENDING = "PendingSecret"
LATE = 2.0
"""Seconds after which a route is held too late. At once it was seen to do no harm: the proxy's control plane may
translate both changes together."""


def holds_late(settings: Settings) -> bool:
    """Return whether a policy leaves before its routes are held, which is a defect."""
    return settings.has(faults.WITHDRAWAL_BEFORE_HOLD)


def held_since(policy: Obj, now: float) -> float:
    """Return for how many seconds a policy has said that it waits for its Secret; 0 while it does not."""
    ancestors = (policy.get("status") or {}).get("ancestors") or []
    found = [conditions.find(item.get("conditions"), "Accepted") for item in ancestors]
    return max(
        (now - conditions.seconds(i["lastTransitionTime"]) for i in found if i.get("reason") == PENDING), default=0
    )


def secret_names(policy: Obj) -> list[str]:
    """Return the Secrets of its own namespace that a SecurityPolicy cannot do without."""
    spec = policy["spec"]
    oidc = spec.get("oidc") or {}
    references = [oidc.get("clientSecret"), oidc.get("clientIDRef"), (spec.get("basicAuth") or {}).get("users")]
    references += (spec.get("apiKeyAuth") or {}).get("credentialRefs") or []
    return list(dict.fromkeys(item["name"] for item in references if item))


def missing(policy: Obj, has: Callable[[str], bool]) -> list[str]:
    """Return the Secrets that a policy names and that are not there."""
    return [name for name in secret_names(policy) if not has(name)]


def _selected(selector: Obj, kind: Kind, obj: Obj) -> bool:
    labels = obj["metadata"].get("labels") or {}
    if selector.get("kind") != kind.kind:
        return False
    wanted = selector.get("matchLabels") or {}
    return bool(all(labels.get(key) == value for key, value in wanted.items())) and all(
        _expression(labels, item) for item in selector.get("matchExpressions") or []
    )


def _expression(labels: dict[str, str], item: Obj) -> bool:
    value, values = labels.get(item["key"]), item.get("values") or []
    answers = {
        "In": value in values,
        "NotIn": value not in values,
        "Exists": value is not None,
        "DoesNotExist": value is None,
    }
    return answers[item["operator"]]


def targets(policy: Obj, kind: Kind, obj: Obj) -> bool:
    """Return whether a policy is about that Gateway or HTTPRoute, or about a part of it."""
    spec = policy["spec"]
    references = [*(spec.get("targetRefs") or []), *([spec["targetRef"]] if spec.get("targetRef") else [])]
    by_name = any(ref["kind"] == kind.kind and ref["name"] == obj["metadata"]["name"] for ref in references)
    return by_name or any(_selected(item, kind, obj) for item in spec.get("targetSelectors") or [])


def concerns(policy: Obj, route: Obj, gateways: Iterable[Obj]) -> bool:
    """Return whether a policy acts on a route, directly or through one of its Gateways."""
    return targets(policy, HTTP_ROUTE, route) or any(targets(policy, GATEWAY, item) for item in gateways)


def accepted(copy: Obj | None) -> bool:
    """Return whether the proxy's control plane has accepted the present form of a downstream policy everywhere."""
    ancestors = ((copy or {}).get("status") or {}).get("ancestors") or []
    generation = copy["metadata"]["generation"] if copy else 0
    seen = [conditions.find(item.get("conditions"), "Accepted") for item in ancestors]
    return bool(seen) and all(i.get("status") == "True" and i.get("observedGeneration") == generation for i in seen)


def holding(
    route: Obj,
    gateways: list[Obj],
    policies: list[Obj],
    copies: dict[str, Obj],
    has: Callable[[str], bool],
    held_now: bool,
) -> list[str]:
    """Return the policies for whose sake a route must not answer.

    A route that is held stays held until the edge has taken the policy over: between the arrival of the Secret and
    that moment it would be open. `copies` are the downstream policies by name; `has` tells whether a Secret is there;
    `held_now` whether the downstream route is held already.
    """
    found = []
    for policy in policies:
        if "deletionTimestamp" in policy["metadata"] or not secret_names(policy):
            continue
        if not concerns(policy, route, gateways):
            continue
        name = policy["metadata"]["name"]
        if missing(policy, has) or (held_now and not accepted(copies.get(name))):
            found.append(name)
    return found


def pending_ancestors(policy: Obj, controller: str, gone: list[str], now: float) -> list[Obj]:
    """Return the status of a policy that is held: for each target Accepted False with reason PendingSecret."""
    meta, old = policy["metadata"], (policy.get("status") or {}).get("ancestors") or []
    text = f"Held back: Secret {', '.join(gone)} does not exist in namespace {meta['namespace']}"
    wanted = conditions.condition("Accepted", False, PENDING, text, meta["generation"])
    found = []
    for ref in policy["spec"].get("targetRefs") or []:
        ancestor = {k: ref[k] for k in ("group", "kind", "name", "sectionName") if k in ref}
        ancestor["namespace"] = meta["namespace"]
        before = next((i.get("conditions") for i in old if covers_ref(i["ancestorRef"], ancestor)), None)
        item = {"ancestorRef": ancestor, "controllerName": controller}
        found.append(item | {"conditions": conditions.dated([wanted], before, now)})
    return found


def covers_ref(reference: Obj, wanted: Obj) -> bool:
    """Return whether two references name the same object."""
    return all(reference.get(key) == wanted.get(key) for key in ("kind", "name", "namespace", "sectionName"))
