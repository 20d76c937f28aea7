"""Conditions: how they are written, read and kept stable."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from edgegate_operator.kinds import Obj


def timestamp(now: float) -> str:
    """Return seconds since 1970 the way the API writes times."""
    return datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def seconds(text: str) -> float:
    """Return a time of the API, with or without fractions, as seconds since 1970."""
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def condition(kind: str, good: bool | None, reason: str, message: str, generation: int) -> Obj:
    """Return a condition without its time; `good` None is Unknown."""
    status = "Unknown" if good is None else "True" if good else "False"
    return {
        "type": kind, "status": status, "reason": reason, "message": message, "observedGeneration": generation
    }  # fmt: skip


def dated(wanted: Iterable[Obj], before: Any, now: float) -> list[Obj]:
    """Return conditions with times: the old one where the status did not change, otherwise now."""
    old = {item["type"]: item for item in before or []}
    return [
        item
        | {
            "lastTransitionTime": old[item["type"]]["lastTransitionTime"]
            if item["type"] in old and old[item["type"]]["status"] == item["status"]
            else timestamp(now)
        }
        for item in wanted
    ]


def find(conditions: Any, kind: str) -> Obj:
    """Return the condition of that type, or an empty one."""
    return next((item for item in conditions or [] if item["type"] == kind), {})


def of(obj: Obj | None, kind: str) -> Obj:
    """Return a condition in an object's status, or an empty one."""
    return find(((obj or {}).get("status") or {}).get("conditions"), kind)


def is_true(obj: Obj | None, kind: str) -> bool:
    """Return whether an object has a condition of that type with status True."""
    return bool(of(obj, kind).get("status") == "True")


def is_current(obj: Obj | None, kind: str) -> bool:
    """Return whether a condition is about the object's present generation."""
    seen = of(obj, kind).get("observedGeneration")
    return obj is not None and seen == obj["metadata"].get("generation")
