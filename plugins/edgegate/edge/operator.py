"""The operator under test as scenarios use it: what it can, and what only the lab can do for it."""

from edgegate.clusters.plane import ControlPlane, Manifest
from edgegate.components import operator
from edgegate.components.launch import Launch
from edgegate.edge.zone import Zone
from edgegate.errors import NotShown

REFERENCE = ("reference-operator", "operator-faults")
REAL = ("real-operator",)


class Operator:
    """The operator of one edge."""

    def __init__(self, launch: Launch, upstream: ControlPlane) -> None:
        self._launch, self._upstream = launch, upstream
        self.choice = launch.operator
        self.present = operator.NAME in launch.parts

    def check(self) -> None:
        """Raise NotShown when the edge was made without one."""
        if not self.present:
            raise NotShown("this edge was made without the part 'operator', so nobody acts on customers' objects in it")

    @property
    def capabilities(self) -> tuple[str, ...]:
        """What only one of the operators has, by name; empty without an operator."""
        if not self.present:
            return ()
        return REFERENCE if self.choice.is_reference else REAL

    @property
    def kind(self) -> str:
        """Return `reference` or `real`, as budgets name it."""
        return "reference" if self.choice.is_reference else "real"

    def zone_class(self, name: str) -> Manifest:
        """Return a further class of zones, served as the usual one is; it must exist on both planes."""
        return operator.zone_class(name)

    def restart(self) -> None:
        """Restart its process and return when it works again."""
        self._launch.lab.restart(operator.NAME)

    def delegate(self, zone: Zone, within: float) -> None:
        """Return once a zone is served and its Domain is verified.

        Raises:
            NeverReady: not within that many seconds.
        """
        zone.wait_programmed(within)
        zone.wait_verified(within)
