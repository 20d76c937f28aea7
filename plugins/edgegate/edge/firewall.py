"""Firewall policies of customers, and what the firewall itself says of them, as scenarios use both."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import httpx

from edgegate.clock import MONOTONIC, wait_until
from edgegate.clusters import kinds
from edgegate.clusters.kinds import Ref
from edgegate.clusters.plane import Manifest
from edgegate.components import ladder, waf
from edgegate.components.launch import Launch
from edgegate.edge.asking import wait_for_answer
from edgegate.edge.customer import Customer
from edgegate.edge.http_proxy import Backend, HttpProxy
from edgegate.errors import EnvironmentFault, MetricsUnreachable, NotShown, PlaneRefused
from edgegate.probes.ladder import Body, Place, Reply, Rung, climb, differences
from edgegate.records import Answer, Source
from edgegate.report.gate import Gate

ATTACK = "/?q=%3Cscript%3Ealert(1)%3C/script%3E"
"""Blocked by the rule set at paranoia level 1; nothing else on the way minds it."""
TWIN = "/bytes/20000?q=a+%3C+b+and+b+%3E+c"
"""Looks like it, and is harmless; the origin answers with 20,000 bytes."""
BLOCKED = 403
_LINE = re.compile(r"(\w+)\{([^}]*)\} (\S+)")
_LABEL = re.compile(r'(\w+)="([^"]*)"')
_KIB = 1024
PAGES = (0, 1, 32 * _KIB + 1, 200 * _KIB, 600 * _KIB)
"""Bytes of inspected pages; the rules see 512 KiB of one."""


class WafPolicy:
    """One TrafficProtectionPolicy; made by the fixture `waf_policy`."""

    def __init__(self, name: str, customer: Customer, targets: Sequence[Ref], spec: Manifest) -> None:
        self.customer, self.ref = customer, customer.ref(kinds.TRAFFIC_PROTECTION_POLICY, name)
        refs = [{"group": "gateway.networking.k8s.io", "kind": one.kind.name, "name": one.name} for one in targets]
        self.spec: Manifest = {"targetRefs": refs, **spec}

    def __repr__(self) -> str:
        return f"policy {self.ref.namespace}/{self.ref.name}"

    @property
    def manifest(self) -> Manifest:
        """What is created."""
        return self.ref.manifest(self.spec)

    def create(self) -> None:
        """Create it."""
        self.customer.upstream.create(self.manifest)

    def edit(self, **changes: object) -> int:
        """Let the customer want something else, such as `mode`; return the generation that has it."""
        self.spec |= changes
        return int(self.customer.upstream.patch(self.ref, {"spec": changes})["metadata"]["generation"])

    def remove(self, within: float) -> None:
        """Delete it and return when it is gone."""
        self.customer.upstream.delete_and_wait(self.ref, within=within)

    def wait_told(self, condition: str, status: str, within: float, *, reason: str = "") -> Manifest:
        """Return the policy as soon as it says so of its present generation, for every target. Raises NeverReady."""

        def told(found: Manifest | None) -> bool:
            generation = (found or {}).get("metadata", {}).get("generation")
            seen = [
                one
                for ancestor in ((found or {}).get("status") or {}).get("ancestors") or []
                for one in ancestor.get("conditions") or []
                if one["type"] == condition and one.get("observedGeneration") == generation
            ]
            return bool(seen) and all(one["status"] == status and reason in ("", one["reason"]) for one in seen)

        what = f"{self!r} says {condition}={status} {reason}".strip()
        return self.customer.upstream.wait(self.ref, told, what=what, within=within) or {}


@dataclass(frozen=True)
class Flip:
    """How long a change of a policy took, in seconds, seen in three ways."""

    applied: float
    """Until the firewall said that it has that generation."""
    wire: float
    """Until a request was answered accordingly."""
    told: float
    """Until the policy said that it is programmed."""


class Firewall:
    """The firewall of one edge."""

    def __init__(self, launch: Launch) -> None:
        """Take what is needed to ask it.

        Raises:
            NotShown: the edge was made without the part `waf`.
        """
        if waf.NAME not in launch.parts:
            raise NotShown("this edge was made without the part 'waf', so nobody inspects requests in it")
        self._launch = launch
        self._url = f"{waf.admin_url(launch.lab.net)}/metrics"

    @property
    def page_origin(self) -> Backend:
        """An origin that answers with pages of any size; needs the part `ladder`."""
        return Backend(f"http://{ladder.address(self._launch.lab.net)}")

    def metric(self, name: str, policy: WafPolicy, **labels: str) -> float:
        """Return what it counts about a policy; 0 while there is nothing.

        Raises:
            MetricsUnreachable: it does not answer.
        """
        try:
            text = httpx.get(self._url, timeout=5).raise_for_status().text
        except httpx.HTTPError as error:
            raise MetricsUnreachable(self._url, reason=str(error)) from error
        wanted = {"namespace": policy.customer.below, "name": policy.ref.name, **labels}
        for line in text.splitlines():
            found = _LINE.fullmatch(line)
            if found and found[1] == name and wanted.items() <= dict(_LABEL.findall(found[2])).items():
                return float(found[3])
        return 0.0

    def applied(self, policy: WafPolicy) -> int:
        """Return the generation of a policy that it has in force; 0 for none."""
        return int(self.metric("edgegate_waf_policy_applied_generation", policy))

    def requests(self, policy: WafPolicy, verdict: str) -> int:
        """Return how many requests it has judged so: `passed`, `detected`, `blocked`, `refused`."""
        return int(self.metric("edgegate_waf_requests_total", policy, verdict=verdict))

    def wait_status(self, proxy: HttpProxy, host: str, status: int, within: float) -> None:
        """Return once an attack on a proxy is answered with a status. Raises NeverReady."""
        with proxy.probe(host) as probe:
            what = f"an attack on {host} is answered {status}"
            wait_for_answer(probe, lambda answer: answer.status == status, what=what, within=within, path=ATTACK)

    def wait_detected(self, policy: WafPolicy, proxy: HttpProxy, host: str, within: float) -> None:
        """Return once the firewall has noticed an attack on a proxy by a policy. Raises NeverReady."""
        with proxy.probe(host) as probe:

            def noticed() -> bool:
                return probe.get(ATTACK).status is not None and self.requests(policy, "detected") > 0

            wait_until(f"{policy!r} notices an attack", noticed, deadline=within, every=0.05)

    def flip(self, policy: WafPolicy, proxy: HttpProxy, host: str, mode: str, status: int, within: float) -> Flip:
        """Change a policy's mode and return how long it took until attacks are answered with a status.

        Raises:
            NeverReady: one of the three did not come within that many seconds.
        """
        began = MONOTONIC.now()
        generation = policy.edit(mode=mode)
        wait_until(
            f"{policy!r} applied in generation {generation}",
            lambda: self.applied(policy) >= generation,
            deadline=within,
            last=lambda: f"generation {self.applied(policy)}",
        )
        applied = MONOTONIC.now()
        self.wait_status(proxy, host, status, within)
        wire = MONOTONIC.now()
        policy.wait_told("Programmed", "True", within)
        return Flip(applied - began, wire - began, MONOTONIC.now() - began)

    def wait_pages(self, proxy: HttpProxy, host: str, within: float) -> None:
        """Return once a proxy leads to the origin of pages. Raises NeverReady."""
        with proxy.probe(host) as probe:
            what = f"{host} leads to the origin of pages"
            wait_for_answer(probe, proxy.serves, what=what, within=within, path="/healthz")

    def judge_pages(self, gate: Gate, proxy: HttpProxy, host: str) -> None:
        """Compare pages of many sizes with what their origin sends, and add what differs to the gate.

        Raises:
            EnvironmentFault: the origin itself did not answer as it was told.
        """
        rungs = [Rung(f"page of {size} bytes", "/answer/a", answer=Reply(Body(size, "text/html"))) for size in PAGES]
        program = self._launch.artifacts[ladder.NAME].binary(ladder.NAME)
        there = climb(program, Place(ladder.address(self._launch.lab.net), host), rungs)
        here = climb(program, Place(f"{proxy.address}:80", host), rungs)
        for rung, right, seen in zip(rungs, there, here, strict=True):
            if right.error:
                raise EnvironmentFault(f"the origin failed at '{rung.name}': {right.describe()}")
            # Envoy sends what passes a firewall of this kind in chunks, see docs/waf.md.
            found = [one for one in differences(rung, right, seen) if not one.startswith("Content-Length")]
            gate.check(Source.TRAFFIC, rung.name, "as at the origin", "; ".join(found) or "the same", right=not found)

    def attack(self, proxy: HttpProxy, host: str) -> Answer:
        """Return what an attack on a proxy is answered."""
        return proxy.get(host, ATTACK)

    def harmless(self, proxy: HttpProxy, host: str) -> Answer:
        """Return what a harmless request is answered that looks like the attack."""
        return proxy.get(host, TWIN)

    def judge_modes(self, gate: Gate, proxy: HttpProxy, host: str, before: Answer, *, blocked: bool) -> None:
        """Ask for an attack and for its harmless twin, and add what is wrong with either answer to the gate."""
        attack, twin = self.attack(proxy, host), self.harmless(proxy, host)
        wanted = BLOCKED if blocked else 200
        # The proxy's stamp is no sign of the origin: Envoy puts it on answers of the firewall too.
        right = attack.status == wanted and (b'"marker"' in attack.body) is not blocked
        gate.check(Source.TRAFFIC, f"attack on {proxy.name}", wanted, attack.describe(), right=right)
        seen = f"{twin.describe()}, {len(twin.body)} bytes"
        what = f"the same {len(before.body)} bytes as before"
        gate.check(Source.TRAFFIC, f"harmless request to {proxy.name}", what, seen, right=same(twin, before))

    @contextmanager
    def without_rule_on_levels(
        self, customer: Customer, dry_run: Callable[[], object], within: float
    ) -> Iterator[None]:
        """Let a project store policies with inverted paranoia levels while a block runs, as those are that are older.

        Args:
            customer: of the project; the rule stands in the schema, so it goes for all of them.
            dry_run: creates such a policy; told by it that the rule is gone, and there again.
            within: seconds for either.

        Raises:
            NeverReady: it took longer.
        """
        ref = Ref(kinds.CRD, "trafficprotectionpolicies.networking.datumapis.com")
        whole = (customer.upstream.get(ref) or {})["spec"]["versions"]
        without = json.loads(json.dumps(whole))
        for version in without:
            spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
            rule_set = spec["ruleSets"]["items"]["properties"]["owaspCoreRuleSet"]["properties"]
            del rule_set["paranoiaLevels"]["x-kubernetes-validations"]
        try:
            customer.upstream.patch(ref, {"spec": {"versions": without}})
            wait_until("no rule on levels", lambda: not _refused(dry_run), deadline=within, every=0.1)
            yield
        finally:
            customer.upstream.patch(ref, {"spec": {"versions": whole}})
            wait_until("a rule on levels again", lambda: _refused(dry_run), deadline=within, every=0.1)


def _refused(dry_run: Callable[[], object]) -> bool:
    try:
        dry_run()
    except PlaneRefused:
        return True
    return False


def same(one: Answer, other: Answer) -> bool:
    """Say whether two answers of a proxy's origin are the same, byte for byte."""
    return (one.status, one.marker, one.body) == (other.status, other.marker, other.body)
