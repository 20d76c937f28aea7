"""What the world says about a Domain: TXT record, HTTP token, name servers. The only module that asks it."""

import time
from dataclasses import dataclass

import dns.exception
import dns.name
import dns.resolver
import urllib3

from edgegate_operator import conditions
from edgegate_operator.kinds import Obj
from edgegate_operator.settings import Domains

MOST_BYTES = 1024
"""So much of an HTTP answer is read."""
SUFFIXES = frozenset({"co.uk", "org.uk", "ac.uk", "gov.uk", "com.au", "co.nz", "co.jp", "com.br"})
"""Public suffixes of two labels; the list of the world is not needed here, only one that has such names."""


@dataclass(frozen=True)
class Answer:
    """What one way of verification found."""

    good: bool
    """Whether it was the token."""
    reason: str
    """Verified, RecordNotFound, VerificationRecordContentMismatch, UnexpectedResponse or InternalError."""
    text: str
    """For people."""


@dataclass(frozen=True)
class Registration:
    """What a look-up of a Domain found."""

    nameservers: list[str]
    """Name servers, sorted."""
    apex: bool
    """Whether the name is directly below a public suffix."""
    at: float
    """When, in seconds since 1970."""
    again: float
    """When next."""

    def as_status(self) -> Obj:
        """Return the part of the status that it fills."""
        times = {
            "lastRefreshAttempt": conditions.timestamp(self.at),
            "nextRefreshAttempt": conditions.timestamp(self.again),
        }
        return {
            "apex": self.apex,
            "nameservers": [{"hostname": server} for server in self.nameservers],
            "registration": {"source": "dns"} | times,
        }


def resolver(settings: Domains) -> dns.resolver.Resolver:
    """Return a resolver without a cache of its own: the user has just changed something."""
    if not settings.resolver:
        return dns.resolver.Resolver()
    found = dns.resolver.Resolver(configure=False)
    host, _, port = settings.resolver.rpartition(":") if ":" in settings.resolver else (settings.resolver, "", "53")
    found.nameservers, found.port = [host], int(port)
    return found


def is_apex(name: str) -> bool:
    """Return whether a name is one label below a public suffix."""
    parent = name.partition(".")[2]
    return "." not in parent or parent in SUFFIXES


def register(name: str, settings: Domains, now: float) -> Registration:
    """Look up who serves a Domain."""
    try:
        found = resolver(settings).resolve(name, "NS", lifetime=settings.attempt_timeout)
        servers = sorted(str(item.target).rstrip(".") for item in found)
    except dns.exception.DNSException:
        servers = []
    wait = settings.registration_interval if servers else settings.registration_retry
    return Registration(servers, is_apex(name), now, now + wait)


def ask_dns(record: Obj, settings: Domains, limit: float) -> Answer:
    """Look for the TXT record."""
    name, token = record["name"], record["content"]
    try:
        found = resolver(settings).resolve(name, "TXT", lifetime=limit)
    except (dns.resolver.NXDOMAIN, dns.resolver.NoAnswer):
        return Answer(False, "RecordNotFound", f"There is no TXT record {name}")
    except dns.exception.DNSException as error:
        return Answer(False, "InternalError", f"Asking for {name}: {error}")
    values = [b"".join(item.strings).decode(errors="replace") for item in found]
    if token in values:
        return Answer(True, "Verified", f"TXT record {name}")
    return Answer(False, "VerificationRecordContentMismatch", f"{name} says {values!r} instead of {token!r}")


def _address(host: str, settings: Domains, limit: float) -> str | None:
    try:
        return next((str(item) for item in resolver(settings).resolve(host, "A", lifetime=limit)), None)
    except dns.exception.DNSException:
        return None


def ask_http(record: Obj, settings: Domains, limit: float) -> Answer:
    """Look for the token over HTTP, at the address that our resolver gives."""
    url, token = urllib3.util.parse_url(record["url"]), record["body"]
    address = _address(url.host or "", settings, limit)
    if address is None:
        return Answer(False, "RecordNotFound", f"{url.host} does not resolve")
    pool = urllib3.HTTPConnectionPool(address, url.port or 80, timeout=limit, retries=False)
    try:
        answer = pool.request("GET", url.path or "/", headers={"Host": url.host or ""}, preload_content=False)
        body = answer.read(MOST_BYTES).decode(errors="replace").strip()
    except (urllib3.exceptions.HTTPError, OSError) as error:
        return Answer(False, "UnexpectedResponse", f"{record['url']}: {type(error).__name__}")
    finally:
        pool.close()
    if answer.status == 200 and body == token:
        return Answer(True, "Verified", f"Token at {record['url']}")
    return Answer(False, "UnexpectedResponse", f"{record['url']} answers {answer.status}, not the token")


def ask(dns_record: Obj, http_token: Obj, settings: Domains) -> dict[str, Answer]:
    """Try both ways, DNS first; both within the limit of one attempt. HTTP is left out if DNS was good."""
    end = time.monotonic() + settings.attempt_timeout
    by_dns = ask_dns(dns_record, settings, settings.attempt_timeout / 2)
    if by_dns.good:
        return {"VerifiedDNS": by_dns}
    left = max(0.1, (end - time.monotonic()) / 2)
    return {"VerifiedDNS": by_dns, "VerifiedHTTP": ask_http(http_token, settings, left)}
