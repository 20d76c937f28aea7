"""The real operators, network-services-operator and dns-operator, as processes in place of ours."""

from edgegate.components.bring_up import Planes
from edgegate.components.graph import Step
from edgegate.components.launch import Launch


def steps(launch: Launch, planes: Planes) -> list[Step]:
    """Return the steps that start both."""
    raise NotImplementedError
