"""What a controller decided: steps, in order, that make the world as it should be.

A decision is a value. It can be compared in a test, and the only code that carries one out is `core.executor`.
"""

from dataclasses import dataclass, field
from enum import Enum

from edgegate_operator.kinds import Kind, Obj


class Plane(Enum):
    """Which of the two API servers a step is about."""

    UP = "upstream"
    DOWN = "downstream"


@dataclass(frozen=True)
class Apply:
    """Let an object be there with at least these fields.

    Owner references may leave out `uid`: it is filled in from the owner, which must stand earlier in the plan or
    exist already.
    """

    plane: Plane
    """Where."""
    obj: Obj
    """The fields that the controller owns, all of them each time."""
    touch: bool = False
    """Add fields to an object of somebody else; never create it. Its uid must be in `obj`."""


@dataclass(frozen=True)
class Status:
    """Set the status fields that the controller owns."""

    plane: Plane
    """Where."""
    obj: Obj
    """The object that the status belongs to."""
    status: Obj
    """The complete part of the status that is ours."""


@dataclass(frozen=True)
class Claim:
    """Create an object unless it exists, whoever made it: the first one wins."""

    plane: Plane
    """Where."""
    obj: Obj
    """The object."""


@dataclass(frozen=True)
class Delete:
    """Let an object be gone, if it still is that one."""

    plane: Plane
    """Where."""
    kind: Kind
    """Its kind."""
    namespace: str
    """Its namespace."""
    name: str
    """Its name."""
    uid: str = ""
    """Only the object with this uid; empty: whichever there is."""


Step = Apply | Status | Claim | Delete


@dataclass(frozen=True)
class Plan:
    """Steps in order, and when to look again although nothing happened."""

    steps: tuple[Step, ...] = field(default_factory=tuple)
    """What to do, first to last."""
    after: float | None = None
    """Seconds until the next look; None if only events matter."""


def removal(plane: Plane, obj: Obj, kind: Kind) -> Delete:
    """Return the step that removes exactly that object."""
    meta = obj["metadata"]
    return Delete(plane, kind, meta.get("namespace", ""), meta["name"], meta.get("uid", ""))
