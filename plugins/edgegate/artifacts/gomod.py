"""Build main packages of a pinned Go module, and take files out of it.

The module is required by a module of ours in a scratch folder, which gets the module's own go.sum, so that nothing
newer than the module's authors tested slips in.
"""

import hashlib
import json
import re
import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from edgegate.artifacts.job import Job, Made
from edgegate.artifacts.toolchain import Toolchain, find_go
from edgegate.command import Completed
from edgegate.errors import BuildFailed, DigestMismatch
from edgegate.pins import GoRecipe
from edgegate.resources import resource

RECIPE = 1
"""Part of every key; raise it when this module builds something else from the same pin."""
_SOURCE = "Go module proxy"
_FIX = "Install Go, or let edgegate take it from the pin 'go'."
_Call = Callable[..., Completed]
_OURS = "edgegate.local/build"
_STAGING = re.compile(r"^\s*(k8s\.io/[a-z0-9-]+)\s+=>\s+\./staging/", re.MULTILINE)


@dataclass(frozen=True)
class _Module:
    folder: Path
    go_mod: str
    go_line: str

    @property
    def go_sum(self) -> str:
        """The module's own go.sum; a module that needs no other has none."""
        file = self.folder / "go.sum"
        return file.read_text(encoding="utf-8") if file.exists() else ""


def make(job: Job) -> Made:
    """Build the binaries of a Go pin and copy its files; see `Builder`."""
    recipe = job.pin.recipe
    assert isinstance(recipe, GoRecipe)
    module = _download_by_any(job, recipe)
    for folder in recipe.files:
        job.step(f"copying {folder}")
        shutil.copytree(module.folder / folder, job.files / folder, copy_function=shutil.copyfile)
    if not (recipe.binaries or recipe.native):
        return Made(binaries={})
    go = find_go(job, minimum=module.go_line)
    _write_wrapper(job, recipe, module)
    call = partial(
        job.run, str(go.path), source=_SOURCE, missing=f"a module of {job.what}", fix=_FIX, env=_environment(job)
    )
    counts = _resolve(job, call, recipe)
    _check_sums(job, recipe, module)
    return Made(binaries=_compile(job, call, recipe, counts), built_with=go.version)


def _environment(job: Job) -> dict[str, str]:
    return go_environment(job.environ, job.root, job.scratch)


def go_environment(environ: Mapping[str, str], root: Path, scratch: Path) -> dict[str, str]:
    """Return the environment of every go command: the user's proxy settings, our caches, nothing that changes code."""
    dropped = ("GOEXPERIMENT", "GOROOT", "GOOS", "GOARCH", "GOAMD64", "GOARM64", "GODEBUG", "GOBIN", "GOTOOLDIR")
    kept = {key: value for key, value in environ.items() if key not in dropped}
    return kept | {
        "GOMODCACHE": str(root / "go" / "mod"),
        "GOCACHE": str(root / "go" / "build"),
        "GOFLAGS": "-modcacherw -buildvcs=false -mod=mod",
        "GOTOOLCHAIN": "local",
        "GOTMPDIR": str(scratch),
        "GOWORK": "off",
        "GO111MODULE": "on",
        "CGO_ENABLED": "0",
    }


def _download_by_any(job: Job, recipe: GoRecipe) -> _Module:
    """Download the module; a go that is too old for it says how new it has to be."""
    try:
        return _download(job, find_go(job, minimum=None), recipe)
    except BuildFailed as error:
        newer = re.search(r"requires go (?:>=|\\u003e=) ([0-9.]+)", error.tail)
        if newer is None:
            raise
        return _download(job, find_go(job, minimum=newer[1]), recipe)


def _download(job: Job, go: Toolchain, recipe: GoRecipe) -> _Module:
    wanted = f"{recipe.module}@v{job.version}"
    job.step(f"downloading {wanted}")
    # An unpacked module is trusted by go on sight, so a half-written one must not exist: go renames into place.
    done = job.run(
        str(go.path), "mod", "download", "-json", wanted,
        source=_SOURCE, missing=f"the module {wanted}", fix=_FIX, env=_environment(job),
    )  # fmt: skip
    answer = json.loads(done.stdout)
    expected = job.pin.digests[job.version]
    if answer["Sum"] != expected:
        key = f"[pin.{job.pin.name}.digests] {job.version}"
        raise DigestMismatch(f"the module {wanted}", key, expected=expected, actual=answer["Sum"])
    go_mod = Path(answer["GoMod"]).read_text(encoding="utf-8")
    line = re.search(r"^go\s+(\S+)", go_mod, re.MULTILINE)
    return _Module(folder=Path(answer["Dir"]), go_mod=go_mod, go_line=line[1] if line else "1.21")


def _write_wrapper(job: Job, recipe: GoRecipe, module: _Module) -> None:
    """Write our module around the pinned one."""
    text = wrapper(recipe, job.version, module.go_line, module.go_mod)
    (job.scratch / "go.mod").write_text(text, encoding="utf-8")
    (job.scratch / "go.sum").write_text(module.go_sum, encoding="utf-8")
    if recipe.native:
        for file in sources(resource(f"native/{recipe.native}")):
            shutil.copyfile(file, job.scratch / file.name)


def wrapper(recipe: GoRecipe, version: str, go_line: str, go_mod: str = "") -> str:
    """Return the go.mod of our module. It takes over what only a main module decides: go and godebug lines."""
    lines = [f"module {_OURS}", "", f"go {go_line}", "", f"require {recipe.module} v{version}"]
    lines += [f"require {name} v{wanted}" for name, wanted in recipe.requires.items()]
    lines += re.findall(r"^godebug\s+(?:\(.*?^\)|\S+)", go_mod, re.MULTILINE | re.DOTALL)
    if recipe.staging:
        same = f"v0.{version.partition('.')[2]}"
        lines += [f"replace {name} => {name} {same}" for name in sorted(set(_STAGING.findall(go_mod)))]
    return "\n".join(lines) + "\n"


def sources(folder: Path) -> list[Path]:
    """Return the files that a main of ours is made of; its tests are none."""
    return sorted(file for file in folder.glob("*.go") if not file.name.endswith("_test.go"))


def _packages(recipe: GoRecipe) -> dict[str, str]:
    if recipe.native:
        return {recipe.native: "."}
    return {name: f"{recipe.module}/{package}".removesuffix("/.") for name, package in recipe.binaries.items()}


def _resolve(job: Job, call: _Call, recipe: GoRecipe) -> dict[str, int]:
    """Return the number of packages that each binary is made of; every module is downloaded and summed then."""
    counts = {}
    for number, (name, package) in enumerate(_packages(recipe).items(), start=1):
        job.step("fetching modules", number, len(_packages(recipe)))
        counts[name] = len(call("list", "-deps", package).stdout.split())
    return counts


def _compile(job: Job, call: _Call, recipe: GoRecipe, counts: dict[str, int]) -> dict[str, str]:
    (job.into / "bin").mkdir()
    flags = ldflags(recipe, job.version)
    for name, package in _packages(recipe).items():
        doing, seen = f"compiling {name}", 0

        def count(line: str, doing: str = doing, total: int = counts[name]) -> None:
            # -v names each package when it is compiled; what the cache has is not named, so the end comes early.
            nonlocal seen
            seen += " " not in line
            job.step(doing, seen, total)

        job.step(doing, 0, counts[name])
        call(
            "build",
            "-mod=readonly",
            "-v",
            "-trimpath",
            "-ldflags",
            flags,
            "-o",
            str(job.into / "bin" / name),
            package,
            on_line=count,
        )
    return {name: f"bin/{name}" for name in counts}


def ldflags(recipe: GoRecipe, version: str) -> str:
    """Return the linker flags of one version."""
    major, minor = [*version.split("."), "0"][:2]
    return f"-s -w {recipe.ldflags.format(version=version, major=major, minor=minor)}".rstrip()


def sums_digest(before: Iterable[str], after: Iterable[str], own: str) -> str:
    """Return the digest of the go.sum lines that a build added, those of the pinned module itself left out."""
    added = sorted(line for line in set(after) - set(before) if line.strip() and not line.startswith(f"{own} "))
    return "sha256:" + hashlib.sha256("\n".join(added).encode()).hexdigest()


def _check_sums(job: Job, recipe: GoRecipe, module: _Module) -> None:
    before = module.go_sum.splitlines()
    after = (job.scratch / "go.sum").read_text(encoding="utf-8").splitlines()
    actual = sums_digest(before, after, recipe.module)
    expected = recipe.sums.get(job.version, sums_digest((), (), ""))
    if actual != expected:
        key = f"[pin.{job.pin.name}.sums] {job.version}"
        what = f"the list of modules that {job.what} resolves beyond its own go.sum"
        raise DigestMismatch(what, key, expected=expected, actual=actual)
