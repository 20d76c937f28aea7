"""The part `waf`: a firewall that the proxy asks about requests, and that the operator tells of policies."""

from edgegate.components.bring_up import Planes
from edgegate.components.graph import Step
from edgegate.components.launch import DATA, Launch
from edgegate.components.part import Part
from edgegate.lab import LabNet, ProcessSpec, Ready

NAME = "waf"
PORT = 9002
ADMIN_PORT = 9003
_FOLDER = f"{DATA}/waf"


def admin_url(net: LabNet) -> str:
    """Return where it has its metrics and is told of policies."""
    return f"http://{net.lab_ip}:{ADMIN_PORT}"


def place(net: LabNet) -> dict[str, object]:
    """Return what the operator has to know of it."""
    return {"url": admin_url(net), "host": net.lab_ip, "port": PORT}


def spec(launch: Launch) -> ProcessSpec:
    """Return how it is run. It keeps its policies, so that one that is started again goes on with them."""
    net = launch.lab.net
    launch.lab.run(["mkdir", "-p", _FOLDER])
    argv = (
        str(launch.artifacts["coraza"].binary(NAME)),
        f"--listen={net.lab_ip}:{PORT}",
        f"--admin={net.lab_ip}:{ADMIN_PORT}",
        f"--rules={launch.artifacts['coreruleset'].file('rules')}",
        f"--policies={_FOLDER}/policies.json",
    )
    # What fifty policies take (263 MiB), and the bodies that it may hold (256 MiB), with room for garbage.
    environment = launch.environment("coraza", GOMEMLIMIT="700MiB", TMPDIR=_FOLDER)
    return ProcessSpec(NAME, argv, env=environment, ready=Ready(kind="http", address=f"{admin_url(net)}/readyz"))


def steps(launch: Launch, planes: Planes) -> list[Step]:
    """Return the step that starts it."""
    return [Step(NAME, lambda: launch.lab.start(spec(launch)))]


PART = Part(name=NAME, pins=("coraza", "coreruleset"), steps=steps)
