"""Which operator an edge has: ours, or the real one as binaries or images of the user's."""

import hashlib
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path

import yaml

from edgegate import command
from edgegate.clusters.kinds import CRD
from edgegate.clusters.plane import Manifest
from edgegate.errors import BadSetting, KindsMissing, UnknownFault
from edgegate.forms import BINARY, IMAGE, REFERENCE
from edgegate.kind import given
from edgegate.resources import resource
from edgegate.settings import Settings

PACKAGE = "edgegate_operator"
"""Ours. It is run as a program only; nothing of edgegate imports it."""
NEEDED = {
    "networking.datumapis.com": (
        "HTTPProxy", "Domain", "TrafficProtectionPolicy", "Connector", "ConnectorAdvertisement", "ConnectorClass",
    ),
    "dns.networking.miloapis.com": ("DNSZone", "DNSZoneClass", "DNSRecordSet"),
    "gateway.networking.k8s.io": ("GatewayClass", "Gateway", "HTTPRoute", "BackendTLSPolicy"),
}  # fmt: skip
"""What scenarios create or read, by API group; the real operators may need more themselves.

Gateway API belongs to it because that of a project's control plane is older than the edge's: from 1.4 on a route's
status needs conditions, and the real operator's status of a route is refused (422).
"""


@dataclass(frozen=True)
class OperatorChoice:
    """The operator under test, before anything runs."""

    binary: Path | None = None
    """The real network-services-operator; None for ours."""
    dns_binary: Path | None = None
    """The real dns-operator."""
    crds: Path = field(default_factory=lambda: resource("manifests") / "crds")
    """Folder with the CRDs of its kinds."""
    faults: tuple[str, ...] = ()
    """Defects that are switched on in ours."""
    images: tuple[str, ...] = ()
    """Of both, as the user names them, where they run as pods; empty where they do not."""
    on_nodes: tuple[str, ...] = ()
    """The same as the nodes name them; known once they have been looked at."""

    @classmethod
    def of(cls, settings: Settings) -> "OperatorChoice":
        """Return what the settings ask for.

        Raises:
            UnknownFault: ours has no defect of that name.
            KindsMissing: the folder with CRDs lacks kinds that the scenarios need.
        """
        if settings.operator == REFERENCE:
            chosen = cls(faults=settings.fault)
            chosen._check_faults(settings.origin("fault"))
            return chosen
        assert settings.operator_crds is not None, "settings that name a real operator name its CRDs too"
        form, _, named = settings.operator.partition(":")
        if f"{form}:" == IMAGE:
            images = (named, settings.dns_operator_image or "")
            chosen = cls(crds=settings.operator_crds, images=images)
            for origin, image in zip(("operator", "dns_operator_image"), images, strict=True):
                _check_archive(settings.origin(origin), image)
        else:
            chosen = cls(Path(named), settings.dns_operator, settings.operator_crds)
        chosen._check_kinds(settings.origin("operator_crds"))
        return chosen

    def __str__(self) -> str:
        """Return it in a few words. Faults are left out: they can be switched while an edge runs."""
        if self.images:
            return f"{IMAGE}{self.images[0]}"
        return f"{BINARY}{self.binary}" if self.binary else REFERENCE

    @property
    def is_reference(self) -> bool:
        """Whether it is ours."""
        return self.binary is None and not self.images

    @property
    def in_pods(self) -> bool:
        """Whether it runs as pods of the clusters."""
        return bool(self.images)

    @cached_property
    def manifests(self) -> list[Manifest]:
        """The CRDs of its kinds, sorted by name."""
        found = {crd["metadata"]["name"]: crd for file in _yaml_files(self.crds) for crd in _crds_of(file)}
        return [found[name] for name in sorted(found)]

    @cached_property
    def program(self) -> Path:
        """The folder with the package of ours, so that a process runs the same sources as we are."""
        found = find_spec(PACKAGE)
        assert found is not None, "it is part of the same distribution"
        assert found.origin is not None, "it is a package with an __init__"
        return Path(found.origin).parent

    @property
    def digest(self) -> str:
        """Return what changes whenever the operator, its CRDs or its admission rules do.

        What an image holds is not looked at here: the backend that runs it does that.
        """
        sources = sorted(self.program.rglob("*.py")) if self.is_reference else [self.binary, self.dns_binary]
        return _digest_of([*(file for file in sources if file), *self._objects()])

    @property
    def base_digest(self) -> str:
        """Return what changes whenever its CRDs or its admission rules do: another build of it needs no other base."""
        return _digest_of(self._objects()) + ("-reference" if self.is_reference else "")

    def _objects(self) -> list[Path]:
        return [*_yaml_files(self.crds), *_yaml_files(resource("manifests"))]

    def _check_faults(self, origin: str) -> None:
        if not self.faults:
            return
        told = command.run([sys.executable, "-m", PACKAGE, "--list-faults"], timeout=30).stdout
        known = [line.split()[0] for line in told.splitlines() if line.strip()]
        for name in self.faults:
            if name not in known:
                raise UnknownFault(origin, name, known=known)

    def _check_kinds(self, origin: str) -> None:
        try:
            present = {(crd["spec"]["group"], crd["spec"]["names"]["kind"]) for crd in self.manifests}
        except _Unreadable as unreadable:
            raise BadSetting(origin, f"{unreadable} Accepted: a folder with the operators' CRDs.") from unreadable
        missing = [
            f"{kind}.{group}" for group, kinds in NEEDED.items() for kind in kinds if (group, kind) not in present
        ]
        if missing:
            raise KindsMissing(origin, self.crds, missing)


def _check_archive(origin: str, image: str) -> None:
    """Refuse a file that is no image for this machine; a reference is looked for when there is an engine."""
    path = given.file_of(image)
    if path is None:
        return
    try:
        given.check(path)
    except given.Unfit as unfit:
        accepted = "one image for Linux and this machine's architecture, as `docker save IMAGE -o FILE` writes it"
        raise BadSetting(origin, f"{path} {unfit}. Accepted: {accepted}.") from unfit


def _yaml_files(folder: Path) -> list[Path]:
    return sorted(file for file in folder.rglob("*.y*ml") if file.is_file())


class _Unreadable(ValueError):
    """A file of the folder with CRDs is not what it should be; the text is a sentence."""


def _crds_of(file: Path) -> Iterable[Manifest]:
    try:
        documents = list(yaml.load_all(file.read_text(), Loader=yaml.CSafeLoader))
    except (yaml.YAMLError, UnicodeDecodeError, OSError) as trouble:
        raise _Unreadable(f"{file} cannot be read as YAML: {' '.join(str(trouble).split())}.") from trouble
    for document in documents:
        if isinstance(document, dict) and document.get("kind") == CRD.name:
            document.pop("status", None)
            if not _is_crd(document):
                raise _Unreadable(f"{file} has a CRD without a name, a group, or the name of its kind.")
            yield document


def _is_crd(document: Manifest) -> bool:
    try:
        words = (document["metadata"]["name"], document["spec"]["group"], document["spec"]["names"]["kind"])
    except (KeyError, TypeError):
        return False
    return all(isinstance(word, str) for word in words)


def _digest_of(files: Iterable[Path]) -> str:
    return hashlib.sha256("\0".join(_digest(file) for file in files).encode()).hexdigest()


def _digest(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
