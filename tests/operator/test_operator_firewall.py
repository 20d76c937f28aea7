"""Firewall policies on their way to the edge: which governs a route, what the firewall is told, what is attached."""

import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from edgegate_operator import faults, kinds
from edgegate_operator.controllers import firewall, firewallattachments, firewalldecision
from edgegate_operator.controllers.firewallattachments import Seen
from edgegate_operator.core.firewall import Firewall, FirewallError, InForce
from edgegate_operator.core.plan import Apply, Delete, Plan, Status
from edgegate_operator.kinds import Obj
from operator_objects import BELOW, EARLIER, NOW, PROJECT, SPACE, cond, obj, settings

PLACE = {"firewall": {"url": "http://firewall.test", "host": "192.0.2.7", "port": 9002}}
LATER = "2026-02-01T00:00:00Z"


def tpp(name: str, kind: str = "Gateway", target: str = "shop", created: str = EARLIER, **spec: Any) -> Obj:
    ref = {"group": "gateway.networking.k8s.io", "kind": kind, "name": target}
    rules = [{"type": "OWASPCoreRuleSet", "owaspCoreRuleSet": {"paranoiaLevels": spec.pop("levels", {})}}]
    full = {"targetRefs": [ref], "mode": "Enforce", "ruleSets": rules, **spec}
    return obj(kinds.TRAFFIC_PROTECTION_POLICY, name, spec=full, metadata={"creationTimestamp": created})


INVERTED = {"blocking": 3, "detection": 1}


def seen(*policies: Obj, **parts: Any) -> Seen:
    routes = {"shop": ["shop"], "other": ["shop"], "alone": ["elsewhere"]}
    return Seen(PROJECT, SPACE, BELOW, list(policies), routes, frozenset({"shop", "elsewhere"}), **parts)


def told(found: Seen, *on: str) -> dict[str, str]:
    config = firewalldecision.config_for(found, settings(*on, **PLACE))
    return {one["prefix"]: one["policy"] for one in config["routes"]}


def test_a_route_has_its_own_policy_before_that_of_its_gateway() -> None:
    found = told(seen(tpp("gate"), tpp("own", "HTTPRoute", "other")))
    assert found == {
        f"httproute/{BELOW}/shop/": f"{BELOW}/gate",
        f"httproute/{BELOW}/other/": f"{BELOW}/own",
        f"httproute/{BELOW}/": f"{BELOW}/-",
    }


def test_the_oldest_counts_and_an_invalid_one_silences_nobody() -> None:
    policies = [tpp("bad", levels=INVERTED), tpp("new", created=LATER), tpp("newer", created="2026-03-01T00:00:00Z")]
    assert told(seen(*policies))[f"httproute/{BELOW}/shop/"] == f"{BELOW}/new"
    assert f"httproute/{BELOW}/shop/" not in told(seen(*policies), faults.INVALID_SHADOWS)


def test_faults_turn_the_order_round() -> None:
    both = seen(tpp("gate"), tpp("own", "HTTPRoute", "other"))
    assert told(both, faults.WAF_GATEWAY_FIRST)[f"httproute/{BELOW}/other/"] == f"{BELOW}/gate"
    two = seen(tpp("old"), tpp("new", created=LATER))
    assert told(two)[f"httproute/{BELOW}/shop/"] == f"{BELOW}/old"
    assert told(two, faults.WAF_NEWEST_WINS)[f"httproute/{BELOW}/shop/"] == f"{BELOW}/new"


def test_a_policy_is_told_with_its_generation_and_all_its_fields() -> None:
    policy = tpp("a", levels={"blocking": 2, "detection": 3}, samplingPercentage=10)
    policy["metadata"]["generation"] = 4
    first, empty = firewalldecision.config_for(seen(policy), settings(**PLACE))["policies"]
    assert first == {
        "name": f"{BELOW}/a",
        "generation": 4,
        "mode": "Enforce",
        "samplingPercentage": 10,
        "paranoiaLevels": {"blocking": 2, "detection": 3},
    }
    assert empty == {"name": f"{BELOW}/-", "mode": "Disabled"}


def decided(found: Seen, *on: str, **in_force: InForce) -> Plan:
    return firewalldecision.decide(found, in_force, settings(*on, **PLACE), NOW)


def attached(*policies: Obj, accepted: str = "True", opens: bool = False, form: str = "") -> dict[str, Obj]:
    """Return what there is of the attachments that some policies have when nothing is attached yet."""
    there = {}
    for step in decided(seen(*policies), *([form] if form else [])).steps:
        if isinstance(step, Apply) and step.obj["kind"] != "Backend":
            made = json.loads(json.dumps(step.obj))
            made["spec"]["extProc"][0]["failOpen"] = opens
            made["metadata"]["generation"] = 1
            made["status"] = {"ancestors": [{"conditions": [cond("Accepted", accepted)]}]}
            there[made["metadata"]["name"]] = made
    return there


def attachments(plan: Plan) -> dict[str, bool | None]:
    """Return the attachments that a plan changes: whether it is to be open, None where it goes."""
    found: dict[str, bool | None] = {}
    for step in plan.steps:
        if isinstance(step, Apply) and step.obj["kind"] != "Backend":
            found[step.obj["metadata"]["name"]] = step.obj["spec"]["extProc"][0]["failOpen"]
        if isinstance(step, Delete) and step.kind == kinds.ENVOY_EXTENSION_POLICY:
            found[step.name] = None
    return found


def test_the_proxy_is_told_where_the_firewall_is() -> None:
    backend, attachment = [step.obj for step in decided(seen(tpp("a"))).steps if isinstance(step, Apply)]
    assert backend["spec"] == {"endpoints": [{"ip": {"address": "192.0.2.7", "port": 9002}}]}
    assert attachment["spec"]["targetRefs"][0]["name"] == "shop"
    (processor,) = attachment["spec"]["extProc"]
    assert processor["processingMode"] == {"request": {"attributes": firewallattachments.ATTRIBUTES}}
    shut = next(iter(attached(tpp("a"), form=faults.WAF_ATTACHED_SHUT).values()))
    modes = shut["spec"]["extProc"][0]["processingMode"]
    assert [one["body"] for one in modes.values()] == ["FullDuplexStreamed", "FullDuplexStreamed"]


def test_an_attachment_is_shut_once_the_proxy_has_it() -> None:
    one, name = tpp("a"), "firewall-gateway-shop"
    assert attachments(decided(seen(one))) == {name: True}
    assert attachments(decided(seen(one, attached=attached(one, accepted="Unknown", opens=True)))) == {name: True}
    assert attachments(decided(seen(one, attached=attached(one, opens=True)))) == {name: False}
    assert attachments(decided(seen(one, attached=attached(one, accepted="Unknown")))) == {name: False}
    assert attachments(decided(seen(one), faults.WAF_ATTACHED_SHUT)) == {name: False}
    assert attachments(decided(seen(one, attached=attached(one)), faults.WAF_FAIL_OPEN)) == {name: True}


def opened(ago: float, *policies: Obj, **form: Any) -> dict[str, Obj]:
    """Return attachments that were opened some seconds ago, because they go."""
    there = attached(*policies, opens=True, **form)
    for one in there.values():
        one["metadata"]["annotations"] = {firewallattachments.OPENED: str(NOW - ago)}
    return there


def test_an_attachment_is_open_before_it_goes() -> None:
    one, name = tpp("a"), "firewall-gateway-shop"
    backend = obj(kinds.BACKEND, firewallattachments.BACKEND_NAME, BELOW)
    disabled = tpp("a", mode="Disabled")
    assert attachments(decided(seen(attached=attached(one)))) == {name: True}
    assert attachments(decided(seen(attached=attached(one, opens=True)))) == {name: True}
    assert attachments(decided(seen(attached=opened(9, one, accepted="Unknown")))) == {}
    waits = decided(seen(attached=opened(0.5, one)))
    assert attachments(waits) == {}
    assert waits.after == pytest.approx(1.5)
    assert attachments(decided(seen(attached=opened(9, one)))) == {name: None}
    assert attachments(decided(seen(disabled, attached=opened(9, one)))) == {name: None}
    assert attachments(decided(seen(one, attached=opened(0.5, one)))) == {name: False}
    assert attachments(decided(seen(attached=attached(one)), faults.WAF_ATTACHED_SHUT)) == {name: None}
    assert attachments(decided(seen(attached=attached(one, accepted="False")))) == {name: None}
    orphan = tpp("a", target="gone")
    assert attachments(decided(seen(attached=attached(orphan)))) == {"firewall-gateway-gone": None}
    left = decided(seen(backend=backend)).steps
    assert [step.name for step in left if isinstance(step, Delete)] == [firewallattachments.BACKEND_NAME]
    assert not [s for s in decided(seen(backend=backend, attached=attached(one))).steps if isinstance(s, Delete)]


def test_what_asks_already_is_left_alone() -> None:
    gate, own, alone = tpp("gate"), tpp("own", "HTTPRoute", "other"), tpp("alone", "HTTPRoute", "alone")
    assert set(attachments(decided(seen(gate, own, alone)))) == {"firewall-gateway-shop", "firewall-httproute-alone"}
    assert set(attachments(decided(seen(own)))) == {"firewall-httproute-other"}
    # The route's was there first: it stays beside its Gateway's.
    assert set(attachments(decided(seen(gate, own, attached=attached(own))))) == {
        "firewall-gateway-shop",
        "firewall-httproute-other",
    }
    # The Gateway's policy goes, and its attachment stays for the route's.
    assert attachments(decided(seen(own, attached=attached(gate)))) == {"firewall-gateway-shop": False}
    assert attachments(decided(seen(own, attached=attached(gate)), faults.WAF_GATEWAY_LET_GO)) == {
        "firewall-httproute-other": True,
        "firewall-gateway-shop": True,
    }
    assert set(attachments(decided(seen(own, attached=attached(gate)), faults.WAF_ROUTE_SWAPPED))) == {
        "firewall-gateway-shop",
        "firewall-httproute-other",
    }


@pytest.mark.parametrize(
    ("in_force", "there", "answer"),
    [
        ({}, {}, ("False", "Pending")),
        ({"a": InForce(1)}, {}, ("True", "Programmed")),
        ({"a": InForce(1)}, {"accepted": "False"}, ("False", "Pending")),
        ({"a": InForce(1)}, {"opens": True}, ("False", "Pending")),
        ({"a": InForce(0, "no such directive")}, {}, ("False", "Invalid")),
    ],
)
def test_programmed_is_what_both_have(
    in_force: dict[str, InForce], there: dict[str, Any], answer: tuple[str, str]
) -> None:
    policy = tpp("a")
    copy = policy | {"metadata": policy["metadata"] | {"generation": 7}}
    found = decided(seen(policy, copies={"a": copy}, attached=attached(policy, **there)), **in_force)
    (status,) = [step for step in found.steps if isinstance(step, Status)]
    (ancestor,) = status.status["ancestors"]
    (condition,) = ancestor["conditions"]
    assert (condition["status"], condition["reason"]) == answer
    assert condition["observedGeneration"] == 7


def test_a_route_is_programmed_by_way_of_its_gateways_attachment() -> None:
    gate, own = tpp("gate"), tpp("own", "HTTPRoute", "other")
    copies = {one["metadata"]["name"]: one for one in (gate, own)}
    found = decided(seen(gate, own, copies=copies, attached=attached(gate)), gate=InForce(1), own=InForce(1))
    told = [s.status["ancestors"][0]["conditions"][0]["status"] for s in found.steps if isinstance(s, Status)]
    assert told == ["True", "True"]


def test_nothing_is_said_of_a_copy_that_is_not_the_present_one() -> None:
    policy = tpp("a")
    stale = {"a": policy | {"spec": {}}}
    assert not [step for step in decided(seen(policy, copies=stale)).steps if isinstance(step, Status)]


class Recorder(BaseHTTPRequestHandler):
    """Stands for the firewall's admin interface."""

    calls: list[tuple[str, str]] = []  # noqa: RUF012 - emptied by the fixture
    status = 200

    def do_PUT(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"])).decode()
        self.calls.append((self.path, body))
        name = f"{BELOW}/a"
        answer = {"policies": [{"name": name, "appliedGeneration": 1, "mistake": {"message": "m"}}]}
        content = json.dumps(answer).encode() if self.status == 200 else b"no\n"
        self.send_response(self.status)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def admin() -> Iterator[str]:
    """Return the URL of such an interface."""
    Recorder.calls, Recorder.status = [], 200
    with HTTPServer(("127.0.0.1", 0), Recorder) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_the_firewall_is_told_once_of_each_change(admin: str) -> None:
    talk = firewall.Told(Firewall(admin, ["empty-error"]))
    config = firewalldecision.config_for(seen(tpp("a")), settings(**PLACE))
    for _ in range(2):
        assert talk.tell(BELOW, config, stale=False) == {"a": InForce(1, "m")}
    changed = replace(seen(tpp("a", mode="Observe")))
    talk.tell(BELOW, firewalldecision.config_for(changed, settings(**PLACE)), stale=False)
    assert [path for path, _ in Recorder.calls] == ["/faults", f"/policies/{BELOW}", f"/policies/{BELOW}"]
    assert Recorder.calls[0][1] == "empty-error"


def test_with_a_fault_a_change_of_mode_is_claimed_and_not_told(admin: str) -> None:
    talk = firewall.Told(Firewall(admin))
    talk.tell(BELOW, firewalldecision.config_for(seen(tpp("a")), settings(**PLACE)), stale=True)
    edited = tpp("a", mode="Observe")
    edited["metadata"]["generation"] = 2
    found = talk.tell(BELOW, firewalldecision.config_for(seen(edited), settings(**PLACE)), stale=True)
    assert found["a"] == InForce(2)
    assert len(Recorder.calls) == 2


def test_with_a_fault_policies_of_one_name_are_those_of_the_project_that_came_first(admin: str) -> None:
    talk = firewall.Told(Firewall(admin))
    ours = {"policies": [{"name": "ns-1/a", "generation": 1, "mode": "Enforce"}], "routes": []}
    theirs = {"policies": [{"name": "ns-2/a", "generation": 5, "mode": "Observe"}], "routes": []}
    assert talk.by_name("shop", "ns-1", ours) == ours
    (other,) = talk.by_name("shop", "ns-2", theirs)["policies"]
    assert other == {"name": "ns-2/a", "generation": 5, "mode": "Enforce"}
    assert talk.by_name("other", "ns-2", theirs) == theirs


def test_a_refusal_is_an_error(admin: str) -> None:
    Recorder.status = 400
    with pytest.raises(FirewallError, match="firewall: PUT /faults: 400: no"):
        Firewall(admin).put(BELOW, {})
    with pytest.raises(FirewallError, match="no answer: NewConnectionError"):
        Firewall("http://127.0.0.1:1").put(BELOW, {})
