"""Which containers under test have ended by themselves on clusters of kind; their kubelets start them again."""

from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from edgegate.clusters.kinds import POD
from edgegate.clusters.plane import ControlPlane, Manifest
from edgegate.components import envoy_gateway, pod_trouble, pods
from edgegate.components.bring_up import Planes
from edgegate.components.operator_manifests import NAMESPACE_NAME
from edgegate.edge.backends.kind_usage import out_of_memory
from edgegate.errors import CrashedUnderTest, PlaneUnreachable


class KindCrashes:
    """Looks at the pods of Envoy Gateway, of its proxies, and of an operator that runs as pods."""

    def __init__(self, planes: Planes, logs: Path, *, operator: bool) -> None:
        """Prepare; every end counts. What an ended container wrote is put into `logs`."""
        self._planes, self._logs, self._operator = planes, logs, operator
        self._before: dict[str, int] = {}

    def forgive(self) -> None:
        """Count as known what has ended until now, as it was before the run."""
        with suppress(PlaneUnreachable):  # whoever asks it next tells that
            every = [*self._edge(), *(pod for _, listed in self._of_operator() for pod in listed)]
            self._before = pod_trouble.ends(every)

    def forgive_gateway(self) -> None:
        """Count as known what has ended of Envoy Gateway alone, as it was meant."""
        with suppress(PlaneUnreachable):  # as above
            self._before |= pod_trouble.ends(self._gateway())

    def found(self, felled: Collection[str]) -> CrashedUnderTest | None:
        """Return the error for the first that has ended, None when none has. Those that were felled do not count."""
        if pods.GATEWAY not in felled and (one := self._crashed(self._planes.downstream, self._gateway())):
            return one
        return next((one for plane, listed in self._of_operator() if (one := self._crashed(plane, listed))), None)

    def found_out_of_memory(self) -> CrashedUnderTest | None:
        """Return the error for the first of the edge that was killed for its memory, None when none was."""
        name, limit = out_of_memory(self._edge(), self._before)
        what = f"was killed because it wanted more memory than {limit}"
        return CrashedUnderTest(name, what=what, log=self._logs, tail="") if name else None

    def _crashed(self, plane: ControlPlane, found: list[Manifest]) -> CrashedUnderTest | None:
        return pod_trouble.of_run(plane, found, self._logs, self._before)

    def _edge(self) -> list[Manifest]:
        return self._planes.downstream.list(POD, envoy_gateway.NAMESPACE_NAME)

    def _gateway(self) -> list[Manifest]:
        return pods.of(self._planes.downstream, envoy_gateway.NAMESPACE_NAME, pods.GATEWAY)

    def _of_operator(self) -> list[tuple[ControlPlane, list[Manifest]]]:
        planes = (self._planes.upstream, self._planes.downstream) if self._operator else ()
        return [(plane, plane.list(POD, NAMESPACE_NAME)) for plane in planes]
