"""Read `pins.toml`. Whatever is malformed or contradictory is refused, with file, key and accepted form."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from edgegate.errors import PinsFault
from edgegate.pins.model import DebPackage, DebRecipe, GoRecipe, Pin, Pins, PypiRecipe, Recipe
from edgegate.tables import Table, matching, read

T = TypeVar("T")

NAME = r"[a-z][a-z0-9-]*"
VERSION = r"[0-9][0-9A-Za-z.+~-]*"
VERSION_FORM = "a version without a leading v, as in 1.8.3"
_relative = matching(r"(?!/)(?!.*\.\.)[\w./@+-]+", "a path relative to the source, without '..'")
_h1 = matching(r"h1:[A-Za-z0-9+/]{43}=", "the module sum, as in h1:… (44 characters of base64)")
_sha256 = matching(r"sha256:[0-9a-f]{64}", "sha256: and 64 hexadecimal digits")
_debian = matching(r"\S+ sha256:[0-9a-f]{64}", "'<Debian version> sha256:<64 hexadecimal digits>'")
_version = matching(VERSION, VERSION_FORM)


def load(path: Path) -> Pins:
    """Return the pins of a file.

    Raises:
        PinsFault: the file cannot be read, is no TOML, or breaks one of the rules in docs/pins.md.
    """
    raw = read(path, PinsFault)
    for key in raw:
        if key != "pin":
            raise PinsFault(path, key, "is unknown", "tables [pin.<name>] only")
    tables = Table(path, "pin", raw.get("pin", {}), PinsFault)
    pins = Pins(
        path, {name: _pin(Table(path, f"pin.{name}", value, PinsFault), name) for name, value in tables.items()}
    )
    if not pins.pins:
        raise PinsFault(path, "pin", "is missing", "at least one table [pin.<name>]")
    _check_companions(pins)
    _check_images(pins)
    return pins


def _pin(table: Table, name: str) -> Pin:
    versions = _versions(table, name)
    default = _one_of(table, "default", versions)
    source = _one_of(table, "source", ("go", "pypi", "deb"))
    pin = Pin(
        name=name,
        versions=versions,
        default=default,
        recipe=_RECIPES[source](table, versions),
        why=table.text("why"),
        unpin_when=table.text("unpin-when"),
        review_by=table.day("review-by"),
        pinned=table.day("pinned"),
        digests=_digests(table, source, versions),
        published=_per_version(table, "published", versions, Table.day),
        companions=_per_version(table, "companions", versions, _companion),
        images=table.texts("images"),
        image_digests=_per_version(table, "image-digests", versions, _sha256),
        production=table.take("production", str, "a version"),
        production_why=table.take("production-why", str, "a text"),
        disk_mib=_disk(table),
    )
    table.finish()
    if (pin.production is None) != (pin.production_why is None):
        raise table.fault("production", "and production-why are not both set", "both or neither")
    if pin.review_by <= pin.pinned:
        raise table.fault("review-by", f"is {pin.review_by}", f"a date after pinned, which is {pin.pinned}")
    return pin


def _versions(table: Table, name: str) -> tuple[str, ...]:
    if not re.fullmatch(NAME, name):
        raise table.fault("", "is no name", "lower-case letters, digits and dashes")
    versions = table.texts("versions")
    if not versions:
        raise table.fault("versions", "is missing or empty", f"a list, each {VERSION_FORM}")
    for version in versions:
        if not re.fullmatch(VERSION, version):
            raise table.fault("versions", f"holds '{version}'", VERSION_FORM)
    return versions


def _one_of(table: Table, key: str, accepted: tuple[str, ...]) -> str:
    words = f"one of {', '.join(accepted)}"
    value = table.text(key, words)
    if value not in accepted:
        raise table.fault(key, f"is '{value}'", words)
    return value


def _per_version(table: Table, key: str, versions: tuple[str, ...], check: Callable[[Table, str], T]) -> dict[str, T]:
    found = table.mapping(key, check)
    for version in found:
        if version not in versions:
            raise table.fault(f"{key}.{version}", "is no version of this pin", f"one of {', '.join(versions)}")
    return found


def _digests(table: Table, source: str, versions: tuple[str, ...]) -> Mapping[str, str]:
    """Return the digest of each version; Debian packages carry theirs in `packages`."""
    if source == "deb":
        return {}
    digests = _per_version(table, "digests", versions, _h1 if source == "go" else _sha256)
    for version in versions:
        if version not in digests:
            raise table.fault(f"digests.{version}", "is missing", "one digest a version")
    return digests


def _disk(table: Table) -> int:
    value = table.take("disk-mib", int, "a whole number of MiB")
    if value is not None and value <= 0:
        raise table.fault("disk-mib", f"is {value}", "a whole number of MiB above 0")
    return 200 if value is None else value


def _companion(table: Table, version: str) -> Mapping[str, str]:
    return table.mapping(version, _version)


def _go(table: Table, versions: tuple[str, ...]) -> Recipe:
    recipe = GoRecipe(
        module=table.text("module", "a Go module path"),
        binaries=table.mapping("binaries", _relative),
        native=table.take("native", str, "a folder under native/"),
        files=table.texts("files"),
        ldflags=_ldflags(table),
        staging=table.take("staging", bool, "true or false") or False,
        sums=_per_version(table, "sums", versions, _sha256),
        requires=table.mapping("requires", _version),
    )
    if recipe.native and recipe.binaries:
        raise table.fault("native", "is set beside binaries", "either our own main or the module's own")
    if recipe.requires and not recipe.native:
        raise table.fault("requires", "is set without native", "modules that our own main imports")
    if not (recipe.native or recipe.binaries or recipe.files):
        raise table.fault("binaries", "is missing", "at least one of binaries, native and files")
    return recipe


def _ldflags(table: Table) -> str:
    flags = table.take("ldflags", str, "a text") or ""
    for name in re.findall(r"\{(.*?)\}", flags):
        if name not in ("version", "major", "minor"):
            raise table.fault("ldflags", f"has the unknown name '{{{name}}}'", "{version}, {major} and {minor}")
    return flags


def _pypi(table: Table, versions: tuple[str, ...]) -> Recipe:
    return PypiRecipe(project=table.text("project", "a project name"), binaries=_binaries(table))


def _deb(table: Table, versions: tuple[str, ...]) -> Recipe:
    packages = _per_version(table, "packages", versions, _packages)
    for version in versions:
        if not packages.get(version):
            raise table.fault(f"packages.{version}", "is missing or empty", "one table of packages a version")
    return DebRecipe(packages=packages, binaries=_binaries(table))


def _packages(table: Table, version: str) -> tuple[DebPackage, ...]:
    found = table.mapping(version, _debian)
    return tuple(DebPackage(name, *text.split(" ")) for name, text in found.items())


def _binaries(table: Table) -> Mapping[str, str]:
    found = table.mapping("binaries", _relative)
    if not found:
        raise table.fault("binaries", "is missing or empty", "a table: name = path inside the package")
    return found


_RECIPES = {"go": _go, "pypi": _pypi, "deb": _deb}


def _check_companions(pins: Pins) -> None:
    """Companions are pins with such a version, follow one leader, and agree with the defaults."""
    leaders: dict[str, str] = {}
    for pin in pins.pins.values():
        for version, others in pin.companions.items():
            for other, wanted in others.items():
                table = Table(pins.path, f"pin.{pin.name}.companions.{version}", {}, PinsFault)
                _check_companion(pins, pin, table, other, wanted)
                if leaders.setdefault(other, pin.name) != pin.name:
                    raise table.fault(other, f"is a companion of {leaders[other]} too", "one leader a component")
                if version == pin.default and pins.pins[other].default != wanted:
                    raise table.fault(
                        other, f"is {wanted}", f"the default of [pin.{other}], which is {pins.pins[other].default}"
                    )


def _check_companion(pins: Pins, pin: Pin, table: Table, other: str, wanted: str) -> None:
    if other not in pins.pins or other == pin.name:
        others = ", ".join(name for name in pins.pins if name != pin.name)
        raise table.fault(other, "is no other pin", f"one of {others}")
    if wanted not in pins.pins[other].versions:
        versions = ", ".join(pins.pins[other].versions)
        raise table.fault(other, f"is {wanted}, which [pin.{other}] does not have", f"one of {versions}")


def _check_images(pins: Pins) -> None:
    """An image repository stands for one pin only."""
    owners: dict[str, str] = {}
    for pin in pins.pins.values():
        for image in pin.images:
            owner = owners.setdefault(image.removeprefix("docker.io/"), pin.name)
            if owner != pin.name:
                raise PinsFault(
                    pins.path, f"pin.{pin.name}.images", f"claims '{image}', as [pin.{owner}] does", "one pin an image"
                )
