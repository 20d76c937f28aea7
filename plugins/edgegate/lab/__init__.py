"""The sandbox: kernel namespaces, supervisor, control socket, node agent."""

from edgegate.lab.control import Lab
from edgegate.lab.network import LabNet
from edgegate.lab.spec import Bind, ProcessSpec, ProcessStatus, Ready, Tools

__all__ = ["Bind", "Lab", "LabNet", "ProcessSpec", "ProcessStatus", "Ready", "Tools"]
