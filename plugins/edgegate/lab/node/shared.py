"""What all pods of the node share."""

import threading
from dataclasses import dataclass

from edgegate.lab.node.addresses import AddressBook
from edgegate.lab.node.config import Images, NodeConfig
from edgegate.lab.node.container import Runtime
from edgegate.lab.node.events import Recorder
from edgegate.lab.node.kube import Api
from edgegate.lab.node.leftovers import Table
from edgegate.lab.node.netns import Namespaces
from edgegate.lab.node.objects import Objects


@dataclass(frozen=True)
class Node:
    """The node, as a pod's worker uses it."""

    config: NodeConfig
    """What the agent was told."""
    images: Images
    """What stands for container images."""
    api: Api
    """The control plane."""
    objects: Objects
    """Secrets, ConfigMaps and tokens."""
    recorder: Recorder
    """Where events go."""
    namespaces: Namespaces
    """Networks."""
    runtime: Runtime
    """Containers."""
    table: Table
    """Processes that run."""
    addresses: AddressBook
    """Who has which address; guarded by `lock`."""
    lock: threading.Lock
    """Held while the book is used."""
    capacity: dict[str, str]
    """What the node has."""
