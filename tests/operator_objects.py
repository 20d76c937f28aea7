"""Objects for tests of the reference operator, as an API server would show them."""

from typing import Any

from edgegate_operator import kinds
from edgegate_operator.config import settings_from
from edgegate_operator.kinds import Kind, Obj
from edgegate_operator.settings import Settings

NOW = 1_800_000_000.0
EARLIER = "2026-01-01T00:00:00Z"
PROJECT, SPACE, BELOW = "single", "tenant-a", "ns-1234"
CANONICAL_SHAPE = r"[a-z]+-[a-z]+-[bcdfghjkmnpqrstvwxyz2-9]{5}\.edge\.test"


def settings(*faults: str, **more: Any) -> Settings:
    """Return settings for tests, with defects switched on."""
    gateway = {"ipFamilies": ["IPv4"], "clusterIssuerMap": {"auto": "lab-acme"}} | more.pop("gateway", {})
    data = {
        "projects": [{"name": PROJECT, "kubeconfig": "up"}],
        "downstream": {"kubeconfig": "down"},
        "gateway": gateway,
        "faults": list(faults),
    }
    return settings_from(data | more)


def obj(kind: Kind, name: str, space: str = SPACE, **parts: Any) -> Obj:
    """Return an object with uid, generation and creation time; `metadata` in parts is merged in."""
    meta = {"uid": f"uid-{name}", "generation": 1, "creationTimestamp": EARLIER, "resourceVersion": "1"}
    made = kind.named(space, name, **(meta | parts.pop("metadata", {})))
    return made | parts


def cond(kind: str, status: str = "True", reason: str = "", generation: int = 1, message: str = "") -> Obj:
    """Return a condition that has been so for a while."""
    head = {"type": kind, "status": status, "reason": reason or kind, "message": message}
    return head | {"observedGeneration": generation, "lastTransitionTime": EARLIER}


def with_conditions(thing: Obj, *found: Obj) -> Obj:
    """Return an object with those conditions in its status."""
    return thing | {"status": (thing.get("status") or {}) | {"conditions": list(found)}}


def proxy(*hostnames: str, name: str = "shop", endpoint: str = "http://origin.test:8080", **spec: Any) -> Obj:
    """Return an HTTPProxy with one backend."""
    rules = [{"matches": [{"path": {"type": "PathPrefix", "value": "/"}}], "backends": [{"endpoint": endpoint}]}]
    body: Obj = {"rules": rules} | ({"hostnames": list(hostnames)} if hostnames else {})
    return obj(kinds.HTTP_PROXY, name, spec=body | spec)


def listener(name: str, hostname: str | None, *, tls: bool = False) -> Obj:
    """Return a listener."""
    made: Obj = {"name": name, "port": 443 if tls else 80, "protocol": "HTTPS" if tls else "HTTP"}
    if hostname:
        made["hostname"] = hostname
    if tls:
        option = {"gateway.networking.datumapis.com/certificate-issuer": "auto"}
        made["tls"] = {"mode": "Terminate", "options": option}
    return made


def gateway(*hostnames: str, name: str = "shop", **parts: Any) -> Obj:
    """Return a Gateway with default listeners and two for each host name."""
    listeners = [listener("default-http", None), listener("default-https", None, tls=True)]
    for number, hostname in enumerate(hostnames):
        listeners.append(listener(f"http-hostname-{number}", hostname))
        listeners.append(listener(f"https-hostname-{number}", hostname, tls=True))
    spec = {"gatewayClassName": "datum-external-global-proxy", "listeners": listeners}
    return obj(kinds.GATEWAY, name, spec=spec, **parts)


def domain(name: str, *, verified: bool = True, nameservers: tuple[str, ...] = ("ns1.edge.test",), **parts: Any) -> Obj:
    """Return a Domain."""
    made = obj(kinds.DOMAIN, name, spec={"domainName": name}, **parts)
    made["status"] = {"nameservers": [{"hostname": server} for server in nameservers]}
    return with_conditions(made, cond("Verified", str(verified)))


def zone(name: str, *, programmed: bool = True, domain_name: str = "shop.test") -> Obj:
    """Return a DNSZone whose name servers are known."""
    made = obj(kinds.DNS_ZONE, name, spec={"domainName": domain_name, "dnsZoneClassName": "pdns"})
    made["status"] = {"nameservers": ["ns1.edge.test", "ns2.edge.test"]}
    return with_conditions(made, cond("Accepted"), cond("Programmed", str(programmed)))


def record_set(name: str, kind: str, *entries: Obj, zone: str = "shop-test", **parts: Any) -> Obj:
    """Return a DNSRecordSet."""
    spec = {"dnsZoneRef": {"name": zone}, "recordType": kind, "records": list(entries)}
    return obj(kinds.DNS_RECORD_SET, name, spec=spec, **parts)


def login_policy(name: str = "login", secret: str = "oidc", target: str = "shop", **parts: Any) -> Obj:
    """Return a SecurityPolicy for a Gateway that needs a Secret."""
    ref = {"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": target}
    oidc = {"provider": {"issuer": "https://login.test"}, "clientID": "shop", "clientSecret": {"name": secret}}
    return obj(kinds.SECURITY_POLICY, name, spec={"targetRefs": [ref], "oidc": oidc}, **parts)
