"""The environment of a container, and the fields of a pod that it may quote. Pure functions."""

import math
import re
from base64 import b64decode
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from edgegate.errors import PodTrouble
from edgegate.lab.node.kube import Json

_REFERENCE = re.compile(r"\$(?:(\$)|\(([^)]*)\))", re.DOTALL)
_KEYED = re.compile(r"metadata\.(labels|annotations)\['([^']*)'\]")
_QUANTITY = re.compile(r"([+-]?\d+(?:\.\d*)?|\.\d+)(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|[eE][+-]?\d+)?")
_SCALE = {"m": 1e-3, "": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}
_BINARY = {f"{letter}i": 1024**power for power, letter in enumerate("KMGTPE", start=1)}

Lookup = Callable[[str, str], Json | None]
"""Gives the object of a kind (`Secret` or `ConfigMap`) with that name in the pod's namespace."""


@dataclass(frozen=True)
class Facts:
    """What a pod learns about itself only once it runs."""

    pod_ip: str
    """Its address."""
    host_ip: str
    """The node's address."""
    node: str
    """The node's name."""
    capacity: dict[str, str]
    """What stands for a limit that a container does not have."""


def expand(text: str, env: Mapping[str, str]) -> str:
    """Replace each `$(NAME)` that `env` has; `$$` is a dollar sign, and what is unknown stays as it is."""

    def value(found: re.Match[str]) -> str:
        return "$" if found[1] else env.get(found[2], found[0])

    return _REFERENCE.sub(value, text)


def field(pod: Json, path: str, facts: Facts) -> str:
    """Return the field of a pod that a `fieldRef` names.

    Raises:
        PodTrouble: there is no such field.
    """
    metadata, spec = pod["metadata"], pod["spec"]
    if keyed := _KEYED.fullmatch(path):
        return str((metadata.get(keyed[1]) or {}).get(keyed[2], ""))
    known: dict[str, Callable[[], str]] = {
        "metadata.name": lambda: metadata["name"],
        "metadata.namespace": lambda: metadata["namespace"],
        "metadata.uid": lambda: metadata["uid"],
        "metadata.labels": lambda: _listed(metadata.get("labels")),
        "metadata.annotations": lambda: _listed(metadata.get("annotations")),
        "spec.nodeName": lambda: facts.node,
        "spec.serviceAccountName": lambda: spec.get("serviceAccountName", "default"),
        "status.hostIP": lambda: facts.host_ip,
        "status.hostIPs": lambda: facts.host_ip,
        "status.podIP": lambda: facts.pod_ip,
        "status.podIPs": lambda: facts.pod_ip,
    }
    if path not in known:
        raise PodTrouble("CreateContainerConfigError", f"fieldPath {path!r} is not supported")
    return known[path]()


def _listed(values: Mapping[str, str] | None) -> str:
    def quoted(value: str) -> str:
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'

    return "\n".join(f"{key}={quoted(value)}" for key, value in sorted((values or {}).items()))


def quantity(text: str) -> float:
    """Return the number that a Kubernetes quantity such as `250m` or `64Mi` means.

    Raises:
        ValueError: it is none.
    """
    found = _QUANTITY.fullmatch(str(text))
    if not found:
        raise ValueError(f"{text!r} is not a quantity")
    suffix = found[2] or ""
    if suffix[:1] in ("e", "E") and len(suffix) > 1 and suffix != "Ei":
        return float(found[0])
    return float(found[1]) * (_BINARY.get(suffix) or _SCALE[suffix])


def resource(pod: Json, container: Json, ref: Json, facts: Facts) -> str:
    """Return what a `resourceFieldRef` asks for, rounded up to its divisor.

    Raises:
        PodTrouble: another resource than cpu, memory or ephemeral-storage, or an unknown container.
    """
    if wanted := ref.get("containerName"):
        everyone = pod["spec"].get("initContainers", []) + pod["spec"]["containers"]
        found = [one for one in everyone if one["name"] == wanted]
        if not found:
            raise PodTrouble("CreateContainerConfigError", f"resourceFieldRef: no container {wanted!r}")
        container = found[0]
    kind, _, name = ref["resource"].partition(".")
    if kind not in ("limits", "requests") or name not in ("cpu", "memory", "ephemeral-storage"):
        raise PodTrouble("CreateContainerConfigError", f"resource {ref['resource']!r} is not supported")
    amount = (container.get("resources") or {}).get(kind, {}).get(name)
    if amount is None:
        amount = facts.capacity.get(name, "0") if kind == "limits" else "0"
    divisor = quantity(ref.get("divisor") or "1") or 1
    return str(math.ceil(quantity(amount) / divisor))


def environment(pod: Json, container: Json, facts: Facts, lookup: Lookup, base: Mapping[str, str]) -> dict[str, str]:
    """Return a container's whole environment: the image's, then `envFrom`, then `env` in order.

    Raises:
        PodTrouble: CreateContainerConfigError, when a Secret, ConfigMap or key that is not optional is missing.
    """
    env = dict(base)
    for source in container.get("envFrom") or []:
        env.update(_all_of(source, lookup))
    for entry in container.get("env") or []:
        if "valueFrom" not in entry:
            env[entry["name"]] = expand(entry.get("value", ""), env)
        elif (value := _from(pod, container, entry["valueFrom"], facts, lookup)) is not None:
            env[entry["name"]] = value
    return env


def _all_of(source: Json, lookup: Lookup) -> dict[str, str]:
    kind, ref = ("Secret", source["secretRef"]) if "secretRef" in source else ("ConfigMap", source["configMapRef"])
    found = lookup(kind, ref["name"])
    if found is None:
        if ref.get("optional"):
            return {}
        raise PodTrouble("CreateContainerConfigError", f'{kind.lower()} "{ref["name"]}" not found')
    values = {key: value.decode(errors="surrogateescape") for key, value in content(found).items()}
    return {source.get("prefix", "") + key: value for key, value in values.items()}


def _from(pod: Json, container: Json, source: Json, facts: Facts, lookup: Lookup) -> str | None:
    if "fieldRef" in source:
        return field(pod, source["fieldRef"]["fieldPath"], facts)
    if "resourceFieldRef" in source:
        return resource(pod, container, source["resourceFieldRef"], facts)
    for word, kind in (("secretKeyRef", "Secret"), ("configMapKeyRef", "ConfigMap")):
        if word in source:
            return _key(kind, source[word], lookup)
    raise PodTrouble("CreateContainerConfigError", f"valueFrom {', '.join(source)} is not supported")


def _key(kind: str, ref: Json, lookup: Lookup) -> str | None:
    found = lookup(kind, ref["name"])
    if found is None:
        trouble = f'{kind.lower()} "{ref["name"]}" not found'
    elif (value := content(found).get(ref["key"])) is not None:
        return value.decode(errors="surrogateescape")
    else:
        trouble = f"couldn't find key {ref['key']} in {kind} {found['metadata']['namespace']}/{ref['name']}"
    if ref.get("optional"):
        return None
    raise PodTrouble("CreateContainerConfigError", trouble)


def content(found: Json) -> dict[str, bytes]:
    """Return the entries of a Secret or ConfigMap as bytes."""
    if found["kind"] == "Secret":
        return {key: b64decode(value) for key, value in (found.get("data") or {}).items()}
    plain = {key: value.encode() for key, value in (found.get("data") or {}).items()}
    return plain | {key: b64decode(value) for key, value in (found.get("binaryData") or {}).items()}
