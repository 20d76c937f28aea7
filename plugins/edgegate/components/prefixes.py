"""Key prefixes of etcd: a further project's control plane is a copy of an untouched one's keys."""

import sys

from edgegate.components import etcd
from edgegate.components.control_plane import UPSTREAM, PlaneSpec
from edgegate.components.launch import Launch

TEMPLATE = "/template"
"""The upstream plane's keys as they were when only the CRDs had been applied."""


def keep_template(launch: Launch) -> None:
    """Copy the upstream plane's keys to the template; before anything but CRDs was created there."""
    _copy(launch, UPSTREAM.prefix, TEMPLATE)


def new_plane(launch: Launch, plane: PlaneSpec) -> None:
    """Fill a further project's prefix from the template, so that its API server starts with all CRDs."""
    _copy(launch, TEMPLATE, plane.prefix)


def _copy(launch: Launch, source: str, target: str) -> None:
    argv = [sys.executable, "-m", "edgegate.components.copy_prefix", etcd.CLIENT_URL, source, target]
    launch.lab.run(argv, env=launch.environment("etcd"), timeout=60)
