"""Certificates of listeners: which are wanted, which are usable, and which one serves a host name meanwhile."""

import functools
from base64 import b64decode
from collections.abc import Iterator
from dataclasses import dataclass

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

from edgegate_operator import conditions, faults, names
from edgegate_operator.core.plan import Apply, Delete, Plane, Step, removal
from edgegate_operator.kinds import CERTIFICATE, GATEWAY, SECRET, Obj
from edgegate_operator.settings import Gateways, Settings

ALMOST_EXPIRED = 60.0
"""A certificate that ends within so many seconds is not used any more."""

SETTLED = 75.0
"""Seconds for which a new certificate is not used where another one serves the host name already. Its Secret may have
held another host's before; a proxy remembers that for as long as old connections drain, 60 s unless told otherwise, and
serves it between the new listener and the new Secret, which come one after the other (seen: 18 ms and 72 ms)."""


@dataclass(frozen=True)
class Wanted:
    """A certificate that a listener needs."""

    listener: str
    """Name of the listener."""
    name: str
    """Name of Certificate and Secret."""
    hostname: str
    """The only name in it."""
    issuer: str
    """ClusterIssuer."""


@dataclass(frozen=True)
class Leaf:
    """What counts in a TLS Secret."""

    starts: float
    """Valid from, in seconds since 1970."""
    ends: float
    """Valid until."""
    hostnames: frozenset[str]
    """Names in it."""


@dataclass(frozen=True)
class Choice:
    """How the HTTPS listeners of a Gateway are served."""

    secrets: dict[str, str]
    """Secret for each listener that can be served."""
    withheld: frozenset[str]
    """Listeners without a usable certificate."""
    expiry: dict[str, float]
    """End of validity for each listener that is served, in seconds since 1970."""
    after: float | None = None
    """Seconds until a new certificate may be used in place of the one that serves meanwhile."""


@functools.lru_cache(maxsize=4096)
def _parse(chain: str, key: str) -> Leaf | None:
    try:
        leaf = x509.load_pem_x509_certificates(b64decode(chain))[0]
        # Whether its primes are primes is not ours to find out: 30 ms each, half of our time in a burst of 20 proxies.
        private = load_pem_private_key(b64decode(key), None, unsafe_skip_rsa_key_validation=True)
        names_in = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (ValueError, TypeError, IndexError, x509.ExtensionNotFound):
        return None
    form = (Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    if leaf.public_key().public_bytes(*form) != private.public_key().public_bytes(*form):
        return None
    begins, ends = leaf.not_valid_before_utc.timestamp(), leaf.not_valid_after_utc.timestamp()
    return Leaf(begins, ends, frozenset(names_in.get_values_for_type(x509.DNSName)))


def leaf_of(secret: Obj | None) -> Leaf | None:
    """Return the certificate in a Secret; None if there is none, or if its key is not the one that belongs to it."""
    data = (secret or {}).get("data") or {}
    return _parse(data.get("tls.crt", ""), data.get("tls.key", ""))


def _issuer(listeners: list[Obj], option: str, settings: Gateways) -> str | None:
    mapped = settings.cluster_issuer_map.get(option)
    if mapped:
        return mapped
    if option != "auto":
        return option
    others = [(item.get("tls") or {}).get("options", {}).get(names.ISSUER_OPTION) for item in listeners]
    return next((name for name in others if name and name != "auto"), None)


def is_shared(hostname: str, settings: Gateways) -> bool:
    """Return whether the shared certificate covers a host name."""
    return bool(settings.default_listener_tls_secret_name) and hostname.endswith("." + settings.target_domain)


def wanted(gateway: Obj, listeners: list[Obj], settings: Gateways) -> Iterator[Wanted]:
    """Yield the certificate of each of those HTTPS listeners; the caller passes only those that may be served."""
    for item in listeners:
        option = (item.get("tls") or {}).get("options", {}).get(names.ISSUER_OPTION)
        if item["protocol"] != "HTTPS" or not option or is_shared(item["hostname"], settings):
            continue
        issuer = _issuer(listeners, option, settings)
        if issuer:
            yield Wanted(item["name"], f"{gateway['metadata']['name']}-{item['name']}", item["hostname"], issuer)


def certificate(item: Wanted, namespace: str, labels: dict[str, str], owners: list[Obj]) -> Obj:
    """Return the Certificate object."""
    obj = CERTIFICATE.named(namespace, item.name, labels=labels, ownerReferences=owners)
    obj["spec"] = {
        "secretName": item.name,
        "dnsNames": [item.hostname],
        "issuerRef": {"group": CERTIFICATE.group, "kind": "ClusterIssuer", "name": item.issuer},
        "secretTemplate": {"labels": {names.CLUSTER_LABEL: labels[names.CLUSTER_LABEL]}},
    }
    return obj


def usable(obj: Obj | None, secret: Obj | None, hostname: str, now: float) -> Leaf | None:
    """Return the certificate if it may serve that host name now."""
    leaf = leaf_of(secret)
    if leaf is None or obj is None or not conditions.is_true(obj, "Ready"):
        return None
    if hostname not in leaf.hostnames or now < leaf.starts or now > leaf.ends - ALMOST_EXPIRED:
        return None
    return leaf


def choose(
    needed: list[Wanted],
    listeners: list[Obj],
    held: dict[str, Obj],
    secrets: dict[str, Obj],
    settings: Settings,
    now: float,
) -> Choice:
    """Return which Secret serves which listener.

    Listeners are numbered, so the removal of one host name renames those behind it. Until the Certificate of the new
    name is there, the one of the old name goes on: a host name that is kept must not get dark.
    """
    found: dict[str, str] = {}
    expiry: dict[str, float] = {}
    waits: list[float] = []
    borrowed = [] if settings.has(faults.RENAMED_LISTENER_DARK) else sorted(held)
    for item in needed:
        leaves = {
            name: usable(held.get(name), secrets.get(name), item.hostname, now) for name in (item.name, *borrowed)
        }
        good = {name: leaf for name, leaf in leaves.items() if leaf}
        wait = SETTLED - _age(held.get(item.name), now)
        if item.name in good and len(good) > 1 and wait > 0:
            del good[item.name]
            waits.append(wait)
        for name, leaf in list(good.items())[:1]:
            found[item.listener], expiry[item.listener] = name, leaf.ends
    shared = settings.gateway.default_listener_tls_secret_name
    https = [item for item in listeners if item["protocol"] == "HTTPS"]
    found |= {item["name"]: shared for item in https if is_shared(item["hostname"], settings.gateway)}
    withheld = frozenset(item["name"] for item in https if item["name"] not in found)
    return Choice(found, withheld, expiry, min(waits, default=None))


def _age(obj: Obj | None, now: float) -> float:
    """Return the seconds since a Certificate became ready."""
    ready = conditions.of(obj, "Ready").get("lastTransitionTime")
    return now - conditions.seconds(ready) if ready else 0.0


def stale(needed: list[Wanted], choice: Choice, held: dict[str, Obj], secrets: dict[str, Obj]) -> Iterator[Step]:
    """Yield the removal of each Certificate, with its Secret, that no listener wants or borrows."""
    kept = {item.name for item in needed} | set(choice.secrets.values())
    for name, obj in held.items():
        if name not in kept:
            yield removal(Plane.DOWN, obj, CERTIFICATE)
            if name in secrets:  # cert-manager leaves it
                yield removal(Plane.DOWN, secrets[name], SECRET)


@dataclass(frozen=True)
class Retry:
    """What happens to failed certificates now, and when to look again."""

    removed: tuple[Delete, ...]
    """Certificates to delete, so that they are asked for anew."""
    counts: dict[str, str]
    """Attempts so far, as annotations of the downstream Gateway."""
    after: float | None
    """Seconds until the next one is due."""


def retries(needed: list[Wanted], held: dict[str, Obj], below: Obj | None, settings: Settings, now: float) -> Retry:
    """Return which Certificates are tried anew: some time after a failure, and not for ever."""
    prefix = "networking.datumapis.com/reissuance-count-"
    seen = ((below or {}).get("metadata") or {}).get("annotations") or {}
    counts, removed, waits = {}, [], []
    again = settings.gateway.certificate_reissuance
    for item in needed:
        obj = held.get(item.name)
        if obj is None or "deletionTimestamp" in obj["metadata"]:
            continue
        count = int(seen.get(prefix + item.name, "0"))
        failed = (obj.get("status") or {}).get("lastFailureTime")
        if failed and not settings.has(faults.CERTIFICATE_GIVEN_UP) and count < again.max_retries:
            wait = conditions.seconds(failed) + again.retry_interval - now
            if wait > 0:
                waits.append(wait)
            else:
                removed.append(removal(Plane.DOWN, obj, CERTIFICATE))
                count += 1
        if count and not conditions.is_true(obj, "Ready"):
            counts[prefix + item.name] = str(count)
    return Retry(tuple(removed), counts, min(waits, default=None))


def applied(needed: list[Wanted], namespace: str, labels: dict[str, str], anchor: Obj, gateway: str) -> Iterator[Step]:
    """Yield each wanted Certificate. Its controller is the downstream Gateway."""
    owner = {"apiVersion": GATEWAY.api_version, "kind": GATEWAY.kind, "name": gateway, "controller": True}
    for item in needed:
        yield Apply(Plane.DOWN, certificate(item, namespace, labels, [owner, anchor]))
