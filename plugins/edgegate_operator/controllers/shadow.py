"""Downstream shadows of DNS objects. Their provenance stands in annotations, as the DNS operator has it."""

from edgegate_operator import names
from edgegate_operator.core.plan import Claim, Plane
from edgegate_operator.kinds import CONFIG_MAP, Kind, Obj, kind_of
from edgegate_operator.site import Names, Site


def annotations(project: str, obj: Obj) -> dict[str, str]:
    """Return the annotations that say where a shadow comes from."""
    meta = obj["metadata"]
    return names.provenance(project, kind_of(obj), meta["namespace"], meta["name"])


def shadow(project: str, obj: Obj, space: str) -> Obj:
    """Return the downstream copy of a DNS object."""
    kind, meta = kind_of(obj), obj["metadata"]
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": names.anchor_name(meta["uid"])}
    copy = kind.named(space, meta["name"], annotations=annotations(project, obj), ownerReferences=[owner])
    copy["spec"] = obj["spec"]
    return copy


def origin(site: Site, obj: Obj) -> Names:
    """Wake for the upstream object that a shadow was made from."""
    found = obj["metadata"].get("annotations") or {}
    if found.get(names.CLUSTER_LABEL) == names.cluster_label(site.project):
        yield found.get(names.NAMESPACE_LABEL, ""), found.get(names.NAME_LABEL, "")


def zone_claim(project: str, zone: Obj, space: str) -> Claim:
    """Return the attempt to become the holder of a domain name."""
    meta = zone["metadata"]
    labels = names.provenance(project, kind_of(zone), meta["namespace"], meta["name"])
    obj = CONFIG_MAP.named(space, zone["spec"]["domainName"], labels=labels)
    obj["data"] = {"owner": names.claim_owner(project, meta["namespace"], meta["name"])}
    return Claim(Plane.DOWN, obj)


def of_kind(kind: Kind, obj: Obj, name: str) -> bool:
    """Return whether an object is of that kind and name."""
    return bool(obj["kind"] == kind.kind and obj["metadata"]["name"] == name)
