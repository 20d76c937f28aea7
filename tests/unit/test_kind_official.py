"""Official images: pulled as pins.toml names them, and compared with its digest where it has one."""

from datetime import date
from pathlib import Path

import pytest

from edgegate.artifacts import Quiet
from edgegate.errors import ImageUnusable, OfficialImageMissing, WrongImage
from edgegate.kind import archive, official
from edgegate.kind.archive import Command
from edgegate.kind.engine import Engine
from edgegate.kind.images import Image, Images
from edgegate.kind.tree import Tree
from edgegate.pins.model import Pin, PypiRecipe

NAME = "docker.io/envoyproxy/envoy:v1.38.3"
DISTROLESS = "docker.io/envoyproxy/envoy:distroless-v1.38.3"
GOOD, OTHER = (f"sha256:{letter * 64}" for letter in "ab")
ORIGIN = "--edge-images"


def _pin(**digests: str) -> Pin:
    known = {version.replace("_", "."): digest for version, digest in digests.items()}
    some = date(2026, 1, 1)
    return Pin(
        "envoy", ("1.38.3",), "1.38.3", PypiRecipe("envoy", {}), "w", "u", some, some,
        images=("docker.io/envoyproxy/envoy",), image_digests=known,
    )  # fmt: skip


class Pulling(Engine):
    """An engine that pulls from one registry, unless that refuses."""

    def __init__(self, source: Path, *, manifest: str = GOOD, refuses: str = "", has: tuple[str, ...] = ()) -> None:
        super().__init__("docker", {})
        values = {"source": source, "digest": manifest, "refuses": refuses, "has": list(has), "pulled": []}
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def manifest(self, reference: str) -> str:
        return str(vars(self)["digest"]) if reference in vars(self)["has"] else ""

    def pull(self, reference: str) -> str:
        vars(self)["pulled"].append(reference)
        if not vars(self)["refuses"]:
            vars(self)["has"].append(reference)
        return str(vars(self)["refuses"])

    def image_id(self, reference: str) -> str:
        return archive.read_id(vars(self)["source"])

    def save(self, reference: str, out: Path) -> None:
        out.write_bytes(vars(self)["source"].read_bytes())


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """What the registry has."""
    tree = Tree()
    tree.text("etc/motd", "hello")
    archive.write(tmp_path / "source.tar", ["a/b:v1"], tree, Command())
    return tmp_path / "source.tar"


def _image(tmp_path: Path, engine: Engine, pin: Pin) -> Image:
    images = Images(tmp_path / "cache", {}, Quiet())
    return official.image(images, engine, ORIGIN, pin, "1.38.3", [NAME, DISTROLESS])


def test_one_without_a_pinned_digest_is_pulled_by_its_tag_and_its_digest_is_told(tmp_path: Path, source: Path) -> None:
    engine = Pulling(source)

    made = _image(tmp_path, engine, _pin())

    assert vars(engine)["pulled"] == [NAME]
    assert made.source == f"{NAME}@{GOOD}"
    assert made.id == archive.read_id(source)
    assert made.tags == (NAME, DISTROLESS)


def test_a_pinned_digest_is_what_is_asked_for(tmp_path: Path, source: Path) -> None:
    engine = Pulling(source)

    assert _image(tmp_path, engine, _pin(**{"1_38_3": GOOD})).source == f"{NAME}@{GOOD}"
    assert vars(engine)["pulled"] == [f"{NAME}@{GOOD}"]


def test_one_that_a_registry_gave_is_not_pulled_again(tmp_path: Path, source: Path) -> None:
    engine = Pulling(source, has=(NAME,))

    assert _image(tmp_path, engine, _pin()).source
    assert vars(engine)["pulled"] == []


def test_another_digest_than_the_pinned_one(tmp_path: Path, source: Path) -> None:
    with pytest.raises(WrongImage, match=f"runs the image {OTHER}, and {GOOD} was"):
        _image(tmp_path, Pulling(source, manifest=OTHER), _pin(**{"1_38_3": GOOD}))


def test_no_registry(tmp_path: Path, source: Path) -> None:
    with pytest.raises(OfficialImageMissing) as missing:
        _image(tmp_path, Pulling(source, refuses="Error: lookup registry: no such host"), _pin())

    assert str(missing.value) == (
        f"--edge-images: {NAME} cannot be pulled: Error: lookup registry: no such host. Log in to its registry or load "
        "it into the Docker engine (docker load --input FILE), or let edgegate make it of the store: "
        "--edge-images built."
    )


def test_an_official_image_that_cannot_run_here(tmp_path: Path) -> None:
    broken = tmp_path / "broken.tar"
    broken.write_text("hello")
    engine = Pulling(broken)
    object.__setattr__(engine, "image_id", lambda reference: GOOD)

    with pytest.raises(ImageUnusable, match="is no archive of an image"):
        _image(tmp_path, engine, _pin())
