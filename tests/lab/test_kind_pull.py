"""The engine pulls an official image from a registry; runs where an engine is, as in continuous integration."""

import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

import registry
from edgegate import pins as pin_files
from edgegate.artifacts import Quiet
from edgegate.errors import OfficialImageMissing
from edgegate.kind import archive, official
from edgegate.kind.archive import Command
from edgegate.kind.engine import Engine
from edgegate.kind.images import Image, Images
from edgegate.kind.tree import Tree
from edgegate.pins import Pin
from edgegate.resources import resource
from kind_parts import engine_or_skip


@pytest.fixture
def engine() -> Engine:
    """Whatever `docker` talks to."""
    return engine_or_skip()


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """An image that nobody has yet."""
    tree = Tree()
    tree.text("etc/motd", secrets.token_hex(8))
    archive.write(tmp_path / "source.tar", ["a/b:v1"], tree, Command(entry=("/none",)))
    return tmp_path / "source.tar"


@pytest.fixture
def served(engine: Engine) -> Iterator[registry.Registry]:
    with registry.serve() as found:
        yield found
        left = engine.run("images", "--quiet", "--no-trunc", f"{found.address}/team/tool").stdout.split()
        engine.run("rmi", "--force", *left, check=False)


def _pull(tmp_path: Path, engine: Engine, pin: Pin) -> Image:
    return official.image(Images(tmp_path, {}, Quiet()), engine, "--edge-images", pin, pin.default, ["a/tool:v1"])


def _pin(served: registry.Registry, **more: object) -> Pin:
    envoy = pin_files.load(resource("pins.toml")).pin("envoy")
    values = {**vars(envoy), "images": (f"{served.address}/team/tool",), **more}
    return Pin(**values)


def test_what_is_pulled_is_what_the_registry_has(
    tmp_path: Path, engine: Engine, source: Path, served: registry.Registry
) -> None:
    pin = _pin(served)
    digest = served.push(source, f"team/tool:v{pin.default}")

    made = _pull(tmp_path, engine, pin)

    assert made.source == f"{served.address}/team/tool:v{pin.default}@{digest}"
    assert made.id == archive.read_id(source) == archive.read_id(made.path)


def test_a_pinned_digest_keeps_a_moved_tag_out(
    tmp_path: Path, engine: Engine, source: Path, served: registry.Registry
) -> None:
    pin = _pin(served)
    digest = served.push(source, f"team/tool:v{pin.default}")
    pinned = _pin(served, image_digests={pin.default: digest})
    assert _pull(tmp_path, engine, pinned).id == archive.read_id(source)

    served.manifests.pop(f"team/tool/{digest}")
    elsewhere = _pin(served, image_digests={pin.default: "sha256:" + "0" * 64})
    with pytest.raises(OfficialImageMissing, match="cannot be pulled"):
        _pull(tmp_path, engine, elsewhere)
