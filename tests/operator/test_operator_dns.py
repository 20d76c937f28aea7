"""DNS: zones, record sets, what PowerDNS is told, and who owns a name."""

from dataclasses import replace
from typing import Any

import pytest

from edgegate_operator import faults, kinds
from edgegate_operator.controllers import dnsrecordset_replicator, dnszone_replicator, rdata
from edgegate_operator.controllers.agent import Agent, Outcome, changes_for, lookups, owners
from edgegate_operator.controllers.dnsrecordset import status_of
from edgegate_operator.core.plan import Apply, Claim, Delete, Plan, Status
from edgegate_operator.core.powerdns import PowerDns, PowerDnsError
from edgegate_operator.kinds import Obj
from operator_objects import BELOW, NOW, PROJECT, cond, domain, obj, record_set, settings, with_conditions, zone

ZONE = "shop.test"


def cname(name: str, target: str = "x.edge.test", **parts: Any) -> Obj:
    return record_set(f"c-{name}", "CNAME", {"name": name, "cname": {"content": target}}, **parts)


def a(name: str, address: str = "10.0.0.1", record: str = "", **parts: Any) -> Obj:
    return record_set(record or f"a-{name}", "A", {"name": name, "a": {"content": address}}, **parts)


# contents -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        ("A", {"content": "10.0.0.1"}, "10.0.0.1"),
        ("CNAME", {"content": "x.test"}, "x.test."),
        ("NS", {"content": "x.test."}, "x.test."),
        ("TXT", {"content": 'v=1; p="a"'}, r'"v=1\; p=\"a\""'),
        ("TXT", {"content": '"quoted"'}, '"quoted"'),
        ("MX", {"preference": 10, "exchange": "mail.test"}, "10 mail.test."),
        ("SRV", {"priority": 1, "weight": 2, "port": 3, "target": "s.test"}, "1 2 3 s.test."),
        ("CAA", {"flag": 0, "tag": "issue", "value": "ca.test"}, '0 issue "ca.test"'),
        ("TLSA", {"usage": 3, "selector": 1, "matchingType": 1, "certData": "ab"}, "3 1 1 ab"),
        (
            "SOA",
            {"mname": "ns1.test", "rname": "h.test.", "serial": 5, "ttl": 60},
            "ns1.test. h.test. 5 10800 3600 604800 60",
        ),
        ("HTTPS", {"priority": 1, "target": "", "params": {"port": "8443", "alpn": "h2", "key9": "a b"}},
         '1 . alpn=h2 port=8443 key9="a b"'),
        ("SVCB", {"priority": 0, "target": "x.test", "params": {"alpn": "h2"}}, "0 x.test."),
    ],
)  # fmt: skip
def test_values_are_written_as_powerdns_wants_them(kind: str, value: Obj, text: str) -> None:
    assert rdata.contents(kind, [{"name": "x", kind.lower(): value}]) == [text]


def test_long_texts_are_cut_into_pieces() -> None:
    (text,) = rdata.contents("TXT", [{"txt": {"content": "a" * 300}}])
    assert text == f'"{"a" * 255}" "{"a" * 45}"'


def test_duplicates_go_and_a_cname_has_one_value() -> None:
    entries = [{"cname": {"content": name}} for name in ("x.test", "x.test.", "y.test")]
    assert rdata.contents("CNAME", entries) == ["x.test."]


@pytest.mark.parametrize("name", ["www", "WWW", "www.shop.test.", "WWW.Shop.Test."])
def test_a_name_is_one_place_however_it_is_written(name: str) -> None:
    assert rdata.fqdn(name, ZONE) == "www.shop.test."
    assert rdata.fqdn("@", ZONE) == "shop.test."


def test_the_first_entry_decides_the_ttl() -> None:
    entries = [{"a": {"content": "10.0.0.1"}, "ttl": 60}, {"a": {"content": "10.0.0.2"}, "ttl": 90}]
    assert rdata.replace("www.shop.test.", "A", entries)["ttl"] == 60
    assert rdata.replace("www.shop.test.", "A", [{"a": {"content": "10.0.0.1"}}])["ttl"] == 300


# ownership ------------------------------------------------------------------------------------------------------------


def test_the_oldest_owns_a_name_then_the_first() -> None:
    young = a("www", record="b", metadata={"creationTimestamp": "2026-02-01T00:00:00Z"})
    records = [young, a("www", record="z"), a("www.shop.test.", record="y")]
    assert owners(records, ZONE)["www.shop.test.", "A"]["metadata"]["name"] == "y"


def test_a_cname_and_other_types_exclude_each_other() -> None:
    assert set(owners([a("www"), cname("www")], ZONE)) == {("www.shop.test.", "A")}
    txt = record_set("t", "TXT", {"name": "www", "txt": {"content": "x"}})
    assert set(owners([a("www"), txt], ZONE)) == {("www.shop.test.", "A"), ("www.shop.test.", "TXT")}


def test_lookups_meet_for_every_spelling() -> None:
    assert set(lookups(a("www"))) == {"tenant-a/shop-test/www"}
    assert "tenant-a/shop-test/www" in set(lookups(a("www.shop.test.")))
    assert "tenant-a/shop-test/@" in set(lookups(a("shop.test.")))


def kinds_of(changes: list[Obj]) -> list[tuple[str, str]]:
    return [(change["type"], change["changetype"]) for change in changes]


def test_a_new_name_is_written_and_an_unchanged_one_is_not() -> None:
    found = changes_for(a("www"), [a("www")], ZONE, {})
    assert (found.removals, kinds_of(found.replacements)) == ([], [("A", "REPLACE")])
    written = {("www.shop.test.", "A"): found.replacements[0]}
    assert changes_for(a("www"), [a("www")], ZONE, written).replacements == []


def test_another_type_is_written_with_the_removal_of_the_old_one() -> None:
    written = {("www.shop.test.", "A"): rdata.replace("www.shop.test.", "A", [{"a": {"content": "10.0.0.1"}}])}
    now = cname("www")
    found = changes_for(now, [now], ZONE, written)
    assert kinds_of(found.removals) == [("A", "DELETE")]
    assert kinds_of(found.replacements) == [("CNAME", "REPLACE")]


def test_a_name_that_left_the_record_set_is_removed_also_after_a_restart() -> None:
    now = a("new") | {"status": {"recordSets": [{"name": "old"}, {"name": "new"}]}}
    found = changes_for(now, [now], ZONE, {})
    assert [(change["name"], change["changetype"]) for change in found.removals] == [("old.shop.test.", "DELETE")]


def test_a_deleted_record_set_gives_its_name_to_the_next() -> None:
    gone, heir = a("www"), cname("www")
    found = changes_for(
        gone, [heir], ZONE, {("www.shop.test.", "A"): rdata.delete("x", "A") | {"changetype": "REPLACE"}}
    )
    assert kinds_of(found.removals) == [("A", "DELETE")]


@pytest.mark.parametrize(
    ("other", "reason"),
    [(a("www", record="a0"), "NotOwner"), (cname("www", metadata={"creationTimestamp": "2020"}), "Conflict")],
)
def test_who_does_not_get_a_name_is_told_why(other: Obj, reason: str) -> None:
    mine = a("www", record="mine")
    assert changes_for(mine, [mine, other], ZONE, {}).lost["www.shop.test.", "A"].reason == reason


# the agent ------------------------------------------------------------------------------------------------------------


class FakePowerDns(PowerDns):
    """Refuses the types that it is told to refuse."""

    def __init__(self, **refusals: PowerDnsError) -> None:
        self.calls: list[list[tuple[str, str]]] = []
        self.refusals = refusals

    def change(self, zone: str, changes: list[Any]) -> None:
        self.calls.append(kinds_of(changes))
        for change in changes:
            if change["type"] in self.refusals:
                raise self.refusals[change["type"]]


CONFLICT = PowerDnsError("PATCH", 422, "RRset www.shop.test. IN CNAME: Conflicts with pre-existing RRset")
BROKEN = PowerDnsError("PATCH", 500, "backend")


def test_removals_and_replacements_go_in_one_call() -> None:
    server, now = FakePowerDns(), cname("www")
    agent = Agent(server)
    old = rdata.replace("www.shop.test.", "A", [{"a": {"content": "10.0.0.1"}}])
    agent.written[ZONE] = {("www.shop.test.", "A"): old}
    agent.tell(ZONE, changes_for(now, [now], ZONE, agent.written[ZONE]))
    assert server.calls == [[("A", "DELETE"), ("CNAME", "REPLACE")]]
    assert agent.written[ZONE]["www.shop.test.", "A"]["changetype"] == "DELETE"


def test_what_powerdns_refuses_is_found_out_one_by_one() -> None:
    server = FakePowerDns(CNAME=CONFLICT)
    both = changes_for(cname("www"), [cname("www")], ZONE, {})
    both.replacements.append(rdata.replace("ok.shop.test.", "A", [{"a": {"content": "10.0.0.1"}}]))
    outcomes = Agent(server).tell(ZONE, both)
    assert {place[0]: outcome.reason for place, outcome in outcomes.items()} == {
        "www.shop.test.": "Conflict",
        "ok.shop.test.": "Programmed",
    }


def test_an_error_of_the_server_is_not_a_conflict() -> None:
    outcomes = Agent(FakePowerDns(A=BROKEN)).tell(ZONE, changes_for(a("www"), [a("www")], ZONE, {}))
    assert [(o.reason, o.text) for o in outcomes.values()] == [("PDNSError", "PowerDNS: PATCH: 500: backend")]


def test_fault_swap_gap_removes_first_and_writes_later() -> None:
    server, now = FakePowerDns(), cname("www")
    agent = Agent(server, gap=True, pause=lambda seconds: None)
    old = rdata.replace("www.shop.test.", "A", [{"a": {"content": "10.0.0.1"}}])
    agent.tell(ZONE, changes_for(now, [now], ZONE, {("www.shop.test.", "A"): old}))
    assert server.calls == [[("A", "DELETE")], [("CNAME", "REPLACE")]]


def test_fault_agent_saturation_takes_its_time_for_each_change() -> None:
    waited: list[float] = []
    agent = Agent(FakePowerDns(), slow=True, pause=waited.append)
    agent.tell(ZONE, changes_for(a("www"), [a("www")], ZONE, {}))
    assert waited == [0.05]


def test_status_has_every_owner_name() -> None:
    outcomes = {"b": Outcome("Conflict", "taken"), "a": Outcome("Programmed", "Served")}
    found = status_of(a("a"), outcomes, True, "Accepted", NOW)
    assert [item["name"] for item in found["recordSets"]] == ["a", "b"]
    assert {c["type"]: (c["status"], c["reason"]) for c in found["conditions"]} == {
        "Accepted": ("True", "Accepted"),
        "Programmed": ("False", "Pending"),
    }
    assert found["conditions"][1]["message"] == "Not served: b"


def test_what_waits_has_no_programmed_condition() -> None:
    found = status_of(a("a"), {}, False, "The zone does not exist", NOW)
    assert [(c["type"], c["status"], c["reason"]) for c in found["conditions"]] == [("Accepted", "False", "Pending")]


# replicators ----------------------------------------------------------------------------------------------------------

KLASS = obj(kinds.DNS_ZONE_CLASS, "pdns", spec={"controllerName": "powerdns"})


def claim(owner: str) -> Obj:
    return obj(kinds.CONFIG_MAP, ZONE, "claims", data={"owner": owner})


def zone_seen(**parts: Any) -> dnszone_replicator.Seen:
    base = dnszone_replicator.Seen(
        PROJECT, zone("shop-test"), BELOW, klass=KLASS, claim=claim("single/tenant-a/shop-test")
    )
    return replace(base, **parts)


def zone_plan(what: dnszone_replicator.Seen, *switched_on: str) -> Plan:
    return dnszone_replicator.decide(what, settings(*switched_on), NOW)


def zone_condition(found: Plan, kind: str) -> tuple[str, str]:
    (status,) = [step.status for step in found.steps if isinstance(step, Status)]
    return next((c["status"], c["reason"]) for c in status["conditions"] if c["type"] == kind)


BELOW_ZONE = obj(kinds.DNS_ZONE, "shop-test", BELOW, status={"nameservers": ["ns1.edge.test", "ns2.edge.test"]})


def served_records(programmed: str = "True") -> tuple[Obj, ...]:
    return tuple(
        with_conditions(record_set(k, k, {"name": "@"}), cond("Programmed", programmed)) for k in ("SOA", "NS")
    )


def test_a_zone_has_a_shadow_and_a_domain() -> None:
    made = [step.obj for step in zone_plan(zone_seen()).steps if isinstance(step, Apply | Claim)]
    assert [item["kind"] for item in made] == ["DNSZone", "Namespace", "ConfigMap", "DNSZone", "Domain"]
    assert made[3]["metadata"]["annotations"]["meta.datumapis.com/upstream-name"] == "shop-test"
    assert made[3]["metadata"]["ownerReferences"][0]["name"] == "anchor-uid-shop-test"


def test_a_zone_waits_for_its_class() -> None:
    found = zone_plan(zone_seen(klass=None))
    assert zone_condition(found, "Accepted") == ("False", "Pending")
    assert [s for s in found.steps if isinstance(s, Apply) and not s.touch] == []


def test_a_zone_that_another_holds_is_in_use() -> None:
    found = zone_plan(zone_seen(claim=claim("other/x/y")))
    assert zone_condition(found, "Programmed") == ("False", "DNSZoneInUse")


def test_a_zone_gets_soa_and_ns_unless_it_has_them() -> None:
    made = [s.obj["metadata"]["name"] for s in zone_plan(zone_seen(below=BELOW_ZONE)).steps if isinstance(s, Claim)]
    assert made[-2:] == ["shop-test-soa", "shop-test-ns"]
    own = [
        s.obj["kind"]
        for s in zone_plan(zone_seen(below=BELOW_ZONE, records=served_records())).steps
        if isinstance(s, Claim)
    ]
    assert "DNSRecordSet" not in own


def test_a_zone_is_programmed_when_soa_and_ns_are_served() -> None:
    early = zone_seen(below=BELOW_ZONE, records=served_records("False"))
    assert zone_condition(zone_plan(early), "Programmed") == ("False", "Pending")
    assert zone_condition(zone_plan(early, faults.ZONE_PROGRAMMED_EARLY), "Programmed") == ("True", "Programmed")
    served = zone_seen(below=BELOW_ZONE, records=served_records(), domain=domain(ZONE))
    assert zone_condition(zone_plan(served), "Programmed") == ("True", "Programmed")
    (status,) = [step.status for step in zone_plan(served).steps if isinstance(step, Status)]
    assert status["recordCount"] == 2
    assert status["domainRef"] == {"name": ZONE, "status": {"nameservers": [{"hostname": "ns1.edge.test"}]}}


def test_a_deleted_zone_keeps_its_claim_until_its_shadow_is_gone() -> None:
    gone = zone("shop-test")
    gone["metadata"] |= {"deletionTimestamp": "x", "finalizers": [dnszone_replicator.FINALIZER]}
    first = zone_plan(zone_seen(zone=gone, below=BELOW_ZONE))
    assert [s.kind.kind for s in first.steps if isinstance(s, Delete)] == ["DNSZone"]
    then = zone_plan(zone_seen(zone=gone))
    assert next((s.kind.kind, s.name) for s in then.steps if isinstance(s, Delete)) == ("ConfigMap", ZONE)
    kept = zone_plan(zone_seen(zone=gone), faults.ZONE_CLAIM_KEPT)
    assert ("ConfigMap", ZONE) not in [(s.kind.kind, s.name) for s in kept.steps if isinstance(s, Delete)]


def record_plan(**parts: Any) -> Plan:
    base = dnsrecordset_replicator.Seen(PROJECT, a("www"), BELOW, zone=zone("shop-test"))
    return dnsrecordset_replicator.decide(replace(base, **parts), NOW)


def test_a_record_set_before_its_zone_says_what_it_waits_for() -> None:
    found = record_plan(zone=None)
    (status,) = [step.status for step in found.steps if isinstance(step, Status)]
    assert status["conditions"][0]["message"] == "DNSZone 'shop-test' does not exist"


def test_a_record_set_whose_zone_went_keeps_its_owner() -> None:
    marked = a("www", metadata={"finalizers": [dnsrecordset_replicator.FINALIZER]})
    assert [s for s in record_plan(zone=None, record=marked).steps if isinstance(s, Apply)] == []


def test_a_record_set_is_shown_to_people_and_copied() -> None:
    made = {s.touch: s.obj for s in record_plan().steps if isinstance(s, Apply)}
    assert made[True]["metadata"]["annotations"] == {
        "dns.networking.miloapis.com/display-name": "www.shop.test",
        "dns.networking.miloapis.com/display-value": "10.0.0.1",
    }
    assert made[False]["spec"] == a("www")["spec"]


def test_a_record_set_has_its_finalizer_before_its_shadow() -> None:
    first = record_plan().steps[0]
    assert isinstance(first, Apply)
    assert (first.touch, first.obj["metadata"]["finalizers"]) == (True, [dnsrecordset_replicator.FINALIZER])


def test_the_status_of_the_shadow_comes_back_word_for_word() -> None:
    below = with_conditions(a("www"), cond("Programmed", "False", "Conflict"))
    (status,) = [s.status for s in record_plan(below=below).steps if isinstance(s, Status)]
    assert status == below["status"]


def test_a_deleted_record_set_waits_for_its_shadow() -> None:
    leaving = a("www", metadata={"deletionTimestamp": "x", "finalizers": [dnsrecordset_replicator.FINALIZER]})
    first = record_plan(record=leaving, below=a("www"))
    assert [type(s).__name__ for s in first.steps] == ["Delete"]
    assert [type(s).__name__ for s in record_plan(record=leaving).steps] == ["Delete", "Apply"]
