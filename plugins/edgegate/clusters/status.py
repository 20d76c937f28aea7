"""What an object's status says."""

from collections.abc import Iterator
from typing import Any

Manifest = dict[str, Any]


def conditions(manifest: Manifest | None) -> dict[str, Manifest]:
    """Return an object's conditions by type; empty while it has none (`status.conditions` may be null)."""
    status = (manifest or {}).get("status") or {}
    return {condition["type"]: condition for condition in status.get("conditions") or []}


def is_true(manifest: Manifest | None, condition: str) -> bool:
    """Tell whether a condition is True for the object's present generation."""
    found = conditions(manifest).get(condition)
    if manifest is None or found is None or found["status"] != "True":
        return False
    generation = manifest["metadata"].get("generation", 0)
    return bool(found.get("observedGeneration", generation) >= generation)


def summary(manifest: Manifest | None) -> str:
    """Return what an object's conditions say, and what keeps it from going away, in one line for an error text.

    Routes and policies have their conditions once for each parent or ancestor.
    """
    if manifest is None:
        return "no such object"
    said = [f"{c['type']}={c['status']} ({c.get('reason')}: {c.get('message')})" for c in _every_condition(manifest)]
    metadata = manifest.get("metadata") or {}
    if metadata.get("deletionTimestamp") and metadata.get("finalizers"):
        said.append(f"being deleted, finalizers: {', '.join(metadata['finalizers'])}")
    return "; ".join(said) or "no conditions yet"


def ends_of(container: Manifest) -> list[Manifest]:
    """Return how a container has ended: now, then before it was started again; empty when it never has."""
    ends = [(container.get(when) or {}).get("terminated") for when in ("state", "lastState")]
    return [end for end in ends if end]


def times_ended(container: Manifest) -> int:
    """Return how often a container has ended; 0 while its status does not say how."""
    if not ends_of(container):
        return 0
    # The count is of starts after the first: an end from which it has not been started again comes on top.
    return int(container.get("restartCount", 0)) + ("running" not in container["state"])


def _every_condition(manifest: Manifest) -> Iterator[Manifest]:
    status = manifest.get("status") or {}
    for holder in (status, *(status.get("parents") or []), *(status.get("ancestors") or [])):
        yield from holder.get("conditions") or []
