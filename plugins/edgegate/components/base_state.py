"""What every edge starts with: CRDs, namespaces and control-plane certificates, applied once for a fingerprint.

Applying some 80 CRDs is the largest part of a first start, because an API server rebuilds its OpenAPI document for
each. So the result is kept as a copy of etcd's data, and a warm start begins with that copy.
"""

import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import yaml

from edgegate.artifacts import Artifact
from edgegate.clock import wait_until
from edgegate.clusters.kinds import CRD
from edgegate.clusters.plane import ControlPlane, Manifest, is_true
from edgegate.components import etcd
from edgegate.components.graph import Step, run_steps
from edgegate.components.launch import Launch

_ENVOY_CRDS = "charts/gateway-crds-helm/templates/generated"
_GATEWAY_CRDS = "config/crd/experimental"

_AT_ONCE = 8
KEPT = 16
"""Base states that stay: as many combinations of versions and parts are in use at the same time."""


class BaseStates:
    """The folder of kept base states, one data folder of etcd a fingerprint."""

    def __init__(self, folder: Path, fingerprint: str) -> None:
        self._kept = folder / fingerprint

    @property
    def exists(self) -> bool:
        """Tell whether a start with this fingerprint can be a warm one."""
        return self._kept.is_dir()

    def restore(self, launch: Launch) -> None:
        """Put the kept data where etcd will look for it; etcd must not run yet."""
        with suppress(OSError):  # a read-only one is used all the same
            self._kept.touch()  # first, so that nobody takes it for an old one and removes it under us
        launch.lab.run(["cp", "--archive", "--sparse=always", str(self._kept), etcd.DATA_FOLDER])

    def keep(self, launch: Launch) -> None:
        """Copy etcd's data while it is frozen.

        The copy is what `kill -9` would leave, and etcd recovers from that by design.
        """
        partial = self._kept.with_name(f"{self._kept.name}.{os.getpid()}.partial")
        partial.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            launch.lab.pause(etcd.NAME)
            try:
                launch.lab.run(["cp", "--archive", "--sparse=always", etcd.DATA_FOLDER, str(partial)])
            finally:
                launch.lab.resume(etcd.NAME)
            with suppress(OSError):  # another start with the same fingerprint was quicker
                partial.rename(self._kept)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
        self._forget_old()

    def _forget_old(self) -> None:
        """Remove all but the states that were used last: each is 30 MiB, and every new version of ours adds one."""
        with suppress(OSError):  # another start does the same right now
            states = sorted(self._kept.parent.iterdir(), key=lambda state: state.stat().st_mtime, reverse=True)
            for old in states[KEPT:]:
                shutil.rmtree(old, ignore_errors=True)


def crds(gateway_api: Artifact, envoy_gateway: Artifact) -> list[Manifest]:
    """Return the CRDs of Gateway API and Envoy Gateway, read from the pinned modules."""
    return [*crds_in(gateway_api.file(_GATEWAY_CRDS)), *crds_in(envoy_gateway.file(_ENVOY_CRDS))]


def crds_in(place: Path) -> list[Manifest]:
    """Return the CRDs in a file, or in the files of a folder, of a pinned module."""
    files = sorted(place.glob("*.yaml")) if place.is_dir() else [place]
    return [crd for file in files for crd in _read(file)]


def _read(file: Path) -> Iterator[Manifest]:
    # Envoy Gateway's files are chart templates: a condition around each CRD is all that they contain.
    text = "\n".join(line for line in file.read_text().splitlines() if not line.startswith("{{"))
    for document in yaml.load_all(text, Loader=yaml.CSafeLoader):
        if document and document.get("kind") == CRD.name:
            document.pop("status", None)
            yield document


def apply_crds(plane: ControlPlane, manifests: list[Manifest]) -> None:
    """Apply all CRDs at once and return when the plane serves every one of them."""
    # Steps, because nobody waits for those after Ctrl-C; Python waits for the workers of a pool until they end (30 s).
    parts = [manifests[number::_AT_ONCE] for number in range(_AT_ONCE)]
    run_steps([Step(f"{number}", partial(plane.apply, *part)) for number, part in enumerate(parts)])
    wanted = {manifest["metadata"]["name"] for manifest in manifests}

    def missing() -> set[str]:
        return wanted - {crd["metadata"]["name"] for crd in plane.list(CRD) if is_true(crd, "Established")}

    wait_until(f"{plane.name}: CRDs served", lambda: not missing(), deadline=60.0, last=missing, every=0.1)


def fingerprint(*parts: object) -> str:
    """Return 16 hex digits that change when any of the parts does."""
    return hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()[:16]
