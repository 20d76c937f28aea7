"""Which parts there are, and the choice of some of them for one edge."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from edgegate.artifacts import Artifact
from edgegate.components import acme, dns, ladder, operator, waf
from edgegate.components.base_state import crds_in
from edgegate.components.bring_up import Additions, Planes
from edgegate.components.graph import Step
from edgegate.components.launch import OURS, Launch
from edgegate.components.operator_choice import OperatorChoice
from edgegate.components.part import Part
from edgegate.errors import UnknownPart

PARTS = {part.name: part for part in (dns.PART, acme.PART, operator.PART, ladder.PART, waf.PART)}
"""Every part by its name, each after those that it needs."""


@dataclass(frozen=True)
class Parts:
    """The parts of one edge."""

    chosen: Mapping[str, str] = field(default_factory=dict)
    """Name of a part to its variant."""
    operator: OperatorChoice = OURS
    """The operator, where that part is among them."""

    @classmethod
    def choose(cls, words: Sequence[str], choice: OperatorChoice = OURS, *, dns_backend: str = "") -> "Parts":
        """Return the parts that words such as `dns`, `dns=sqlite` or `acme` ask for, with those that they need.

        `dns_backend` is the variant of `dns` where no word names one.

        Raises:
            UnknownPart: a word names no part, or no variant of one.
        """
        asked = dict(_read(word) for word in words)
        wanted = {name for asked_for in asked for name in _with_needs(asked_for)}
        asked[dns.PART.name] = asked.get(dns.PART.name) or dns_backend
        chosen = {name: asked.get(name) or part.variants[0] for name, part in PARTS.items() if name in wanted}
        return cls(chosen | ({operator.NAME: str(choice)} if operator.NAME in chosen else {}), choice)

    def __str__(self) -> str:
        """Return the words that ask for these parts; empty for the default edge."""
        return ", ".join(f"{name}={variant}" if variant else name for name, variant in self.chosen.items())

    @property
    def pins(self) -> tuple[str, ...]:
        """The pins beyond those of the default edge."""
        return tuple(pin for part in self._parts() for pin in part.pins)

    @property
    def crd_pins(self) -> tuple[str, ...]:
        """The pins whose CRDs belong to the base state."""
        return tuple(pin for part in self._parts() for pin in part.crds)

    @property
    def digest(self) -> str:
        """What changes whenever the operator does that these parts have; empty where they have none."""
        return self.operator.digest if operator.NAME in self.chosen else ""

    @property
    def base_digest(self) -> str:
        """The same for the operator's share of the base state."""
        return self.operator.base_digest if operator.NAME in self.chosen else ""

    def additions(self, artifacts: Mapping[str, Artifact]) -> Additions:
        """Return what the base state has beyond that of the default edge."""
        found = [artifacts[pin].file(path) for part in self._parts() for pin, path in part.crds.items()]
        crds = [crd for place in found for crd in crds_in(place)]
        more = [part.base(self.operator) for part in self._parts()]
        return Additions(
            [*crds, *(crd for one in more for crd in one.downstream)],
            [crd for one in more for crd in one.upstream],
            [obj for one in more for obj in one.objects],
        )

    def steps(self, launch: Launch, planes: Planes) -> list[Step]:
        """Return the steps that start these parts."""
        return [step for part in self._parts() for step in part.steps(launch, planes)]

    def _parts(self) -> Iterable[Part]:
        return (PARTS[name] for name in self.chosen)


def _read(word: str) -> tuple[str, str]:
    name, equals, variant = word.partition("=")
    part = PARTS.get(name)
    if part is None or (equals and variant not in part.variants):
        raise UnknownPart(word, [text for known in PARTS.values() for text in _forms(known)])
    return name, variant


def _forms(part: Part) -> list[str]:
    return [part.name, *(f"{part.name}={variant}" for variant in part.variants[1:])]


def _with_needs(name: str) -> set[str]:
    return {name}.union(*(_with_needs(other) for other in PARTS[name].needs))
