"""The firewall of an edge as scenarios use it: what it says of policies, and what goes through it."""

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from edgegate.clock import MONOTONIC, wait_until
from edgegate.clusters import kinds
from edgegate.clusters.access import refused
from edgegate.clusters.kinds import Ref
from edgegate.clusters.plane import ControlPlane
from edgegate.components import ladder, waf
from edgegate.components.launch import Launch
from edgegate.edge import attaching, proxy_watch
from edgegate.edge.asking import wait_for_answer
from edgegate.edge.customer import Customer
from edgegate.edge.firewall_counts import Counts
from edgegate.edge.http_proxy import Backend, HttpProxy
from edgegate.edge.kept_visitor import KeptVisitor
from edgegate.edge.ladder import seen_twice
from edgegate.edge.placements import placements
from edgegate.edge.pressure import MemoryWatch, Uploads
from edgegate.edge.proxies import Proxy
from edgegate.edge.tenant import Tenant
from edgegate.edge.waf_policy import WafPolicy
from edgegate.errors import NotShown
from edgegate.probes.ladder import Body, Place, Reply, Rung, climb, differences
from edgegate.probes.target import INTERVAL, Target
from edgegate.records import Answer, Source
from edgegate.report.gate import Gate

ATTACK = "/?q=%3Cscript%3Ealert(1)%3C/script%3E"
"""Blocked by the rule set at paranoia level 1; nothing else on the way minds it."""
TWIN = "/bytes/20000?q=a+%3C+b+and+b+%3E+c"
"""Looks like it, and is harmless; the origin answers with 20,000 bytes."""
BLOCKED = 403
CLOSE = INTERVAL / 2
"""Seconds between two looks while something changes; each costs the firewall 3 ms of a processor, so not for two."""
DIRECTIVES = ('SecAction "id:9600001,phase:1,pass,nolog"', 'SecRule ARGS "@rx (" "id:9600002,phase:2,deny"')
"""Of a policy: the last one has no end of its group, so the engine refuses it."""
_UNINSPECTED = "edgegate_waf_uninspected_total"
_DEFECT = "waf-has-"
"""How the defects begin that the firewall itself can have."""
_KIB = 1024
PAGES = (0, 1, 32 * _KIB + 1, 200 * _KIB, 600 * _KIB)
"""Bytes of inspected pages; the rules see 512 KiB of one."""


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

    def __init__(self, launch: Launch, plane: ControlPlane) -> None:
        """Take what is needed to ask it.

        Raises:
            NotShown: the edge was made without the part `waf`.
        """
        if waf.NAME not in launch.parts:
            raise NotShown("this edge was made without the part 'waf', so nobody inspects requests in it")
        self._launch, self._plane = launch, plane
        self._counts = Counts(f"{waf.admin_url(launch.lab.net)}/metrics")

    @property
    def page_origin(self) -> Backend:
        """An origin that answers with pages of any size; needs the part `ladder`."""
        return Backend(f"http://{ladder.address(self._launch.lab.net)}")

    def memory(self, proxy: Proxy) -> MemoryWatch:
        """Return what looks at the memory of firewall and proxy while a block runs."""
        return MemoryWatch(self._launch, proxy, lambda: self._counts.value("edgegate_waf_held_bytes"))

    def uploads(self, proxy: HttpProxy, host: str) -> Uploads:
        """Return files for a proxy whose origin is `page_origin`."""
        return Uploads(self._launch, proxy, host)

    def metric(self, name: str, policy: WafPolicy, **labels: str) -> float:
        """Return what it counts about a policy; 0 while there is nothing.

        Raises:
            MetricsUnreachable: it does not answer.
        """
        return self._counts.value(name, {"namespace": policy.customer.below, "name": policy.ref.name, **labels})

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
        for one in seen_twice(self._launch, Place(f"{proxy.address}:80", host), rungs):
            # Envoy sends what passes a firewall of this kind in chunks, see docs/waf.md.
            found = differences(one.rung, one.there, one.here, reframed=True)
            seen = "; ".join(found) or "the same"
            gate.check(Source.TRAFFIC, one.rung.name, "as at the origin", seen, right=not found)

    def guard(self, tenant: Tenant, mode: str, within: float) -> None:
        """Let the requests of a tenant go through it, without an operator; return when they do.

        Args:
            tenant: whose route.
            mode: `Enforce`, `Observe` or `Disabled`.
            within: seconds for all of it.

        Raises:
            NeverReady: attacks are not answered as the mode has it.
        """
        net = self._launch.lab.net
        defects = [name.removeprefix(_DEFECT) for name in self._launch.operator.faults if name.startswith(_DEFECT)]
        attaching.have_faults(waf.admin_url(net), defects)
        # First enforcing, whatever is asked for: by that it is seen that requests go through it.
        attaching.tell(waf.admin_url(net), tenant, "Enforce")
        self._plane.apply(*attaching.objects(tenant, net))
        if "enforce-ignored" not in defects:
            attaching.wait_answered(tenant, BLOCKED, within)
        attaching.tell(waf.admin_url(net), tenant, mode)
        if mode != "Enforce":
            attaching.wait_answered(tenant, 200, within)

    def judge_bad_directive(self, gate: Gate, bad: Tenant, other: Tenant, within: float) -> None:
        """Tell it of a directive that it must refuse, and add to the gate whatever that does beyond its own policy.

        Args:
            gate: where findings go.
            bad: a guarded tenant whose policy enforces; its next generation has the directive, and would not.
            other: a guarded tenant whose policy enforces; it stops to do so afterwards.
            within: seconds for that to be seen on the wire.
        """
        url, name = waf.admin_url(self._launch.lab.net), f"{bad.namespace}/{attaching.POLICY}"
        told = attaching.tell(url, bad, "Observe", generation=2, directives="\n".join(DIRECTIVES))
        wanted = f"{name}, line {len(DIRECTIVES)}: "
        gate.check(Source.STATUS, name, f"{wanted}…", told.mistake, right=told.mistake.startswith(wanted))
        gate.check(Source.STATUS, name, "generation 1 in force", told.applied, right=told.applied == 1)
        labels = {"namespace": bad.namespace, "name": attaching.POLICY}
        refused = self._counts.value("edgegate_waf_policy_refused", labels)
        gate.check(Source.DATA_PLANE, name, "counted as refused", refused, right=refused == 1)
        attaching.tell(url, other, "Observe", generation=2)
        with gate.must(Source.TRAFFIC, f"attack on {other.name}", "200, for its policy observes now"):
            attaching.wait_answered(other, 200, within)
        with gate.must(Source.TRAFFIC, f"attack on {bad.name}", "403, as before"):
            attaching.wait_answered(bad, BLOCKED, within)

    def judge_limits(self, gate: Gate, tenant: Tenant) -> None:
        """Place attacks and leaks around each limit, and add to the gate what is not as documented, or not counted."""
        program = ladder.program(self._launch)
        edge = Place(f"{tenant.site.address}:443", tenant.host, tenant.site.ca)
        rows = []
        for one in placements():
            labels = {"namespace": tenant.namespace, "name": attaching.POLICY, "reason": one.reason}
            before = self._counts.value(_UNINSPECTED, labels) if one.reason else 0.0
            (seen,) = climb(program, edge, [one.rung])
            rows.append([one.rung.name, seen.status, one.reason or "inspected"])
            gate.check(Source.TRAFFIC, one.rung.name, one.status, seen.describe(), right=seen.status == one.status)
            if one.reason:
                counted = self._counts.value(_UNINSPECTED, labels) - before
                what = f"counted as {one.reason}"
                gate.check(Source.DATA_PLANE, one.rung.name, what, f"counted {counted:g} times", right=counted > 0)
        gate.table("attacks and leaks around the limits", ["what", "answered", "seen by the rules"], rows)

    def keeps_serving(
        self, gate: Gate, proxy: HttpProxy, host: str, *, attack: bool = False
    ) -> AbstractContextManager[None]:
        """Demand that visitors of a host name are served in every look while a block runs.

        With `attack` there is an attack besides in every look, and each is answered 403.
        """
        every, name = (INTERVAL if attack else CLOSE), f"{proxy.name} http://{host}"
        looks = [Target(name, proxy.address, host, marker=proxy.marker, every=every)]
        if attack:
            looks.append(Target(f"attack on {name}", proxy.address, host, path=ATTACK, status=BLOCKED, every=every))
        return proxy_watch.right(gate, looks)

    def visitor(self, gate: Gate, proxy: HttpProxy, host: str) -> KeptVisitor:
        """Return a visitor who keeps his connection while a block runs, and must be served."""
        return KeptVisitor.of(gate, proxy, host)

    def wait_detached(self, proxy: HttpProxy, within: float) -> None:
        """Return once Envoy Gateway is told of no firewall for any proxy of a customer. Raises NeverReady."""
        below = proxy.customer.below
        wait_until(
            f"no firewall for {proxy.customer}",
            lambda: not self._plane.list(kinds.ENVOY_EXTENSION_POLICY, below),
            deadline=within,
            every=0.1,
        )

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
            wait_until("no rule on levels", lambda: not refused(dry_run), deadline=within, every=0.1)
            yield
        finally:
            customer.upstream.patch(ref, {"spec": {"versions": whole}})
            wait_until("a rule on levels again", lambda: refused(dry_run), deadline=within, every=0.1)


def same(one: Answer, other: Answer) -> bool:
    """Say whether two answers of a proxy's origin are the same, byte for byte."""
    return (one.status, one.marker, one.body) == (other.status, other.marker, other.body)
