"""HTTPRoute: backends downstream, status upstream, and holding while a login is not ready."""

from dataclasses import replace
from typing import Any

import pytest

from edgegate_operator import kinds, names
from edgegate_operator.conditions import timestamp
from edgegate_operator.controllers import guard
from edgegate_operator.controllers.routes import Seen, decide
from edgegate_operator.core.plan import Apply, Delete, Plan, Status
from edgegate_operator.kinds import Obj
from operator_objects import BELOW, NOW, PROJECT, cond, gateway, login_policy, obj, settings

NAME = "route-uid-shop-rule-0-backendref-0"
REF = {"group": "discovery.k8s.io", "kind": "EndpointSlice", "name": "shop-0-0", "port": 8080, "weight": 1}


def route(*refs: Obj, filters: list[Obj] | None = None, **parts: Any) -> Obj:
    rule: Obj = {"matches": [{"path": {"type": "PathPrefix", "value": "/"}}], "backendRefs": list(refs or [REF])}
    rule |= {"filters": filters} if filters else {}
    return obj(kinds.HTTP_ROUTE, "shop", spec={"parentRefs": [{"name": "shop"}], "rules": [rule]}, **parts)


def slice_(kind: str = "FQDN", scheme: str = "http", **parts: Any) -> Obj:
    made = obj(kinds.ENDPOINT_SLICE, "shop-0-0", **parts)
    made |= {"addressType": kind, "endpoints": [{"addresses": ["origin.test"]}]}
    return made | {"ports": [{"name": "httpproxy-0-0", "port": 8080, "appProtocol": scheme}]}


def seen(**parts: Any) -> Seen:
    return replace(Seen(PROJECT, route(), BELOW, attached=True, slices={"shop-0-0": slice_()}), **parts)


def plan(what: Seen) -> Plan:
    return decide(what, settings(), NOW)


def applied(found: Plan) -> dict[str, Obj]:
    return {s.obj["kind"]: s.obj for s in found.steps if isinstance(s, Apply) and not s.touch}


def deleted(found: Plan) -> list[tuple[str, str]]:
    return [(step.kind.kind, step.name) for step in found.steps if isinstance(step, Delete)]


def test_a_slice_becomes_a_headless_service_with_endpoints() -> None:
    made = applied(plan(seen()))
    (ref,) = made["HTTPRoute"]["spec"]["rules"][0]["backendRefs"]
    assert ref == {"group": "", "kind": "Service", "name": NAME, "port": 8080, "weight": 1}
    port = {"name": "httpproxy-0-0", "protocol": "TCP", "port": 8080}
    assert made["Service"]["spec"] == {"clusterIP": "None", "ports": [port]}
    assert made["EndpointSlice"]["metadata"]["labels"]["kubernetes.io/service-name"] == NAME
    assert (made["EndpointSlice"]["addressType"], made["EndpointSlice"]["ports"]) == ("FQDN", [port])


def test_backends_come_before_their_route_and_are_its_own_from_the_next_look_on() -> None:
    """A route without its Service is answered with 500."""

    def owners(found: Plan) -> list[str]:
        return [owner["kind"] for owner in applied(found)["Service"]["metadata"]["ownerReferences"]]

    first = plan(seen())
    assert [*applied(first)][-3:] == ["Service", "EndpointSlice", "HTTPRoute"]
    assert owners(first) == ["ConfigMap"]
    assert owners(plan(seen(below=applied(first)["HTTPRoute"]))) == ["HTTPRoute", "ConfigMap"]


def test_the_finalizer_comes_before_all_that_is_made() -> None:
    """A route that is deleted before it has one would leave the rest behind."""
    first = plan(seen()).steps[0]
    assert isinstance(first, Apply)
    assert (first.touch, first.obj["metadata"]["finalizers"]) == (True, [names.ROUTE_FINALIZER])


@pytest.mark.parametrize("by", ["annotation", "rule"])
def test_an_https_origin_gets_a_tls_policy(by: str) -> None:
    note = (
        {"annotations": {"networking.datumapis.com/backend-cert-hostname": "origin.test"}} if by == "annotation" else {}
    )
    rewrite = [{"type": "URLRewrite", "urlRewrite": {"hostname": "origin.test"}}] if by == "rule" else None
    what = seen(route=route(filters=rewrite), slices={"shop-0-0": slice_(scheme="https", metadata=note)})
    made = applied(plan(what))["BackendTLSPolicy"]
    assert made["apiVersion"] == "gateway.networking.k8s.io/v1"
    assert made["spec"]["targetRefs"] == [{"group": "", "kind": "Service", "name": NAME}]
    assert made["spec"]["validation"] == {"hostname": "origin.test", "wellKnownCACertificates": "System"}


def test_a_missing_slice_leads_to_a_service_that_does_not_exist() -> None:
    made = applied(plan(seen(slices={})))
    assert made["HTTPRoute"]["spec"]["rules"][0]["backendRefs"][0]["name"] == "shop-0-0"
    assert "Service" not in made


def test_a_backend_of_another_kind_stays_as_it_is() -> None:
    ref = {"group": "gateway.envoyproxy.io", "kind": "Backend", "name": "ext"}
    assert applied(plan(seen(route=route(ref))))["HTTPRoute"]["spec"]["rules"][0]["backendRefs"] == [ref]


def made_below(kind: kinds.Kind, name: str = NAME, **parts: Any) -> Obj:
    return obj(kind, name, BELOW, **parts)


def test_another_address_type_means_a_new_slice() -> None:
    old = made_below(kinds.ENDPOINT_SLICE, addressType="IPv4")
    found = plan(seen(made=(old,)))
    assert deleted(found) == [("EndpointSlice", NAME)]
    order = [
        type(s).__name__ for s in found.steps if getattr(s, "obj", {}).get("kind", "EndpointSlice") == "EndpointSlice"
    ]
    assert order == ["Delete", "Apply"]


def test_what_no_rule_needs_any_more_goes() -> None:
    old = (made_below(kinds.SERVICE, "old"), made_below(kinds.BACKEND_TLS, "old"), made_below(kinds.SERVICE))
    assert deleted(plan(seen(made=old))) == [("Service", "old"), ("BackendTLSPolicy", "old")]


@pytest.mark.parametrize(
    "why",
    [{"attached": False}, {"route": route(metadata={"deletionTimestamp": "x", "finalizers": [names.ROUTE_FINALIZER]})}],
)
def test_a_route_that_leaves_takes_everything_along(why: dict[str, Any]) -> None:
    marked = {"route": route(metadata={"finalizers": [names.ROUTE_FINALIZER]})}
    below = made_below(kinds.HTTP_ROUTE, "shop")
    found = plan(seen(**({"below": below, "made": (made_below(kinds.SERVICE),)} | marked | why)))
    assert deleted(found) == [("HTTPRoute", "shop"), ("Service", NAME), ("ConfigMap", "anchor-uid-shop")]
    last = found.steps[-1]
    assert isinstance(last, Apply)
    assert "finalizers" not in last.obj["metadata"]


def test_a_route_of_nobody_is_left_alone() -> None:
    assert plan(seen(attached=False)) == Plan()


def below_with(*conditions: Obj, generation: int = 1) -> Obj:
    made = made_below(kinds.HTTP_ROUTE, "shop", metadata={"generation": generation})
    parent = {
        "parentRef": {"name": "shop", "namespace": BELOW},
        "controllerName": "edge",
        "conditions": list(conditions),
    }
    return made | {"status": {"parents": [parent]}}


def parents(found: Plan) -> Any:
    return [step.status["parents"] for step in found.steps if isinstance(step, Status)]


def test_status_comes_back_in_our_name() -> None:
    ((parent,),) = parents(
        plan(seen(below=below_with(cond("Accepted"), cond("ResolvedRefs", "False", "BackendNotFound"))))
    )
    assert parent["controllerName"] == "gateway.networking.datumapis.com/external-global-proxy-controller"
    assert parent["parentRef"] == {"name": "shop"}
    seen_now = [(c["type"], c["status"], c["reason"]) for c in parent["conditions"]]
    assert seen_now == [("Accepted", "True", "Accepted"), ("ResolvedRefs", "False", "BackendNotFound")]


def test_status_of_an_older_form_does_not_come_back() -> None:
    assert parents(plan(seen(below=below_with(cond("Accepted", generation=1), generation=2)))) == []


# holding --------------------------------------------------------------------------------------------------------------


def test_a_held_route_answers_503_and_nothing_else() -> None:
    made = applied(plan(seen(held=("login",))))
    (rule,) = made["HTTPRoute"]["spec"]["rules"]
    ref = {"group": "gateway.envoyproxy.io", "kind": "HTTPRouteFilter", "name": "held-shop"}
    assert rule["filters"] == [{"type": "ExtensionRef", "extensionRef": ref}]
    assert "backendRefs" not in rule
    assert made["HTTPRouteFilter"]["spec"]["directResponse"]["statusCode"] == 503
    assert made["HTTPRoute"]["metadata"]["annotations"] == {names.HELD_ANNOTATION: "login"}


def test_the_filter_goes_when_the_route_is_released() -> None:
    old = made_below(kinds.HTTP_ROUTE_FILTER, "held-shop")
    assert deleted(plan(seen(made=(old,)))) == [("HTTPRouteFilter", "held-shop")]


def held(policy: Obj, *, has: bool = False, copy: Obj | None = None, held_now: bool = False) -> list[str]:
    copies = {"login": copy} if copy else {}
    return guard.holding(route(), [gateway()], [policy], copies, lambda name: has, held_now)


def copy_of(*conditions: Obj, generation: int = 1) -> Obj:
    made = login_policy(metadata={"generation": generation})
    return made | {"status": {"ancestors": [{"ancestorRef": {"name": "shop"}, "conditions": list(conditions)}]}}


@pytest.mark.parametrize(
    ("facts", "answer"),
    [
        ({}, ["login"]),
        ({"has": True}, []),
        ({"has": True, "held_now": True}, ["login"]),
        ({"has": True, "held_now": True, "copy": copy_of(cond("Accepted", "False", "Invalid"))}, ["login"]),
        ({"has": True, "held_now": True, "copy": copy_of(cond("Accepted"), generation=2)}, ["login"]),
        ({"has": True, "held_now": True, "copy": copy_of(cond("Accepted"))}, []),
        ({"has": False, "held_now": True, "copy": copy_of(cond("Accepted"))}, ["login"]),
    ],
)
def test_a_route_is_held_until_the_edge_has_taken_its_policy_over(facts: dict[str, Any], answer: list[str]) -> None:
    assert held(login_policy(), **facts) == answer


@pytest.mark.parametrize(("reason", "since"), [("PendingSecret", 3.0), ("Invalid", 0.0), (None, 0.0)])
def test_for_how_long_a_policy_has_been_held(reason: str | None, since: float) -> None:
    told = cond("Accepted", "False", reason or "") | {"lastTransitionTime": timestamp(NOW - 3)}
    policy = copy_of(told) if reason else login_policy()
    assert guard.held_since(policy, NOW) == since


def test_a_policy_that_leaves_holds_nothing() -> None:
    assert held(login_policy(metadata={"deletionTimestamp": "x"})) == []


def test_a_policy_of_another_gateway_holds_nothing() -> None:
    assert held(login_policy(target="other")) == []


@pytest.mark.parametrize(
    ("spec", "secrets"),
    [
        ({"oidc": {"clientSecret": {"name": "a"}, "clientIDRef": {"name": "b"}}}, ["a", "b"]),
        ({"basicAuth": {"users": {"name": "u"}}}, ["u"]),
        ({"apiKeyAuth": {"credentialRefs": [{"name": "k"}, {"name": "l"}, {"name": "k"}]}}, ["k", "l"]),
        ({"cors": {}}, []),
    ],
)
def test_every_way_to_name_a_secret_counts(spec: Obj, secrets: list[str]) -> None:
    assert guard.secret_names(obj(kinds.SECURITY_POLICY, "p", spec=spec)) == secrets


@pytest.mark.parametrize(
    ("selector", "answer"),
    [
        ({"matchLabels": {"team": "a"}}, True),
        ({"matchLabels": {"team": "b"}}, False),
        ({"matchExpressions": [{"key": "team", "operator": "In", "values": ["a", "b"]}]}, True),
        ({"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["a"]}]}, False),
        ({"matchExpressions": [{"key": "team", "operator": "Exists"}]}, True),
        ({"matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]}, False),
    ],
)
def test_policies_select_by_label_too(selector: Obj, answer: bool) -> None:
    spec = {"targetSelectors": [{"kind": "HTTPRoute"} | selector]}
    labelled = route(metadata={"labels": {"team": "a"}})
    assert guard.concerns(obj(kinds.SECURITY_POLICY, "p", spec=spec), labelled, []) is answer
