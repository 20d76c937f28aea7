"""Domain: proof of ownership by a zone of ours, by TXT record or by HTTP; and what the registry knows of it."""

import random
import time
import uuid
from dataclasses import dataclass, field

from edgegate_operator import conditions, faults
from edgegate_operator.controllers.domainprobe import Answer, Registration, ask, register
from edgegate_operator.core.controller import Request
from edgegate_operator.core.plan import Plan, Plane, Status
from edgegate_operator.kinds import DNS_ZONE, DOMAIN, Obj
from edgegate_operator.settings import Domains, Settings
from edgegate_operator.site import Controller, Do, Names, Site, Watch, itself

URGENT = 5.0
"""Seconds between look-ups while a zone of ours is ready and waits for nothing else."""

SETTLING = 10.0
"""Seconds that a new zone of ours has until somebody asks resolvers about it without it being programmed.

While a name server creates a zone it answers SERVFAIL, and a resolver that has heard that goes on with it (measured:
PowerDNS's recursor, for more than 13 s, after 1 of 15 zones)."""

Verdict = tuple[bool, str, str]
"""Good or not, reason, message."""


@dataclass(frozen=True)
class Seen:
    """What a decision is based on."""

    domain: Obj
    """The Domain."""
    zones: list[Obj] = field(default_factory=list)
    """DNSZones of the namespace for the same name."""

    @property
    def status(self) -> Obj:
        """Return the status as it was."""
        status: Obj = self.domain.get("status") or {}
        return status

    @property
    def verification(self) -> Obj:
        """Return token and times of attempts as they were."""
        verification: Obj = self.status.get("verification") or {}
        return verification


def is_due(last: str | None, following: str | None, desired: str | None, now: float) -> bool:
    """Return whether an attempt is due: never made, its time has come, or the user asked for one since the last."""
    if last is None or following is None:
        return True
    asked = desired is not None and conditions.seconds(last) <= conditions.seconds(desired) <= now
    return asked or conditions.seconds(following) <= now


def interval(elapsed: float, settings: Domains) -> float:
    """Return the seconds until the next attempt, so long after verification began."""
    return next(step.interval for step in settings.retry_intervals if elapsed <= step.until)


def records(domain: Obj, token: str, settings: Domains) -> Obj:
    """Return what the user must publish, one or the other."""
    name, uid = domain["spec"]["domainName"], domain["metadata"]["uid"]
    return {
        "dnsRecord": {"name": f"{settings.dns_verification_record_prefix}.{name}", "type": "TXT", "content": token},
        "httpToken": {"url": f"http://{name}/{settings.http_verification_token_path}/{uid}", "body": token},
    }


def zone_verdict(seen: Seen, nameservers: list[str]) -> Verdict | None:
    """Return what a zone of ours says about the Domain, or None if there is no zone."""
    zone = next(iter(seen.zones), None)
    if zone is None:
        return None
    if not (conditions.is_true(zone, "Accepted") and conditions.is_true(zone, "Programmed")):
        return False, "DNSZoneNotReady", f"DNSZone {zone['metadata']['name']} is not programmed yet"
    ours = {server.rstrip(".").lower() for server in (zone.get("status") or {}).get("nameservers") or []}
    if ours & {server.rstrip(".").lower() for server in nameservers}:
        return True, "Verified", f"Delegated to the name servers of DNSZone {zone['metadata']['name']}"
    return False, "DNSZoneNameserverMismatch", f"Delegated to {', '.join(nameservers) or 'nobody'}"


def _set(kind: str, verdict: Verdict, domain: Obj) -> Obj:
    return conditions.condition(kind, *verdict, domain["metadata"]["generation"])


def verdicts(seen: Seen, by_zone: Verdict | None, answers: dict[str, Answer] | None) -> list[Obj]:
    """Return the conditions about verification, without times. What has been verified once stays so."""
    domain = seen.domain
    if conditions.is_true(domain, "Verified") and not (by_zone and by_zone[0]):
        kept = ("Verified", "VerifiedDNSZone")
        return [item for kind in kept if (item := conditions.of(domain, kind)).get("status") == "True"]
    found = [_set("VerifiedDNSZone", by_zone, domain)] if by_zone else []
    how = [answer for answer in (answers or {}).values() if answer.good]
    if (by_zone and by_zone[0]) or how:
        text = by_zone[2] if by_zone and by_zone[0] else how[0].text
        return [_set("Verified", (True, "Verified", text), domain), *(found if by_zone and by_zone[0] else [])]
    waiting = (False, "PendingVerification", "Publish the TXT record or the HTTP token")
    found.append(_set("Verified", waiting, domain))
    for kind in ("VerifiedDNS", "VerifiedHTTP"):
        answer = (answers or {}).get(kind)
        old = conditions.of(domain, kind)
        if answer:
            found.append(_set(kind, (False, answer.reason, answer.text), domain))
        elif old.get("status") == "False":
            found.append(old)
        else:
            found.append(_set(kind, waiting, domain))
    return found


@dataclass(frozen=True)
class Times:
    """When things were tried, and are tried next, in seconds since 1970."""

    attempt: float | None
    """Last attempt to verify."""
    following: float | None
    """Next one; None if there is nothing to verify any more."""


def decide(
    seen: Seen, answers: dict[str, Answer] | None, registration: Registration | None, times: Times, now: float,
    settings: Domains,
) -> Plan:  # fmt: skip
    """Return the status that follows, and when to look again."""
    token = (seen.verification.get("dnsRecord") or {}).get("content") or str(uuid.uuid4())
    status: Obj = {"verification": records(seen.domain, token, settings)}
    for key, at in (("lastVerificationAttempt", times.attempt), ("nextVerificationAttempt", times.following)):
        if at is not None:
            status["verification"][key] = conditions.timestamp(at)
    kept = ("apex", "nameservers", "registration")
    status |= registration.as_status() if registration else {k: seen.status[k] for k in kept if k in seen.status}
    servers = [item["hostname"] for item in status.get("nameservers") or []]
    wanted = verdicts(seen, zone_verdict(seen, servers), answers)
    if "apex" in status:
        good = (bool(status["apex"]), "Valid" if status["apex"] else "InvalidApex", seen.domain["spec"]["domainName"])
        wanted.append(_set("ValidDomain", good, seen.domain))
    status["conditions"] = conditions.dated(wanted, seen.status.get("conditions"), now)
    return Plan((Status(Plane.UP, seen.domain, status),), after=_next_look(seen, status, times, now))


def _next_look(seen: Seen, status: Obj, times: Times, now: float) -> float | None:
    """Return the seconds until something is due: an attempt, one that the user asked for, or a look-up."""
    upcoming = []
    if not any(item["type"] == "Verified" and item["status"] == "True" for item in status["conditions"]):
        desired = seen.domain["spec"].get("desiredVerificationRefreshAttempt")
        wishes = [times.following, conditions.seconds(desired) if desired else None]
        upcoming += [at for at in wishes if at is not None and at > now]
    looked_up = status.get("registration") or {}
    if looked_up:
        upcoming.append(conditions.seconds(looked_up["nextRefreshAttempt"]))
    elif now < _settled(seen):
        upcoming.append(_settled(seen))
    if looked_up and _is_urgent(seen) and not status.get("nameservers"):
        upcoming.append(conditions.seconds(looked_up["lastRefreshAttempt"]) + URGENT)
    return max(0.05, min(upcoming) - now) if upcoming else None


def _is_urgent(seen: Seen) -> bool:
    """Return whether a zone of ours is ready, and only the Domain's name servers are not known yet."""
    return any(conditions.is_true(zone, "Programmed") for zone in seen.zones) and not seen.status.get("nameservers")


def _settled(seen: Seen) -> float:
    """Return from when on resolvers may be asked, in seconds since 1970: every young zone of ours has to be served."""
    waiting = [zone for zone in seen.zones if not conditions.is_true(zone, "Programmed")]
    return max((conditions.seconds(zone["metadata"]["creationTimestamp"]) + SETTLING for zone in waiting), default=0.0)


def _asked_before(seen: Seen, last: float) -> bool:
    """Return whether the last look-up was made before the zone was ready, so that it could not have succeeded."""
    ready = [conditions.of(zone, "Programmed").get("lastTransitionTime") for zone in seen.zones]
    return any(at is not None and last <= conditions.seconds(at) for at in ready)


def _registration(seen: Seen, settings: Domains, now: float) -> Registration | None:
    """Look the Domain up if that is due, and not too early."""
    if now < _settled(seen):
        return None
    old = seen.status.get("registration") or {}
    last, following = old.get("lastRefreshAttempt"), old.get("nextRefreshAttempt")
    desired = seen.domain["spec"].get("desiredRegistrationRefreshAttempt")
    looked = conditions.seconds(last) if last else 0.0
    urgent = _is_urgent(seen) and (now - looked >= URGENT or _asked_before(seen, looked))
    if not urgent and not is_due(last, following, desired, now):
        return None
    return register(seen.domain["spec"]["domainName"], settings, now)


def _attempt(site: Site, seen: Seen, now: float, do: Do) -> tuple[dict[str, Answer] | None, Times]:
    """Try to verify if that is due; publish the token before the first attempt."""
    settings, old = site.settings.domain, seen.verification
    last, following = old.get("lastVerificationAttempt"), old.get("nextVerificationAttempt")
    was = Times(conditions.seconds(last) if last else None, conditions.seconds(following) if following else None)
    if conditions.is_true(seen.domain, "Verified"):
        return None, Times(was.attempt, None)
    desired = seen.domain["spec"].get("desiredVerificationRefreshAttempt")
    if site.settings.has(faults.REFRESH_IGNORED):
        desired = None
    if not is_due(last, following, desired, now):
        return None, was
    if not old.get("dnsRecord"):
        do(decide(seen, None, None, Times(None, None), now, settings))
        fresh = site.up(DOMAIN).get(seen.domain["metadata"]["namespace"], seen.domain["metadata"]["name"])
        old = ((fresh or {}).get("status") or {}).get("verification") or {}
    answers = ask(old["dnsRecord"], old["httpToken"], settings)
    began = conditions.of(seen.domain, "Verified").get("lastTransitionTime")
    since = conditions.seconds(began) if began else 0.0
    elapsed = now - since if since > 0 else 0.0
    wait = interval(elapsed, settings) * (1 + random.uniform(0, settings.jitter))  # noqa: S311 spreads load only
    return answers, Times(now, now + wait)


def _gather(site: Site, request: Request) -> Seen | None:
    domain = site.up(DOMAIN).get(request.namespace, request.name)
    if domain is None or "deletionTimestamp" in domain["metadata"]:
        return None
    zones = [zone for zone in site.up(DNS_ZONE).all(request.namespace) if _is_of(zone, domain)]
    return Seen(domain, zones)


def _is_of(zone: Obj, domain: Obj) -> bool:
    same = zone["spec"]["domainName"] == domain["spec"]["domainName"]
    return same and "deletionTimestamp" not in zone["metadata"]


def _reconcile(site: Site, request: Request, do: Do) -> Plan:
    seen, now, settings = _gather(site, request), time.time(), site.settings.domain
    if seen is None:
        return Plan()
    registration = _registration(seen, settings, now)
    servers = (
        registration.nameservers if registration else [i["hostname"] for i in seen.status.get("nameservers") or []]
    )
    by_zone = zone_verdict(seen, servers)
    if by_zone and by_zone[0]:
        return decide(seen, None, registration, Times(None, None), now, settings)
    answers, times = _attempt(site, seen, now, do)
    latest = _gather(site, request) or seen
    return decide(latest, answers, registration, times, now, settings)


def _of_zone(site: Site, zone: Obj) -> Names:
    for domain in site.up(DOMAIN).all(zone["metadata"]["namespace"]):
        if domain["spec"]["domainName"] == zone["spec"]["domainName"]:
            yield zone["metadata"]["namespace"], domain["metadata"]["name"]


def controller(settings: Settings) -> Controller:
    """Return the controller."""
    return Controller(
        name="domain",
        reconcile=_reconcile,
        workers=settings.domain.max_concurrent_verifications,
        watches=(Watch(Plane.UP, DOMAIN, itself), Watch(Plane.UP, DNS_ZONE, _of_zone)),
    )
