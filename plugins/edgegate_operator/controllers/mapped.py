"""How upstream objects are mapped downstream: namespace, labels, anchor."""

from edgegate_operator import names
from edgegate_operator.core.plan import Claim, Plane
from edgegate_operator.kinds import CONFIG_MAP, NAMESPACE, Obj, kind_of


def namespace(project: str, upstream: str, name: str) -> Claim:
    """Return the creation of the downstream namespace; the proxy's control plane looks at its labels once, at birth."""
    labels = {names.CLUSTER_LABEL: names.cluster_label(project), names.NAMESPACE_LABEL: upstream}
    return Claim(Plane.DOWN, NAMESPACE.named("", name, labels=labels))


def anchor(project: str, obj: Obj, space: str) -> Claim:
    """Return the creation of an object's anchor: the ConfigMap whose end is the end of all that was made from it."""
    meta = obj["metadata"]
    labels = names.provenance(project, kind_of(obj), meta["namespace"], meta["name"])
    return Claim(Plane.DOWN, CONFIG_MAP.named(space, names.anchor_name(meta["uid"]), labels=labels))


def reference(obj: Obj) -> Obj:
    """Return the owner reference to the anchor of an upstream object; without uid, which is filled in on the way."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "name": names.anchor_name(obj["metadata"]["uid"])}
