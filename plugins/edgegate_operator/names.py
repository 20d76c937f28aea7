"""Names, labels and addresses that the operator derives (contract: names are a promise, words are not)."""

import hashlib
from collections.abc import Iterator

from edgegate_operator.kinds import Kind, Obj

META = "meta.datumapis.com"
CLUSTER_LABEL = f"{META}/upstream-cluster-name"
NAMESPACE_LABEL = f"{META}/upstream-namespace"
GROUP_LABEL, KIND_LABEL, NAME_LABEL = f"{META}/upstream-group", f"{META}/upstream-kind", f"{META}/upstream-name"
SOLVER_LABEL = f"{META}/http01-solver"

ISSUER_OPTION = "gateway.networking.datumapis.com/certificate-issuer"
GATEWAY_FINALIZER = "gateway.networking.datumapis.com/gateway-controller"
ROUTE_FINALIZER = "gateway.networking.datumapis.com/gateway-controller-gc"
REPLICATOR_FINALIZER = "gateway.networking.datumapis.com/gateway-resource-replicator"
PROXY_FINALIZER = "networking.datumapis.com/httpproxy-cleanup"
HELD_ANNOTATION = "edgegate.dev/held-for"

_LETTERS = "bcdfghjkmnpqrstvwxyz23456789"
_FIRST = (
    "amber brave calm clever coral crisp dapper eager early fair fancy fleet fresh gentle glad golden green happy",
    "hidden humble keen kind lively lucky mellow merry misty noble plain proud quick quiet rapid royal sharp silent",
    "silver simple smooth solid spare steady still sunny swift tidy vivid warm wise young",
)
_SECOND = (
    "acorn anchor arrow badger basin beacon birch bridge brook canyon cedar cliff cloud comet creek delta dune eagle",
    "ember falcon fern field fjord forest garden glacier grove harbor hazel heron island lagoon lantern maple meadow",
    "mesa oasis orchard otter pebble pine prairie raven reef ridge river sparrow spruce summit valley willow",
)


def canonical(uid: str, target_domain: str) -> str:
    """Return the host name of a Gateway: two words and five characters, the same for a uid each time."""
    digest = hashlib.sha256(uid.encode()).digest()
    tail = "".join(_LETTERS[byte % len(_LETTERS)] for byte in digest[:5])
    parts = []
    for lines, at in ((_FIRST, 5), (_SECOND, 7)):
        words = " ".join(lines).split()
        parts.append(words[int.from_bytes(digest[at : at + 2], "big") % len(words)])
    return f"{parts[0]}-{parts[1]}-{tail}.{target_domain}"


def record_set(gateway: str, hostname: str) -> str:
    """Return the name of the DNSRecordSet of one host name of a Gateway."""
    return f"{gateway}-{hashlib.sha256(hostname.encode()).hexdigest()[:8]}"


def cluster_label(project: str) -> str:
    """Return how a project is written in labels, where a slash is not allowed."""
    return "cluster-" + project.replace("/", "_")


def claim_owner(project: str, namespace: str, name: str) -> str:
    """Return how the holder of a claim is written."""
    return f"{project}/{namespace}/{name}"


def backend(route_uid: str, rule: int, ref: int) -> str:
    """Return the name of the downstream Service and EndpointSlice of one backend reference."""
    return f"route-{route_uid}-rule-{rule}-backendref-{ref}"


def namespace_for(space: Obj) -> str:
    """Return the downstream namespace of an upstream one."""
    return f"ns-{space['metadata']['uid']}"


def origin_key(cluster: str, namespace: str, name: str) -> str:
    """Return how the origin of downstream objects stands in an index."""
    return f"{cluster}/{namespace}/{name}"


def origins(obj: Obj) -> Iterator[str]:
    """Yield the origin that a downstream object's labels tell, for an index."""
    labels = obj["metadata"].get("labels") or {}
    if CLUSTER_LABEL in labels:
        yield origin_key(labels[CLUSTER_LABEL], labels.get(NAMESPACE_LABEL, ""), labels.get(NAME_LABEL, ""))


def anchor_name(uid: str) -> str:
    """Return the name of the ConfigMap whose deletion takes everything downstream of an object along."""
    return f"anchor-{uid}"


def provenance(project: str, kind: Kind, namespace: str, name: str) -> dict[str, str]:
    """Return the five labels that say where a downstream object comes from."""
    return {
        CLUSTER_LABEL: cluster_label(project),
        NAMESPACE_LABEL: namespace,
        GROUP_LABEL: kind.group,
        KIND_LABEL: kind.kind,
        NAME_LABEL: name[:63],
    }
