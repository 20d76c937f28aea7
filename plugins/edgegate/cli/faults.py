"""The faults that each gate must find."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Fault:
    """A way to make the edge wrong as an incident once did."""

    name: str
    """Its name in the table."""
    what: str
    """What is wrong, in a sentence without a full stop."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """The versions that bring it about."""
    operator: tuple[str, ...] = ()
    """The defects of the reference operator that bring it about."""
    keyword: str = ""
    """Scenarios that must turn red, as pytest's `-k` chooses them; all of the gate when empty."""

    @property
    def options(self) -> list[str]:
        """Further arguments of pytest."""
        words = [word for name in self.operator for word in ("--edge-fault", name)]
        return [*words, *(("-k", self.keyword) if self.keyword else ())]


def _defect(name: str, what: str, keyword: str = "") -> Fault:
    """Return the fault that is one defect of the reference operator."""
    return Fault(name, what, operator=(name,), keyword=keyword)


FAULTS: Mapping[str, Sequence[Fault]] = {
    "oidc-churn": (
        Fault(
            "crashing-envoy",
            "Envoy 1.38 crashes when the secrets of an OIDC policy go (Envoy Gateway issue 10075)",
            versions={"envoy-gateway": "1.8.3", "envoy": "1.38.3"},
        ),
    ),
    "oidc-isolation": (
        Fault(
            "old-envoy",
            "Envoy Gateway 1.8 sends an empty oauth2 filter that Envoy before 1.38 refuses (#194)",
            versions={"envoy-gateway": "1.8.3", "envoy": "1.37.0"},
            keyword="valid_policy",
        ),
        Fault(
            "old-envoy-new-gateway",
            "The same with the newest Envoy Gateway",
            versions={"envoy-gateway": "1.9.1", "envoy": "1.37.0"},
            keyword="valid_policy",
        ),
    ),
    "convergence": (
        _defect("requeue-floor", "While a certificate is pending, its Gateway waits for 60 s (#292)"),
        _defect("wrong-solver-plane", "The HTTP-01 solver hangs on a Gateway of the other plane (#261)"),
    ),
    "error-page": (_defect("error-page-unescaped", "Percent signs of the error page reach Envoy as commands (#243)"),),
    "oidc-guard": (
        _defect(
            "oidc-fail-open", "While a login policy is held, its route answers without login", "policy_before_secret"
        ),
        _defect("no-oidc-guard", "A policy is put on the edge without its Secret (#194)", "policy_before_secret"),
        _defect("held-for-ever", "A held policy is not released when its Secret comes (#95)", "secret"),
        _defect("policy-not-withdrawn", "A policy stays when its Secret is deleted (#194)", "secret_deleted"),
        _defect("withdrawal-before-hold", "A policy leaves before its routes are held (#194)", "secret_deleted"),
        _defect("secret-never-let-go", "The Secret of a deleted policy cannot be deleted any more", "taken_away"),
    ),
    "hostname-removal": (
        _defect("stale-records", "The DNS record of a removed host name stays (#283)", "removed"),
        _defect("record-left-behind", "The name server keeps records of deleted objects (#283)", "removed or deleted"),
        _defect("zone-claim-kept", "The claim of a zone's domain stays when the zone is deleted (#182)", "deleted"),
        _defect("orphaned-certificate", "The certificate of a removed host name stays (#142)", "last"),
        _defect("renamed-listener-dark", "Removing one host name darkens those behind it", "first"),
        _defect("claim-kept", "The claim of a removed host name stays (#182)", "removed"),
        _defect("quota-claim-kept", "A claim of quota stays when its object is deleted (#182)", "quota or all_is"),
    ),
    "dns-records": (
        _defect("record-status-unread", "An HTTPProxy never learns of its record (#291)", "host_name"),
        _defect("address-late", "The canonical name gets its address after 65 s (#292)", "host_name"),
        _defect("record-before-zone", "A record that comes before its zone stays unseen", "record_before_its_zone"),
        _defect("zone-before-class", "A zone that comes before its class stays unseen", "zone_before_its_class"),
        _defect("zone-programmed-early", "A zone is Programmed although nobody serves it", "are_refused"),
        _defect("swap-gap", "A record that changes its type is gone for a second", "changes_its_type"),
    ),
    "domain-verification": (
        _defect("refresh-ignored", "A repaired proof waits for the schedule (#290)", "repaired"),
        _defect("duplicate-domain-admitted", "A second Domain of a name is not refused (#86)", "twice"),
    ),
    "http01": (
        _defect(
            "wrong-solver-plane", "The solver hangs on a Gateway of the other plane (#261)", "through or everywhere"
        ),
        _defect("solver-over-tls", "Challenges are answered over HTTPS only (#261)", "behind_redirect"),
        _defect(
            "solver-behind-login", "Challenges of a Gateway with login are sent to login (#261)", "behind_redirect"
        ),
        _defect("failed-certificate-blocks", "One failed certificate stops all else of its Gateway", "beside_a_good"),
        _defect("requeue-floor", "While a certificate is pending, its Gateway waits (#292)", "issuer or beside_a_good"),
        _defect("certificate-given-up", "A certificate that failed once is not tried anew (#261)", "beside_a_good"),
    ),
    "http01-hostile": (_defect("wrong-solver-plane", "The solver hangs on a Gateway of the other plane (#261)"),),
    "truth": (
        _defect("listener-dropped-silently", "A listener that is not served counts as programmed (#235)", "listener"),
        _defect("foreign-class-admitted", "A Gateway of somebody else's class is not refused (#152)", "somebody_else"),
        _defect("foreign-class-served", "A Gateway of somebody else's class is served (#152)", "somebody_else"),
        _defect("class-never-again", "A Gateway that came before its class is not looked at again (#153)", "after_its"),
        _defect("route-hostnames-admitted", "A route with host names is not refused (#288)", "route"),
        _defect("origin-switch-stuck", "An origin is not switched between name and address (#126)", "origin"),
    ),
    "hostname-claims": (
        _defect("claim-loser-asleep", "Nobody is woken when a host name is released", "the_same"),
        _defect("claim-kept", "The claim of a host name stays when its proxy is deleted (#182)", "the_same"),
        _defect("zone-claim-kept", "The claim of a zone's domain stays when the zone is deleted (#182)", "zone"),
    ),
    "policy-propagation": (
        _defect("policy-status-lost", "What the edge says of a policy does not come back (#97)"),
        _defect("held-for-ever", "A policy that came before its Secret is not released (#95)", "policy_secret"),
    ),
    "waf-transparency": (
        _defect("waf-has-truncated-body", "Of an inspected page only the half comes (#242)", "Enforce or Observe"),
        _defect("waf-has-streams-held", "Events, calls and sockets are held until they end", "Enforce or Observe"),
    ),
    "waf-precedence": (
        _defect("waf-gateway-first", "A Gateway's policy beats a route's", "route"),
        _defect("waf-newest-wins", "Of two policies the newest is carried out", "older"),
    ),
    "waf-changes": (
        _defect(
            "waf-attached-shut", "The proxy begins and ends to ask the firewall in one step (#242)", "comes_and_goes"
        ),
        _defect("waf-route-swapped", "A route's attachment takes the place of its Gateway's", "beside"),
        _defect("waf-gateway-let-go", "A Gateway's attachment goes although a route's policy needs it", "outlives"),
    ),
    "waf-isolation": (
        _defect("waf-shared-by-name", "Policies of one name in two projects are one", "equal_names"),
        _defect("waf-has-frozen-by-one", "One policy with a bad directive keeps all from changing", "directive"),
    ),
    "waf-load": (_defect("waf-has-no-held-limit", "Bodies are held whatever they take together (#253)"),),
    "waf-outage": (_defect("waf-fail-open", "While the firewall is gone, attacks pass", "killed"),),
    "waf-limits": (
        _defect("waf-has-enforce-ignored", "Attacks pass although the policy enforces"),
        _defect("waf-has-silent-bypass", "What passes unseen is not counted"),
    ),
    "waf-enforce": (
        _defect("waf-has-enforce-ignored", "Attacks pass although the policy enforces", "test_enforce"),
        _defect("waf-has-empty-error", "An attack is answered 500 without content (#242)", "test_enforce"),
        _defect("waf-has-observe-enforced", "A policy that observes blocks", "Observe"),
        _defect("waf-has-truncated-body", "Of an inspected page only the half comes (#242)", "pages"),
        _defect("waf-has-stale-policy", "A change is reported as applied and is not (#266)", "change_of_mode"),
        _defect("waf-flip-unseen", "The firewall is not told of a change of mode (#266)", "change_of_mode"),
        _defect("waf-has-exclusions-leak", "One policy's exclusions hold for all", "exclusions"),
        _defect("waf-invalid-shadows", "An invalid older policy silences a valid one", "invalid"),
    ),
    "convergence-burst": (_defect("slow-worker", "One worker looks at all Gateways, half a second each (#291)"),),
    "convergence-conflicts": (_defect("conflict-backoff", "Conflicting writes wait for minutes (#166)"),),
    "convergence-fresh-zone": (
        _defect("zones-remembered", "A Gateway goes on with the zones that there were when it came"),
    ),
    "convergence-hundred": (_defect("scan-all", "Each look at a Gateway reads all of them"),),
    "convergence-many-names": (
        _defect("agent-saturation", "Each change of a record writes its whole zone again, slowly (#291, #292)"),
    ),
    "convergence-pending-issuer": (
        _defect("requeue-floor", "While a certificate is pending, its Gateway waits for 60 s (#292)"),
    ),
    "convergence-self-check": (
        _defect("certificate-first", "The issuer's resolver is asked before the record exists, and remembers (#261)"),
    ),
}
"""Gate to the faults that it must find."""
