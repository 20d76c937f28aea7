"""Which host names a Gateway may serve: canonical ones, and those that are verified and that it claimed first."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from edgegate_operator import conditions, faults, names
from edgegate_operator.core.plan import Claim, Plane, Step, removal
from edgegate_operator.kinds import CONFIG_MAP, DOMAIN, GATEWAY, Obj
from edgegate_operator.settings import Gateways, Settings

DEFAULTS = ("default-http", "default-https")
"""Listeners that get the canonical host name."""


@dataclass(frozen=True)
class Grants:
    """What became of each host name that a Gateway declares."""

    managed: frozenset[str]
    """Names under the target domain that are ours by construction."""
    verified: frozenset[str]
    """Names that a verified Domain covers (or that need none)."""
    holders: dict[str, str]
    """Who holds the claim of a name, as `project/namespace/gateway`."""
    me: str
    """How this Gateway is written as holder."""

    def serves(self, hostname: str | None) -> bool:
        """Return whether listeners with that host name may go downstream."""
        if hostname is None:
            return False
        return hostname in self.managed or (hostname in self.verified and self.holders.get(hostname) == self.me)

    def is_taken(self, hostname: str | None) -> bool:
        """Return whether somebody else holds the claim."""
        return hostname in self.verified and self.holders.get(hostname, self.me) != self.me


def canonical_name(gateway: Obj, settings: Gateways) -> str:
    """Return the canonical host name: an address that was given out already, else the one computed from the uid."""
    for address in (gateway.get("status") or {}).get("addresses") or []:
        value = str(address["value"])
        if value.endswith("." + settings.target_domain) and value.split(".", maxsplit=1)[0] not in ("v4", "v6"):
            return value
    return names.canonical(gateway["metadata"]["uid"], settings.target_domain)


def managed_names(canonical: str, settings: Gateways) -> tuple[str, ...]:
    """Return the canonical name and its variants for each address family."""
    variants = {"IPv4": f"v4.{canonical}", "IPv6": f"v6.{canonical}"}
    return (canonical, *(variants[family] for family in settings.ip_families))


def with_canonical(gateway: Obj, canonical: str) -> list[Obj]:
    """Return the listeners as they are meant: default ones carry the canonical host name."""
    return [
        item | {"hostname": canonical} if item["name"] in DEFAULTS else item for item in gateway["spec"]["listeners"]
    ]


def declared(listeners: Iterable[Obj], managed: Iterable[str]) -> list[str]:
    """Return the host names that need a Domain and a claim, each once, in order."""
    skip = set(managed)
    return list(dict.fromkeys(i["hostname"] for i in listeners if i.get("hostname") and i["hostname"] not in skip))


def covers(domain: Obj, hostname: str) -> bool:
    """Return whether a Domain is the host name or a parent of it."""
    name = domain["spec"]["domainName"]
    return bool(hostname == name or hostname.endswith("." + name))


def verified_names(hostnames: list[str], domains: list[Obj], below: Obj | None, settings: Gateways) -> frozenset[str]:
    """Return which host names a verified Domain covers. What is served already stays, its Domain gone or not."""
    if settings.disable_hostname_verification:
        return frozenset(hostnames)
    served = {item.get("hostname") for item in (below or {}).get("spec", {}).get("listeners", [])}
    good = [domain for domain in domains if conditions.is_true(domain, "Verified")]
    return frozenset(name for name in hostnames if name in served or any(covers(domain, name) for domain in good))


def missing_domains(hostnames: list[str], domains: list[Obj], namespace: str) -> Iterator[Step]:
    """Yield the creation of a Domain (the last two labels) for each host name that none covers."""
    wanted = dict.fromkeys(
        ".".join(name.split(".")[-2:]) for name in hostnames if not any(covers(domain, name) for domain in domains)
    )
    for name in wanted:
        yield Claim(Plane.UP, DOMAIN.named(namespace, name) | {"spec": {"domainName": name}})


def claim(hostname: str, project: str, gateway: Obj, settings: Gateways) -> Claim:
    """Return the attempt to become the holder of a host name."""
    meta = gateway["metadata"]
    labels = {
        names.CLUSTER_LABEL: names.cluster_label(project),
        names.NAMESPACE_LABEL: meta["namespace"],
        names.NAME_LABEL: meta["name"],
    }
    obj = CONFIG_MAP.named(settings.downstream_hostname_accounting_namespace, hostname, labels=labels)
    obj["data"] = {"owner": names.claim_owner(project, meta["namespace"], meta["name"])}
    return Claim(Plane.DOWN, obj)


def stale_claims(claims: Iterable[Obj], me: str, wanted: frozenset[str], settings: Settings) -> Iterator[Step]:
    """Yield the release of each claim that this Gateway holds and does not need."""
    for obj in () if settings.has(faults.CLAIM_KEPT) else claims:
        if (obj.get("data") or {}).get("owner") == me and obj["metadata"]["name"] not in wanted:
            yield removal(Plane.DOWN, obj, CONFIG_MAP)


def _unserved(listener: Obj, grants: Grants) -> tuple[str, str] | None:
    """Return reason and message if a listener must not be served at all."""
    hostname = listener.get("hostname")
    if hostname is None:
        return "HostnameMissing", "A listener without a host name is not supported"
    if grants.is_taken(hostname):
        return "HostnameInUse", f"{hostname} is held by another Gateway"
    if not grants.serves(hostname):
        return "UnverifiedHostnamesPresent", f"No verified Domain covers {hostname}"
    return None


def invalid_listeners(listeners: Iterable[Obj], grants: Grants) -> list[str]:
    """Return the names of listeners that must not be served."""
    return [item["name"] for item in listeners if _unserved(item, grants)]


def _programmed(below: Obj | None, name: str, generation: int) -> Obj:
    listeners = ((below or {}).get("status") or {}).get("listeners") or []
    found: Obj = next((item for item in listeners if item["name"] == name), {})
    seen = conditions.find(found.get("conditions"), "Programmed")
    good = seen.get("status") == "True"
    reason, message = seen.get("reason") or "Pending", seen.get("message") or "Not programmed downstream yet"
    return conditions.condition("Programmed", good, reason, message, generation)


def _listener_conditions(
    listener: Obj, grants: Grants, withheld: frozenset[str], below: Obj | None, gen: int
) -> list[Obj]:
    wrong = _unserved(listener, grants)
    resolved = conditions.condition("ResolvedRefs", True, "ResolvedRefs", "Nothing is missing", gen)
    if wrong:
        return [*(conditions.condition(kind, False, *wrong, gen) for kind in ("Accepted", "Programmed")), resolved]
    accepted = conditions.condition("Accepted", True, "Accepted", "The host name is served", gen)
    if listener["name"] in withheld:
        text = "No usable certificate yet"
        programmed = conditions.condition("Programmed", False, "Invalid", text, gen)
        return [accepted, programmed, conditions.condition("ResolvedRefs", False, "InvalidCertificateRef", text, gen)]
    return [accepted, _programmed(below, listener["name"], gen), resolved]


def statuses(
    gateway: Obj, listeners: list[Obj], grants: Grants, withheld: frozenset[str], below: Obj | None, routes: list[Obj]
) -> list[Obj]:
    """Return the status of each listener, without times."""
    found: list[Obj] = []
    for item in listeners:
        attached = sum(_attaches(route, gateway, item["name"]) for route in routes)
        seen = _listener_conditions(item, grants, withheld, below, gateway["metadata"]["generation"])
        kinds = [{"group": GATEWAY.group, "kind": "HTTPRoute"}]
        found.append({"name": item["name"], "attachedRoutes": attached, "supportedKinds": kinds, "conditions": seen})
    return found


def _attaches(route: Obj, gateway: Obj, listener: str) -> bool:
    return any(
        ref["name"] == gateway["metadata"]["name"] and ref.get("sectionName", listener) == listener
        for ref in route["spec"].get("parentRefs") or []
        if ref.get("kind", "Gateway") == "Gateway"
    )


def downstream_listeners(listeners: list[Obj], grants: Grants, secrets: dict[str, str]) -> list[Obj]:
    """Return the listeners of the downstream Gateway; `secrets` names one for each that has a usable certificate."""
    found: list[Obj] = []
    for item in listeners:
        if not grants.serves(item.get("hostname")):
            continue
        if item["protocol"] != "HTTPS":
            found.append(item)
        elif item["name"] in secrets:
            reference = {"group": "", "kind": "Secret", "name": secrets[item["name"]]}
            options = {k: v for k, v in (item["tls"].get("options") or {}).items() if k != names.ISSUER_OPTION}
            tls = {"mode": "Terminate", "certificateRefs": [reference]} | ({"options": options} if options else {})
            found.append(item | {"tls": tls})
    return found


def is_ours(klass: Obj | None, settings: Settings) -> bool:
    """Return whether a GatewayClass exists and is managed by us."""
    return klass is not None and klass["spec"]["controllerName"] == settings.gateway.controller_name
