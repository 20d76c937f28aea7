"""An artifact: the folder in the store that one pinned version has become."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from edgegate.errors import ArtifactFault

MANIFEST = "manifest.json"
FILES = "files"
LOG = "build.log"


@dataclass(frozen=True)
class Manifest:
    """What the store writes beside the files of an artifact."""

    name: str
    """The pin."""
    version: str
    """Its version."""
    binaries: Mapping[str, str]
    """Name of a binary to its path below the artifact's folder."""
    libraries: tuple[str, ...] = ()
    """Folders with shared libraries, below the artifact's folder."""
    built_with: str | None = None
    """The Go toolchain, where one was used."""
    seconds: float = 0.0
    """How long it took to get or build."""
    recipe: Mapping[str, object] = field(default_factory=dict)
    """Everything that went into the key."""


@dataclass(frozen=True)
class Artifact:
    """A published version: complete, never written again."""

    path: Path
    """Its folder in the store."""
    manifest: Manifest
    """What is known about it."""

    @classmethod
    def open(cls, path: Path) -> "Artifact | None":
        """Return the artifact in a folder of the store, or None when there is none that this edgegate can read."""
        try:
            data = json.loads((path / MANIFEST).read_text(encoding="utf-8"))
            return cls(path, Manifest(**data | {"libraries": tuple(data["libraries"])}))
        except (OSError, ValueError, TypeError, KeyError):
            return None

    @property
    def name(self) -> str:
        """Return the pin's name."""
        return self.manifest.name

    @property
    def version(self) -> str:
        """Return the version, without a leading v."""
        return self.manifest.version

    @property
    def env(self) -> dict[str, str]:
        """Return the environment that its binaries need beyond their own."""
        if not self.manifest.libraries:
            return {}
        return {"LD_LIBRARY_PATH": ":".join(str(self.path / folder) for folder in self.manifest.libraries)}

    def binary(self, name: str) -> Path:
        """Return the path of an executable.

        Raises:
            ArtifactFault: the artifact has none of that name.
        """
        if name not in self.manifest.binaries:
            known = ", ".join(self.manifest.binaries) or "none"
            raise ArtifactFault(f"{self.name} {self.version} has no binary '{name}'. It has: {known}.")
        return self.path / self.manifest.binaries[name]

    def file(self, relative: str) -> Path:
        """Return the path of a file or folder that came with the source.

        Raises:
            ArtifactFault: the artifact does not hold it.
        """
        found = self.path / FILES / relative
        if not found.exists():
            raise ArtifactFault(
                f"{self.name} {self.version} has no file '{relative}' in {self.path / FILES}. "
                f"Add its folder to [pin.{self.name}] in pins.toml."
            )
        return found

    def write(self) -> None:
        """Write the manifest; the folder is complete only then."""
        text = json.dumps(asdict(self.manifest), indent=1, sort_keys=True, default=str)
        (self.path / MANIFEST).write_text(text + "\n", encoding="utf-8")
