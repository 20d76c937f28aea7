"""The part `ladder`: an origin that answers as it is told, for exchanges of many shapes and sizes."""

from pathlib import Path

from edgegate.components.bring_up import Planes
from edgegate.components.graph import Step
from edgegate.components.launch import Launch
from edgegate.components.part import Part
from edgegate.lab import LabNet, ProcessSpec, Ready

NAME = "ladder"
PORT = 9700


def address(net: LabNet) -> str:
    """Return where the origin listens, for HTTP/1.1 and for HTTP/2 without TLS."""
    return f"{net.lab_ip}:{PORT}"


def program(launch: Launch) -> Path:
    """Return the program that is origin and client."""
    return launch.artifacts[NAME].binary(NAME)


def spec(launch: Launch) -> ProcessSpec:
    """Return how the origin is run."""
    listen = address(launch.lab.net)
    argv = (str(program(launch)), "serve", "-listen", listen)
    environment = launch.environment(NAME, GOMEMLIMIT="200MiB")
    return ProcessSpec(NAME, argv, env=environment, ready=Ready(kind="http", address=f"http://{listen}/healthz"))


def steps(launch: Launch, planes: Planes) -> list[Step]:
    """Return the step that starts it."""
    return [Step(NAME, lambda: launch.lab.start(spec(launch)))]


PART = Part(name=NAME, pins=(NAME,), steps=steps)
