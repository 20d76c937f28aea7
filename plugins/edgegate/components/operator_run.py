"""How the operator under test is run: as processes of the lab, or as pods of the clusters."""

from dataclasses import dataclass
from typing import Protocol

from edgegate.clusters.plane import ControlPlane
from edgegate.components import operator_nso, operator_pods
from edgegate.components.bring_up import Planes, plane_of
from edgegate.components.control_plane import UPSTREAM
from edgegate.components.graph import Step
from edgegate.components.launch import DATA, Launch
from edgegate.components.nso_config import OPERATOR

CONFIG = operator_nso.CONFIG
REFERENCE_PORT = 8090


def steps(launch: Launch, planes: Planes) -> list[Step]:
    """Return the steps that start the real one."""
    run = operator_pods.steps if launch.operator.in_pods else operator_nso.steps
    return run(launch, planes)


class Running(Protocol):
    """The operator of an edge that is up."""

    def config(self) -> str:
        """Return the configuration that it runs with."""
        ...

    def stop(self) -> None:
        """Let it end."""
        ...

    def start(self, config: str) -> None:
        """Start what was stopped, with another configuration, and return when it is ready."""
        ...

    def restart(self) -> None:
        """Let it end in peace, start it again, and return when it is ready."""
        ...

    def metrics(self) -> list[str]:
        """Return where its processes have their metrics."""
        ...


def running(launch: Launch) -> Running:
    """Return what the operator of an edge is handled by."""
    return _Pods(launch, plane_of(launch, UPSTREAM)) if launch.operator.in_pods else _Process(launch)


@dataclass(frozen=True)
class _Process:
    launch: Launch

    def config(self) -> str:
        return self.launch.lab.get(f"{DATA}/config/{operator_nso.CONFIG}").decode()

    def stop(self) -> None:
        self.launch.lab.kill(OPERATOR)

    def start(self, config: str) -> None:
        self.launch.config(operator_nso.CONFIG, config)
        self.launch.lab.restart(OPERATOR)

    def restart(self) -> None:
        self.launch.lab.restart(OPERATOR)

    def metrics(self) -> list[str]:
        ports = [REFERENCE_PORT] if self.launch.operator.is_reference else operator_nso.METRICS.values()
        return [f"http://{self.launch.lab.net.lab_ip}:{port}/metrics" for port in ports]


@dataclass(frozen=True)
class _Pods:
    launch: Launch
    plane: ControlPlane

    def config(self) -> str:
        return operator_pods.read_config(self.plane)

    def stop(self) -> None:
        operator_pods.stop(self.plane)

    def start(self, config: str) -> None:
        operator_pods.write_config(self.plane, config)
        operator_pods.start(self.launch, self.plane)

    def restart(self) -> None:
        self.stop()
        operator_pods.start(self.launch, self.plane)

    def metrics(self) -> list[str]:
        return operator_pods.metrics_urls(self.launch)
