"""The values that `pins.toml` holds, and the choice of one version a component."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from edgegate.errors import UnknownComponent, UnknownImage, UnknownVersion

FROM_PINS = "pins.toml"


@dataclass(frozen=True)
class GoRecipe:
    """Main packages of a Go module, built here; or files of the module only."""

    module: str
    """Module path."""
    binaries: Mapping[str, str] = field(default_factory=dict)
    """Name of a binary to its package, relative to the module; `.` is the module's root."""
    native: str | None = None
    """Folder under `native/` with our own thin main, built against the module; its binary has the same name."""
    files: tuple[str, ...] = ()
    """Folders of the module that become part of the artifact, such as its CRDs."""
    ldflags: str = ""
    """Linker flags; `{version}`, `{major}` and `{minor}` are filled in."""
    staging: bool = False
    """The module refers to modules inside its own tree, which are published under the same minor as `v0.<minor>`."""
    sums: Mapping[str, str] = field(default_factory=dict)
    """Version to the digest of what the build resolves beyond the module's own go.sum."""
    requires: Mapping[str, str] = field(default_factory=dict)
    """Further modules that our main imports, with the version of each."""


@dataclass(frozen=True)
class PypiRecipe:
    """A wheel that ships a binary."""

    project: str
    """Name on the index."""
    binaries: Mapping[str, str]
    """Name of a binary to its path in the wheel."""


@dataclass(frozen=True)
class DebPackage:
    """One Debian package."""

    name: str
    """Package name."""
    version: str
    """Full Debian version."""
    digest: str
    """`sha256:` and the digest of the .deb file."""


@dataclass(frozen=True)
class DebRecipe:
    """Debian packages, unpacked into one folder and not installed."""

    packages: Mapping[str, tuple[DebPackage, ...]]
    """Version of the pin to the packages that make it up, needed libraries included."""
    binaries: Mapping[str, str]
    """Name of a binary to its path below the unpacked root."""


Recipe = GoRecipe | PypiRecipe | DebRecipe


@dataclass(frozen=True)
class Pin:
    """One component: which versions there are, where they come from, and why this one."""

    name: str
    """The name that components, settings and `--edge-set` use."""
    versions: tuple[str, ...]
    """Every version that can be asked for, without a leading v."""
    default: str
    """The one that is used when nobody asks for another."""
    recipe: Recipe
    """How an artifact comes about."""
    why: str
    """Why this version."""
    unpin_when: str
    """What has to be true before another one may be the default."""
    review_by: date
    """When somebody has to look at it again."""
    pinned: date
    """When the default was chosen."""
    digests: Mapping[str, str] = field(default_factory=dict)
    """Version to its digest; `h1:` for a Go module, `sha256:` for a wheel. Debian packages have their own."""
    published: Mapping[str, date] = field(default_factory=dict)
    """Version to the day of its release, where known."""
    companions: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Version to the versions of other pins that it is released and tested with."""
    images: tuple[str, ...] = ()
    """Container image repositories that this pin stands for."""
    image_digests: Mapping[str, str] = field(default_factory=dict)
    """Version to the digest of the official image's manifest, where it is known."""
    production: str | None = None
    """What production runs, where the pin deviates."""
    production_why: str | None = None
    """Why it deviates."""
    disk_mib: int = 200
    """Free disk that having it from nothing takes, caches included, in MiB."""

    @property
    def source(self) -> str:
        """Return `go`, `pypi` or `deb`."""
        return {GoRecipe: "go", PypiRecipe: "pypi", DebRecipe: "deb"}[type(self.recipe)]

    def check(self, version: str) -> str:
        """Return the version.

        Raises:
            UnknownVersion: `pins.toml` does not have it.
        """
        if version not in self.versions:
            raise UnknownVersion(self.name, version, list(self.versions))
        return version


@dataclass(frozen=True)
class Chosen:
    """One component's version in this run."""

    version: str
    """The version, without a leading v."""
    origin: str
    """Who chose it: `pins.toml`, `companion of envoy-gateway 1.7.0`, `--edge-set` …"""


@dataclass(frozen=True)
class Selection:
    """One version for each component."""

    choices: Mapping[str, Chosen]
    """Component to what was chosen."""

    def chosen(self, name: str) -> Chosen:
        """Return the version of a component and who chose it.

        Raises:
            UnknownComponent: no pin has that name.
        """
        if name not in self.choices:
            raise UnknownComponent(name, list(self.choices))
        return self.choices[name]

    def version(self, name: str) -> str:
        """Return the version of a component.

        Raises:
            UnknownComponent: no pin has that name.
        """
        return self.chosen(name).version


@dataclass(frozen=True)
class Pins:
    """All pins of one file."""

    path: Path
    """The file."""
    pins: Mapping[str, Pin]
    """Name to pin, in the file's order."""

    def pin(self, name: str) -> Pin:
        """Return one pin.

        Raises:
            UnknownComponent: there is none of that name; a close one is suggested.
        """
        if name not in self.pins:
            raise UnknownComponent(name, list(self.pins))
        return self.pins[name]

    def select(
        self, overrides: Mapping[str, str] | None = None, origins: Mapping[str, str] | str = "--edge-set"
    ) -> Selection:
        """Return one version for each component: an override beats a companion, a companion beats the default.

        Args:
            overrides: component to the version that the user asks for.
            origins: where the user said so; one text for all, or component to text.

        Raises:
            UnknownComponent: an override names no pin.
            UnknownVersion: the pin does not have that version.
        """
        choices = {name: Chosen(pin.default, FROM_PINS) for name, pin in self.pins.items()}
        asked = {name: self.pin(name).check(version) for name, version in (overrides or {}).items()}
        for name, version in asked.items():
            origin = origins if isinstance(origins, str) else origins.get(name, "--edge-set")
            choices[name] = Chosen(version, origin)
        for name, pin in self.pins.items():
            leader = choices[name]
            # The companions of a default are the defaults of their pins: the reader has seen to that.
            companions = {} if leader.origin == FROM_PINS else pin.companions.get(leader.version, {})
            for other, version in companions.items():
                if other not in asked:
                    choices[other] = Chosen(version, f"companion of {name} {leader.version}")
        return Selection(choices)

    def for_image(self, image: str) -> tuple[Pin, str]:
        """Return the pin and version that a container image stands for.

        `docker.io/envoyproxy/envoy:distroless-v1.38.3` is version 1.38.3 of the pin `envoy`; a digest after `@` is
        left out of account, because the artifact has a digest of its own.

        Raises:
            UnknownImage: no pin claims the repository, or the tag is no version that the pin has.
        """
        repository, version = _split_image(image)
        for pin in self.pins.values():
            if repository in map(_short, pin.images):
                if version not in pin.versions:
                    raise UnknownImage(image, f"pin '{pin.name}' has the versions {', '.join(pin.versions)}")
                return pin, version
        known = sorted({_short(name) for pin in self.pins.values() for name in pin.images})
        raise UnknownImage(image, f"images that pins stand for: {', '.join(known)}")


def _short(repository: str) -> str:
    return repository.removeprefix("docker.io/").removeprefix("library/")


def _split_image(image: str) -> tuple[str, str]:
    """Return repository and version of an image reference; the version is empty when there is no tag."""
    reference = image.partition("@")[0]
    folder, slash, last = reference.rpartition("/")
    name, _, tag = last.partition(":")
    return _short(folder + slash + name), tag.removeprefix("distroless-").removeprefix("v")
