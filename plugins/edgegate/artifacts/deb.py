"""Take pinned Debian packages from the machine's own sources and unpack them into one folder; nothing is installed.

No root is needed: apt-get gets its own state and cache folders, and only reads the machine's list of sources.
"""

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from edgegate.artifacts.artifact import FILES
from edgegate.artifacts.job import Job, Made, unreachable
from edgegate.artifacts.wheel import file_digest
from edgegate.errors import BuildFailed, DigestMismatch, PackageGone
from edgegate.pins import DebPackage, DebRecipe

RECIPE = 1
"""Part of every key; raise it when this module makes something else from the same pin."""
_SOURCE = "Debian package source"
_MISSING = "Debian packages"
_FIX = "Debian packages need apt-get and dpkg, as on Debian 12."


def make(job: Job) -> Made:
    """Download and unpack the packages of a pin; see `Builder`."""
    recipe = job.pin.recipe
    assert isinstance(recipe, DebRecipe)
    packages = recipe.packages[job.version]
    options = _own_folders(job)
    job.step("reading the package lists")
    said = _apt(job, options, "update", "-qq", missing="the package lists")
    # Unreachable sources are warnings to apt-get; the packages are missed later.
    files = _download(job, options, packages, offline=unreachable(said))
    for number, file in enumerate(files, start=1):
        job.step("unpacking", number, len(packages))
        job.run("dpkg", "-x", str(file), str(job.files), source=_SOURCE, missing=file.name, fix=_FIX)
    return Made(
        binaries={name: f"{FILES}/{path}" for name, path in recipe.binaries.items()}, libraries=_libraries(job.files)
    )


def _own_folders(job: Job) -> list[str]:
    for folder in ("state/lists/partial", "cache/archives/partial", "debs"):
        (job.scratch / folder).mkdir(parents=True)
    settings = {
        "Dir::State": job.scratch / "state",
        "Dir::State::status": "/var/lib/dpkg/status",
        "Dir::Cache": job.scratch / "cache",
        "Debug::NoLocking": "true",
        "Acquire::Retries": "2",
        # As root apt-get would change to a user that may not write into our folders, and warn about it.
        "APT::Sandbox::User": "root",
    }
    return [word for key, value in settings.items() for word in ("-o", f"{key}={value}")]


def _apt(
    job: Job, options: Sequence[str], *words: str, missing: str, on_line: Callable[[str], None] | None = None
) -> str:
    done = job.run(
        "apt-get", *options, *words,
        source=_SOURCE, missing=missing, fix=_FIX, env=dict(job.environ) | {"LC_ALL": "C.UTF-8"},
        cwd=job.scratch / "debs", on_line=on_line,
    )  # fmt: skip
    return done.stdout + done.stderr


def _download(job: Job, options: Sequence[str], packages: Sequence[DebPackage], offline: str | None) -> list[Path]:
    """Return the files of all packages, in their order. One call: apt-get takes 0.7 s to read its lists each time."""
    wanted = [f"{package.name}={package.version}" for package in packages]
    got = 0

    def count(line: str) -> None:
        nonlocal got
        got += line.startswith("Get:")
        job.step("downloading packages", got, len(packages))

    try:
        _apt(job, options, "download", *wanted, missing=_MISSING, on_line=count)
    except BuildFailed as error:
        if offline:
            raise job.offline(_SOURCE, _MISSING, offline) from error
        raise _gone(job, error.tail) or error from error
    return [_checked(job, package) for package in packages]


def _gone(job: Job, output: str) -> PackageGone | None:
    """Return the error about a version that the sources no longer have, if that is what apt-get complains about."""
    found = re.search(r"Version '([^']+)' for '([^']+)' was not found|Unable to locate package ([^\s=]+)", output)
    if not found:
        return None
    return PackageGone(job.what, package=found[2] or found[3], version=found[1] or "")


def _checked(job: Job, package: DebPackage) -> Path:
    files = list((job.scratch / "debs").glob(f"{package.name}_*.deb"))
    if len(files) != 1:
        raise job.failed(f"apt-get left {len(files)} files of {package.name}, not one")
    actual = file_digest(files[0])
    if actual != package.digest:
        key = f"[pin.{job.pin.name}.packages.{job.version}] {package.name}"
        raise DigestMismatch(f"the package {files[0].name}", key, expected=package.digest, actual=actual)
    return files[0]


def _libraries(files: Path) -> tuple[str, ...]:
    """Return the folders that hold shared libraries, as the dynamic linker wants them."""
    roots = ("lib", "usr/lib")
    folders = {library.parent for root in roots for library in (files / root).glob("*-linux-gnu*/*.so*")}
    return tuple(sorted(f"{FILES}/{folder.relative_to(files)}" for folder in folders))
