"""Pinned versions become files in the store."""

from edgegate.artifacts.artifact import Artifact
from edgegate.artifacts.progress import QUIET, Drawn, Lines, Progress, Quiet
from edgegate.artifacts.store import Store

__all__ = ["QUIET", "Artifact", "Drawn", "Lines", "Progress", "Quiet", "Store"]
