"""Defects that can be switched on by name, one a historic incident. Each branch stands at exactly one place."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    """One defect."""

    name: str
    """What the user types."""
    text: str
    """What goes wrong with it, in one line."""


_ALL: list[Fault] = []


def _fault(name: str, text: str) -> str:
    _ALL.append(Fault(name, text))
    return name


REQUEUE_FLOOR = _fault(
    "requeue-floor", "while a certificate is pending, records and status of its Gateway wait for 60 s (#292, D19)"
)
ORIGIN_SWITCH_STUCK = _fault(
    "origin-switch-stuck", "an origin that changes between FQDN and IP is not switched: the old slice stays (#126)"
)
RECORD_STATUS_UNREAD = _fault(
    "record-status-unread", "an HTTPProxy never learns that its DNS record is programmed (#291, D1)"
)
RENAMED_LISTENER_DARK = _fault(
    "renamed-listener-dark", "removing one host name darkens those behind it until their certificates are issued anew"
)
ORPHANED_CERTIFICATE = _fault("orphaned-certificate", "the certificate of a removed host name stays (#142)")
STALE_RECORDS = _fault("stale-records", "the DNS record of a removed host name stays (#283)")
LISTENER_DROPPED_SILENTLY = _fault(
    "listener-dropped-silently", "a listener without host name is dropped, and Programmed stays True (#235)"
)
FAILED_CERTIFICATE_BLOCKS = _fault(
    "failed-certificate-blocks", "one failed certificate stops DNS, status and all else of its Gateway (D6)"
)
CLASS_NEVER_AGAIN = _fault("class-never-again", "a Gateway whose class is missing is not looked at again (#153)")
FOREIGN_CLASS_ADMITTED = _fault("foreign-class-admitted", "Gateways of a class that is not ours are not refused (#152)")
DUPLICATE_DOMAIN_ADMITTED = _fault("duplicate-domain-admitted", "a second Domain of the same name is not refused (#86)")
FOREIGN_CLASS_SERVED = _fault("foreign-class-served", "Gateways of a class that is not ours are served too (#152)")
CLAIM_KEPT = _fault("claim-kept", "the claim of a removed host name stays (#182)")
QUOTA_CLAIM_KEPT = _fault(
    "quota-claim-kept", "a claim of quota names no owner, and stays when its object is deleted (#182)"
)
CLAIM_LOSER_ASLEEP = _fault("claim-loser-asleep", "nobody is woken when the claim of a host name is released")
OIDC_FAIL_OPEN = _fault("oidc-fail-open", "while a login policy is held, its route answers without login (#194)")
ZONE_BEFORE_CLASS = _fault("zone-before-class", "a DNSZone made before its DNSZoneClass is never looked at again (D16)")
RECORD_BEFORE_ZONE = _fault(
    "record-before-zone", "a DNSRecordSet made before its DNSZone is never looked at again (D15)"
)
ZONE_PROGRAMMED_EARLY = _fault(
    "zone-programmed-early", "a DNSZone is Programmed although PowerDNS has not taken its SOA and NS (D18)"
)
ZONE_CLAIM_KEPT = _fault("zone-claim-kept", "the claim of a deleted DNSZone stays")
AGENT_SATURATION = _fault(
    "agent-saturation", "each change of a record writes its whole zone to PowerDNS again, slowly (#291, #292)"
)
RECORD_LEFT_BEHIND = _fault("record-left-behind", "PowerDNS keeps the records of a deleted DNSRecordSet (#283)")
SWAP_GAP = _fault("swap-gap", "changing a record's type removes the old one a second before the new one is written")
WRONG_SOLVER_PLANE = _fault(
    "wrong-solver-plane", "the HTTP-01 solver hangs on a Gateway of the other plane: challenges stay pending (#261)"
)
REFRESH_IGNORED = _fault(
    "refresh-ignored", "a Domain whose proof was repaired waits for the schedule, the refresh field is ignored (#290)"
)
NO_OIDC_GUARD = _fault("no-oidc-guard", "a login policy whose Secret is missing is put on the edge nevertheless (#194)")
HELD_FOR_EVER = _fault("held-for-ever", "a held login policy is not released when its Secret comes later (#95, D3)")
POLICY_NOT_WITHDRAWN = _fault(
    "policy-not-withdrawn", "a login policy stays on the edge when its Secret is deleted later (#194, D4)"
)
SECRET_NEVER_LET_GO = _fault(
    "secret-never-let-go", "a Secret whose login policy was deleted can never be deleted: its finalizer stays"
)
POLICY_STATUS_LOST = _fault("policy-status-lost", "what the edge says about a policy does not come back upstream (#97)")
WITHDRAWAL_BEFORE_HOLD = _fault(
    "withdrawal-before-hold", "a login policy whose Secret is deleted leaves the edge before its routes are held (#194)"
)
CONFLICT_ACCEPTED = _fault("tpp-conflict-accepted", "of two firewall policies for one target both are accepted")
MODE_FLIP_UNSEEN = _fault(
    "waf-flip-unseen", "a firewall policy whose mode changes is reported as programmed, and the old one goes on (#266)"
)
INVALID_SHADOWS = _fault(
    "waf-invalid-shadows", "an older, invalid firewall policy leaves its routes without any firewall (D11)"
)
WAF_ENFORCE_IGNORED = _fault("waf-has-enforce-ignored", "the firewall lets pass what its rules forbid")
WAF_EMPTY_ERROR = _fault("waf-has-empty-error", "the firewall answers an attack with 500 and no content (#242)")
WAF_TRUNCATED_BODY = _fault(
    "waf-has-truncated-body", "of an answer that the firewall inspects only the first half comes (#242)"
)
WAF_STALE_POLICY = _fault(
    "waf-has-stale-policy", "the firewall reports a change of a policy as applied and goes on with the old one (#266)"
)
WAF_EXCLUSIONS_LEAK = _fault("waf-has-exclusions-leak", "what one firewall policy excludes is excluded for all")
WAF_OBSERVE_ENFORCED = _fault("waf-has-observe-enforced", "a firewall policy that observes blocks")
WAF_GATEWAY_FIRST = _fault("waf-gateway-first", "the firewall policy of a Gateway beats that of a route")
WAF_NEWEST_WINS = _fault("waf-newest-wins", "of two firewall policies for one target the newest is carried out")
WAF_ATTACHED_SHUT = _fault(
    "waf-attached-shut",
    "the proxy is told to ask the firewall, or not to, in one step: requests are answered 500 (#242)",
)
WAF_ROUTE_SWAPPED = _fault(
    "waf-route-swapped", "a route's firewall policy is attached in place of its Gateway's: meanwhile attacks pass"
)
WAF_GATEWAY_LET_GO = _fault(
    "waf-gateway-let-go", "when a Gateway's firewall policy goes, its attachment goes too, which a route's policy needs"
)
WAF_SHARED_BY_NAME = _fault(
    "waf-shared-by-name", "firewall policies whose namespaces and names are equal in two projects are one (D2)"
)
WAF_FROZEN_BY_ONE = _fault(
    "waf-has-frozen-by-one", "one firewall policy with a bad directive keeps all others from changing"
)
WAF_FAIL_OPEN = _fault("waf-fail-open", "while the firewall is gone, requests pass without inspection")
WAF_STREAMS_HELD = _fault("waf-has-streams-held", "the firewall holds events, calls and sockets until they end (#891)")
WAF_NO_HELD_LIMIT = _fault("waf-has-no-held-limit", "the firewall holds bodies whatever they take together (#253)")
WAF_SILENT_BYPASS = _fault("waf-has-silent-bypass", "what the firewall lets pass without having seen it is not counted")
LEASE_REQUIRED = _fault("lease-required", "connectors are not looked at where the Lease API is missing (#160)")
CONNECTOR_ALWAYS_READY = _fault(
    "connector-always-ready", "a connector stays Ready although its Lease has expired (#167)"
)
CONFLICT_BACKOFF = _fault(
    "conflict-backoff",
    "each write insists on the version it has seen, and conflicts wait 5 s, 10 s, … (#166)",
)
ADDRESS_LATE = _fault("address-late", "the canonical host name gets its address 65 s after the Gateway was made (#292)")
SOLVER_BEHIND_LOGIN = _fault(
    "solver-behind-login", "HTTP-01 challenges of a Gateway with login are sent to login (#261)"
)
SOLVER_OVER_TLS = _fault(
    "solver-over-tls", "HTTP-01 challenges are answered over HTTPS only, where no certificate is yet (#261)"
)
CERTIFICATE_GIVEN_UP = _fault("certificate-given-up", "a certificate that failed once is not tried anew (#261)")
ROUTE_HOSTNAMES_ADMITTED = _fault("route-hostnames-admitted", "an HTTPRoute with host names is not refused (#288)")
WAKE_EVERYBODY = _fault(
    "wake-everybody", "each event of one Gateway makes all of them be looked at: cost grows with their number"
)
SCAN_ALL = _fault("scan-all", "each look at a Gateway reads all of them, 8 ms each: cost grows with their number")
CERTIFICATE_FIRST = _fault(
    "certificate-first", "names get their records 10 s after their certificates were asked for (#261, negative caching)"
)
ZONES_REMEMBERED = _fault(
    "zones-remembered", "a Gateway goes on with the zones that there were when it came; later ones do not help"
)
ERROR_PAGE_UNESCAPED = _fault(
    "error-page-unescaped", "percent signs of the branded error page reach Envoy as commands (#243)"
)
SLOW_WORKER = _fault("slow-worker", "one worker looks at all Gateways, and takes half a second for each look (#291)")


def known() -> tuple[Fault, ...]:
    """Return every fault, sorted by name."""
    return tuple(sorted(_ALL, key=lambda fault: fault.name))
