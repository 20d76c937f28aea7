"""Which version of each component is used, and who chose it."""

from pathlib import Path

import pytest

from edgegate import pins
from edgegate.errors import UnknownComponent, UnknownImage, UnknownVersion
from edgegate.pins import Chosen, Pins
from pin_file import write


@pytest.fixture
def few(tmp_path: Path) -> Pins:
    """Return the pins of the small file."""
    return pins.load(write(tmp_path))


def test_defaults_come_from_the_file(few: Pins) -> None:
    """Nobody asked for anything: the pins decide, for companions of a default too."""
    chosen = few.select()
    assert {name: chosen.chosen(name) for name in ("server", "proxy", "tool")} == {
        "server": Chosen("2.0.0", "pins.toml"),
        "proxy": Chosen("2.0", "pins.toml"),
        "tool": Chosen("0.8", "pins.toml"),
    }


def test_a_companion_follows_its_leader(few: Pins) -> None:
    """An older server brings the proxy that it was released with, and that is said."""
    chosen = few.select({"server": "1.0.0"})
    assert chosen.chosen("server") == Chosen("1.0.0", "--edge-set")
    assert chosen.chosen("proxy") == Chosen("1.0", "companion of server 1.0.0")


def test_an_override_beats_a_companion(few: Pins) -> None:
    """A pair that was never released together can be asked for; each origin is kept."""
    chosen = few.select({"server": "1.0.0", "proxy": "2.0"}, {"server": "EDGEGATE_SET", "proxy": "ini edge_set"})
    assert chosen.chosen("server") == Chosen("1.0.0", "EDGEGATE_SET")
    assert chosen.chosen("proxy") == Chosen("2.0", "ini edge_set")
    assert chosen.version("proxy") == "2.0"


def test_an_unknown_component_suggests_a_close_one(few: Pins) -> None:
    """All names are listed; a close one comes first."""
    said = r"no component 'servr'\. Did you mean 'server'\? It has: server, proxy, tool\."
    with pytest.raises(UnknownComponent, match=said):
        few.select({"servr": "1.0.0"})
    with pytest.raises(UnknownComponent, match=r"no component 'xyzzy'\. It has: server, proxy, tool\."):
        few.pin("xyzzy")
    with pytest.raises(UnknownComponent, match="no component 'xyzzy'"):
        few.select().version("xyzzy")


def test_an_unknown_version_lists_the_known_ones(few: Pins) -> None:
    """A leading v is a likely slip."""
    with pytest.raises(UnknownVersion, match=r"no version '9' of server\. It has: 1\.0\.0, 2\.0\.0\."):
        few.select({"server": "9"})
    with pytest.raises(UnknownVersion, match=r"no version 'v1\.0\.0' of server\. Leave the leading v out\. It has:"):
        few.select({"server": "v1.0.0"})


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        ("example/server:v1.0.0", ("server", "1.0.0")),
        ("docker.io/example/server:2.0.0", ("server", "2.0.0")),
        ("example/server:distroless-v2.0.0", ("server", "2.0.0")),
        ("docker.io/example/server:v2.0.0@sha256:" + "0" * 64, ("server", "2.0.0")),
        ("registry.test/example/proxy:v1.0", ("proxy", "1.0")),
    ],
)
def test_an_image_stands_for_a_pin(few: Pins, image: str, expected: tuple[str, str]) -> None:
    """Repository and tag decide; the variants of a release are the same program."""
    pin, version = few.for_image(image)
    assert (pin.name, version) == expected


@pytest.mark.parametrize(
    ("image", "said"),
    [
        ("example/server:latest", "pin 'server' has the versions 1.0.0, 2.0.0. Add the image or the version"),
        ("example/server", "pin 'server' has the versions 1.0.0, 2.0.0."),
        ("example/server:contrib-v2.0.0", "pin 'server' has the versions 1.0.0, 2.0.0."),
        ("registry.test:5000/other:v1", "images that pins stand for: example/server, registry.test/example/proxy."),
    ],
)
def test_an_unknown_image_is_refused(few: Pins, image: str, said: str) -> None:
    """No guess: what runs must be what was asked for."""
    with pytest.raises(UnknownImage) as caught:
        few.for_image(image)
    assert f"no pin stands for the image '{image}'; {said}" in str(caught.value)
