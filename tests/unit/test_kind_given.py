"""Images that a user names: whatever they come from, nodes get one image under a name that has its digest."""

import hashlib
import io
import json
import platform
import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from edgegate.artifacts import Quiet
from edgegate.errors import ImageMissing, ImageUnusable
from edgegate.kind import given
from edgegate.kind.engine import Engine
from edgegate.kind.given import Unfit
from edgegate.kind.images import Image, Images

HERE = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
OTHER = "s390x"
ORIGIN = "--edge-operator"


def _config(architecture: str = HERE, os: str = "linux") -> bytes:
    return json.dumps({"architecture": architecture, "os": os, "config": {"Entrypoint": ["/tool"]}}).encode()


def _tar(path: Path, files: dict[str, bytes], links: Sequence[tuple[str, str]] = ()) -> Path:
    with tarfile.open(path, "w") as out:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            out.addfile(entry, io.BytesIO(content))
        for name, target in links:
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            out.addfile(entry)
    return path


def _docker(path: Path, *, architecture: str = HERE, images: int = 1) -> Path:
    """Write what an engine of today saves: the second layer is a link, as those that images share."""
    manifest = [{"Config": "c.json", "RepoTags": ["a/b:v1"], "Layers": ["one/layer.tar", "two/layer.tar"]}] * images
    files = {"c.json": _config(architecture), "one/layer.tar": b"L" * 700, "manifest.json": _json(manifest)}
    return _tar(path, files, [("two/layer.tar", "../one/layer.tar")])


def _json(content: Any) -> bytes:
    return json.dumps(content).encode()


class Layout:
    """An OCI layout that is being made."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {"oci-layout": b'{"imageLayoutVersion":"1.0.0"}'}

    def add(self, content: bytes, **more: Any) -> dict[str, Any]:
        digest = hashlib.sha256(content).hexdigest()
        self.files[f"./blobs/sha256/{digest}"] = content
        return {"digest": f"sha256:{digest}", "size": len(content), **more}

    def image(self, architecture: str, *, named: bool = True) -> dict[str, Any]:
        config = self.add(_config(architecture))
        manifest = _json({"config": config, "layers": [self.add(b"L" * 700), self.add(b"M" * 30)]})
        return self.add(manifest, **({"platform": {"os": "linux", "architecture": architecture}} if named else {}))

    def write(self, path: Path, *images: dict[str, Any]) -> Path:
        return _tar(path, self.files | {"index.json": _json({"manifests": images})})


class FakeEngine(Engine):
    """An engine that has, or can pull, what it is told."""

    def __init__(self, *has: str, pulls: str = "", source: Path | None = None, number: str = "e" * 64) -> None:
        super().__init__("docker", {})
        for name, value in {"has": list(has), "pulls": pulls, "source": source, "number": number, "saved": []}.items():
            object.__setattr__(self, name, value)

    def image_id(self, reference: str) -> str:
        return f"sha256:{vars(self)['number']}" if reference in vars(self)["has"] else ""

    def pull(self, reference: str) -> str:
        if not vars(self)["pulls"]:
            vars(self)["has"].append(reference)
        return str(vars(self)["pulls"])

    def save(self, reference: str, out: Path) -> None:
        vars(self)["saved"].append(reference)
        out.write_bytes(vars(self)["source"].read_bytes())


def _image(tmp_path: Path, text: str, engine: Engine | None = None) -> Image:
    images = Images(tmp_path / "cache", {}, Quiet())
    return given.image(images, engine or FakeEngine(), ORIGIN, text, "network-services-operator")


def _content(image: Image) -> tuple[Any, list[bytes]]:
    with tarfile.open(image.path) as found:

        def read(name: str) -> bytes:
            file = found.extractfile(name)
            assert file is not None
            return file.read()

        (manifest,) = json.loads(read("manifest.json"))
        return manifest, [read(layer) for layer in manifest["Layers"]]


def test_a_docker_archive_keeps_its_digest_and_gets_a_name_with_it(tmp_path: Path) -> None:
    made = _image(tmp_path, f"docker-archive:{_docker(tmp_path / 'a.tar')}")

    number = hashlib.sha256(_config()).hexdigest()
    manifest, layers = _content(made)
    assert made.id == f"sha256:{number}"
    assert made.tags == (f"edgegate.local/network-services-operator:{number}",)
    assert manifest["RepoTags"] == list(made.tags)
    assert layers == [b"L" * 700, b"L" * 700]


def test_of_a_layout_for_several_machines_the_image_for_this_one_is_taken(tmp_path: Path) -> None:
    layout = Layout()
    several = _json({"manifests": [layout.image(OTHER), layout.image(HERE)]})
    listed = layout.add(several, mediaType="application/vnd.oci.image.index.v1+json")

    made = _image(tmp_path, f"oci-archive:{layout.write(tmp_path / 'a.tar', listed)}")

    assert made.id == f"sha256:{hashlib.sha256(_config()).hexdigest()}"
    assert _content(made)[1] == [b"L" * 700, b"M" * 30]


def test_a_layout_of_one_image_need_not_say_for_which_machine(tmp_path: Path) -> None:
    layout = Layout()

    made = _image(tmp_path, f"oci-archive:{layout.write(tmp_path / 'a.tar', layout.image(HERE, named=False))}")

    assert made.id == f"sha256:{hashlib.sha256(_config()).hexdigest()}"


def _unfit(tmp_path: Path) -> list[tuple[Path, str]]:
    layout, text, none = Layout(), tmp_path / "text", "is no archive of an image"
    text.write_text("hello")
    elsewhere = layout.write(tmp_path / "oci.tar", layout.image(OTHER))
    foreign = _docker(tmp_path / "other.tar", architecture=OTHER)
    return [
        (foreign, f"is made for linux/{OTHER}, this machine is linux/{HERE}"),
        (_docker(tmp_path / "two.tar", images=2), "holds 2 images"),
        (elsewhere, f"holds 0 images for linux/{HERE} (it has: linux/{OTHER})"),
        (text, f"{none} (no tar file)"),
        (_tar(tmp_path / "files.tar", {"x": b""}), f"{none} (neither manifest.json nor index.json is in it)"),
        (_tar(tmp_path / "broken.tar", {"manifest.json": b"[{}]"}), f"{none} that can be read (KeyError"),
        (_tar(tmp_path / "half.tar", {"manifest.json": _json([{"Config": "c", "Layers": []}])}), "lacks its part c"),
    ]


def test_archives_that_cannot_be_meant(tmp_path: Path) -> None:
    for path, said in _unfit(tmp_path):
        with pytest.raises(Unfit) as unfit:
            given.check(path)
        assert str(unfit.value).startswith(said)


def test_an_image_of_the_engine_is_taken_out_of_it_once(tmp_path: Path) -> None:
    number = hashlib.sha256(_config()).hexdigest()
    engine = FakeEngine("a/b:v1", source=_docker(tmp_path / "a.tar"), number=number)

    first, second = _image(tmp_path, "a/b:v1", engine), _image(tmp_path, "a/b:v1", engine)

    assert first == second
    assert first.id == f"sha256:{number}"
    assert vars(engine)["saved"] == ["a/b:v1"]
    assert [file.suffix for file in sorted((tmp_path / "cache" / "images").iterdir())] == [".lock", ".tar"]


def test_an_engine_may_call_an_image_otherwise_than_its_nodes(tmp_path: Path) -> None:
    """Engines of today name an image by its manifest; a kubelet by its configuration."""
    engine = FakeEngine("a/b:v1", source=_docker(tmp_path / "a.tar"))

    assert _image(tmp_path, "a/b:v1", engine).id == f"sha256:{hashlib.sha256(_config()).hexdigest()}"


def test_what_the_engine_does_not_have_is_pulled(tmp_path: Path) -> None:
    engine = FakeEngine(source=_docker(tmp_path / "a.tar"))

    assert _image(tmp_path, "a/b:v1", engine).tags
    assert vars(engine)["has"] == ["a/b:v1"]


def test_an_image_that_is_nowhere(tmp_path: Path) -> None:
    refused = "Using default tag\nError response from daemon: Get https://a/v2/: no such host."

    with pytest.raises(ImageMissing) as missing:
        _image(tmp_path, "a/b:v1", FakeEngine(pulls=refused))

    assert str(missing.value) == (
        "--edge-operator: the Docker engine has no image a/b:v1, and cannot pull it: Error response from daemon: "
        "Get https://a/v2/: no such host. Build or load it (docker load --input FILE), log in to its registry, "
        "or name the file itself: docker-archive:FILE."
    )


def test_an_image_of_the_engine_for_another_machine(tmp_path: Path) -> None:
    engine = FakeEngine("a/b:v1", source=_docker(tmp_path / "a.tar", architecture=OTHER))

    with pytest.raises(ImageUnusable) as unusable:
        _image(tmp_path, "a/b:v1", engine)

    said = f"--edge-operator: the image a/b:v1 is made for linux/{OTHER}, this machine is linux/{HERE}. Accepted: one"
    assert str(unusable.value).startswith(said)
    assert [file.suffix for file in (tmp_path / "cache" / "images").iterdir()] == [".lock"]
