"""Images that a user names: an archive, or a reference that the Docker engine has or can pull.

Whatever it was, the nodes get an archive of one image for this machine, under a name of ours that has its digest: so
a pod names exactly these bytes, and what runs can be compared with them.
"""

import hashlib
import json
import platform
import tarfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

from edgegate.errors import ImageMissing, ImageUnusable
from edgegate.forms import ARCHIVES
from edgegate.kind import archive
from edgegate.kind.engine import Engine
from edgegate.kind.images import Image, Images

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64", "ppc64le": "ppc64le", "s390x": "s390x", "riscv64": "riscv64"}
"""What images call the machines that `uname -m` names."""
_LISTS = ("application/vnd.oci.image.index.v1+json", "application/vnd.docker.distribution.manifest.list.v2+json")


class Unfit(ValueError):
    """An archive is not what it should be; the text is a sentence without its subject."""


@dataclass(frozen=True)
class _Found:
    """The image of an archive."""

    config: bytes
    """Its configuration, whose digest is its id."""
    layers: tuple[str, ...]
    """Names of its layers in the archive, the lowest first."""


def check(path: Path) -> None:
    """Look at an archive as far as that needs no engine. Raises Unfit."""
    with _opened(path) as content:
        _look(content)


def image(images: Images, engine: Engine, origin: str, text: str, name: str) -> Image:
    """Return an image that the user named, as an archive that every node can load.

    Args:
        images: the cache.
        engine: where references are looked for.
        origin: the setting that named it, for messages.
        text: a reference, or the prefix of an archive and its path.
        name: what it is called in names of ours.

    Raises:
        ImageMissing: the engine has no such image and cannot pull it.
        ImageUnusable: it cannot run here.
        NotEnoughDisk, CacheNotWritable: as said.
    """
    path = file_of(text)
    try:
        if path is None:
            if not engine.image_id(text):
                _pull(images, engine, origin, text)
            return of_engine(images, engine, text, name)
        with _opened(path) as content:
            number = _number(_look(content).config)
        return _kept(images, name, number, lambda scratch: path)
    except Unfit as unfit:
        raise ImageUnusable(origin, text, why=str(unfit)) from unfit


def file_of(text: str) -> Path | None:
    """Return the file that a user named, None for a reference."""
    return next((Path(text.removeprefix(prefix)) for prefix in ARCHIVES if text.startswith(prefix)), None)


def _pull(images: Images, engine: Engine, origin: str, text: str) -> None:
    images.progress.step(f"image {text}", "pulling")
    if said := engine.pull(text):
        raise ImageMissing(origin, text, said=said.splitlines()[-1])


def of_engine(images: Images, engine: Engine, text: str, name: str, tags: Sequence[str] = ()) -> Image:
    """Return an image that the engine has, under a name of ours, or under `tags`.

    Raises:
        Unfit: it cannot run here.
    """

    def save(scratch: Path) -> Path:
        images.progress.step(f"image {name}", "taking it out of the engine")
        engine.save(text, scratch / "saved.tar")
        return scratch / "saved.tar"

    # An engine may call it by its manifest, as today's do: it is the name of a file only.
    return _kept(images, name, engine.image_id(text).removeprefix("sha256:"), save, tags)


def _kept(images: Images, name: str, number: str, source: Callable[[Path], Path], wanted: Sequence[str] = ()) -> Image:
    """Return the image of an archive in the cache; where it is not there it is made of `source`, given a folder."""

    def write(out: Path, scratch: Path) -> None:
        with _opened(source(scratch)) as content:
            images.progress.step(f"image {name}", "rewriting")
            found = _look(content)
            names = wanted or _names(name, _number(found.config))
            archive.rewrite(out, names, found.config, (_file(content, layer) for layer in found.layers))

    made = images.kept(name, tuple(wanted), images.cache / "images" / f"{name}-{number[:16]}.tar", write)
    return made if wanted else replace(made, tags=_names(name, made.id.removeprefix("sha256:")))


def _names(name: str, number: str) -> tuple[str, ...]:
    return (f"edgegate.local/{name}:{number}",)


def _number(config: bytes) -> str:
    return hashlib.sha256(config).hexdigest()


@contextmanager
def _opened(path: Path) -> Iterator[tarfile.TarFile]:
    try:
        with tarfile.open(path) as content:
            yield content
    except tarfile.TarError as trouble:
        raise Unfit("is no archive of an image (no tar file)") from trouble


def _look(content: tarfile.TarFile) -> _Found:
    """Return the image of an archive as `docker save` writes it, or of an OCI layout."""
    names = {name.removeprefix("./") for name in content.getnames()}
    try:
        if "manifest.json" in names:
            found = _of_docker(content)
        elif "index.json" in names:
            found = _of_oci(content)
        else:
            raise Unfit("is no archive of an image (neither manifest.json nor index.json is in it)")
        config: dict[str, Any] = json.loads(found.config)
    except (KeyError, TypeError, AttributeError, ValueError) as strange:
        if isinstance(strange, Unfit):
            raise
        raise Unfit(f"is no archive of an image that can be read ({strange!r})") from strange
    made_for = f"{config.get('os', 'linux')}/{config.get('architecture', 'an unknown machine')}"
    if made_for != _here():
        raise Unfit(f"is made for {made_for}, this machine is {_here()}")
    return found


def _of_docker(content: tarfile.TarFile) -> _Found:
    images = _json(content, "manifest.json")
    if len(images) != 1:
        raise Unfit(f"holds {len(images)} images")
    return _Found(_file(content, images[0]["Config"]).read(), tuple(images[0]["Layers"]))


def _of_oci(content: tarfile.TarFile) -> _Found:
    listed = _json(content, "index.json")["manifests"]
    while any(one.get("mediaType") in _LISTS for one in listed) and len(listed) == 1:
        listed = _json(content, _blob(listed[0]))["manifests"]
    fitting = [one for one in listed if _platform(one) in (_here(), "")]
    if len(fitting) != 1:
        offered = ", ".join(sorted({_platform(one) or "unnamed" for one in listed})) or "none"
        raise Unfit(f"holds {len(fitting)} images for {_here()} (it has: {offered})")
    manifest = _json(content, _blob(fitting[0]))
    return _Found(_file(content, _blob(manifest["config"])).read(), tuple(_blob(one) for one in manifest["layers"]))


def _platform(manifest: dict[str, Any]) -> str:
    made_for = manifest.get("platform") or {}
    return f"{made_for['os']}/{made_for['architecture']}" if made_for else ""


def _blob(descriptor: dict[str, Any]) -> str:
    return "blobs/" + str(descriptor["digest"]).replace(":", "/")


def _here() -> str:
    return f"linux/{_ARCHITECTURES.get(platform.machine(), platform.machine())}"


def _json(content: tarfile.TarFile, name: str) -> Any:
    return json.loads(_file(content, name).read())


def _file(content: tarfile.TarFile, name: str) -> IO[bytes]:
    """Return a file of an archive; layers that several images share are links in what older engines write."""
    for spelt in (name, f"./{name}"):
        try:
            found = content.extractfile(spelt)
        except KeyError:
            continue
        if found is not None:
            return found
    raise Unfit(f"lacks its part {name}")
