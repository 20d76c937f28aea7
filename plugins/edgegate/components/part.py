"""A part that an edge has only when it is asked for."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from edgegate.components.bring_up import Additions, Planes
from edgegate.components.graph import Step
from edgegate.components.launch import Launch
from edgegate.components.operator_choice import OperatorChoice


def _nothing(choice: OperatorChoice) -> Additions:
    return Additions()


@dataclass(frozen=True)
class Part:
    """One part: what it is made of, and how it starts. An edge without it needs none of this."""

    name: str
    """What users call it."""
    pins: tuple[str, ...]
    """The pins whose artifacts it needs."""
    steps: Callable[[Launch, Planes], list[Step]]
    """Returns the steps that start it; they may need any step of the default edge."""
    crds: Mapping[str, str] = field(default_factory=dict)
    """Pin to the file or folder, inside its artifact, of the CRDs that the downstream plane gets for it."""
    base: Callable[[OperatorChoice], Additions] = _nothing
    """Returns what the base state has for it beyond `crds`, with that operator."""
    variants: tuple[str, ...] = ("",)
    """The forms in which it can be had; the first one is the built-in."""
    needs: tuple[str, ...] = ()
    """Other parts that come with it."""
