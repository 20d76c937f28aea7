"""Take pinned Debian packages from the machine's own sources and unpack them into one folder; nothing is installed.

No root is needed: apt-get gets its own state and cache folders, and only reads the machine's list of sources.
"""

from collections.abc import Sequence
from pathlib import Path

from edgegate.artifacts.artifact import FILES
from edgegate.artifacts.job import Job, Made
from edgegate.artifacts.wheel import file_digest
from edgegate.errors import DigestMismatch
from edgegate.pins import DebPackage, DebRecipe

RECIPE = 1
"""Part of every key; raise it when this module makes something else from the same pin."""
_SOURCE = "Debian package source"
_FIX = "Debian packages need apt-get and dpkg, as on Debian 12."


def make(job: Job) -> Made:
    """Download and unpack the packages of a pin; see `Builder`."""
    recipe = job.pin.recipe
    assert isinstance(recipe, DebRecipe)
    packages = recipe.packages[job.version]
    options = _own_folders(job)
    job.step("reading the package lists")
    _apt(job, options, "update", "-qq", missing="the package lists")
    for number, package in enumerate(packages, start=1):
        job.step(f"downloading {package.name}", number, len(packages))
        file = _download(job, options, package)
        job.step(f"unpacking {package.name}", number, len(packages))
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


def _apt(job: Job, options: Sequence[str], *words: str, missing: str) -> None:
    env = dict(job.environ) | {"LC_ALL": "C.UTF-8"}
    job.run(
        "apt-get", *options, *words, source=_SOURCE, missing=missing, fix=_FIX, env=env, cwd=job.scratch / "debs"
    )  # fmt: skip


def _download(job: Job, options: Sequence[str], package: DebPackage) -> Path:
    wanted = f"{package.name}={package.version}"
    for old in (job.scratch / "debs").iterdir():
        old.unlink()
    _apt(job, options, "download", wanted, missing=f"the package {wanted}")
    files = list((job.scratch / "debs").glob("*.deb"))
    if len(files) != 1:
        raise job.failed(f"apt-get left {len(files)} packages for {wanted}, not one")
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
