"""`edgegate build`: what it builds, what it says, how it ends."""

import json
from functools import partial
from pathlib import Path

import pytest

from edgegate import pins
from edgegate.artifacts import Store
from edgegate.artifacts.job import Job, Made
from edgegate.artifacts.store import Builder
from edgegate.cli import build, main
from edgegate.errors import NoNetwork
from edgegate.resources import resource
from edgegate.settings import Settings
from pin_file import write

Captured = pytest.CaptureFixture[str]


def _make(job: Job) -> Made:
    job.step("writing")
    (job.into / job.pin.name).write_text(job.version)
    return Made(binaries={job.pin.name: job.pin.name}, libraries=("lib",))


def _offline(job: Job) -> Made:
    raise NoNetwork(job.what, missing="x", source="y", cache=job.root, last="z")


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the path of the small pins.toml; an edge is made of two of its pins, and builds take no time."""
    monkeypatch.setenv("EDGEGATE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("EDGEGATE_SET", raising=False)
    monkeypatch.setattr("edgegate.components.bring_up.PINS", ("server", "proxy"))
    monkeypatch.setattr("edgegate.components.parts.PARTS", {})
    _building(monkeypatch, Builder(1, _make))
    return str(write(tmp_path))


def _building(monkeypatch: pytest.MonkeyPatch, builder: Builder) -> None:
    builders = dict.fromkeys(("go", "pypi", "deb"), builder)
    monkeypatch.setattr("edgegate.cli.build.Store", partial(Store, builders=builders, free_mib=lambda where: 10_000))


def _built(capsys: Captured, *words: str) -> list[str]:
    assert main(["build", *words, "--json"]) == 0
    return [f"{one['name']} {one['version']}" for one in json.loads(capsys.readouterr().out)["artifacts"]]


def test_what_an_edge_needs_is_built(file: str, capsys: Captured) -> None:
    """Nothing named: the parts of an edge, in their default versions."""
    assert _built(capsys, "--pins", file) == ["server 2.0.0", "proxy 2.0"]


def test_a_version_brings_its_companion(file: str, capsys: Captured) -> None:
    """As in a run."""
    assert _built(capsys, "--pins", file, "--set", "server=1.0.0") == ["server 1.0.0", "proxy 1.0"]


def test_a_version_of_something_else_is_built_too(file: str, capsys: Captured) -> None:
    """Who asks for a version wants it."""
    assert _built(capsys, "--pins", file, "--set", "tool=0.8") == ["server 2.0.0", "proxy 2.0", "tool 0.8"]


def test_named_components(file: str, capsys: Captured) -> None:
    """Only those, each once."""
    assert _built(capsys, "tool", "proxy", "tool", "--pins", file, "--set", "proxy=1.0") == ["tool 0.8", "proxy 1.0"]


def test_all(file: str, capsys: Captured) -> None:
    """Every version of every pin, to be copied to a machine without a network."""
    every = ["server 1.0.0", "server 2.0.0", "proxy 1.0", "proxy 2.0", "tool 0.8"]
    assert _built(capsys, "--all", "--pins", file) == every


def test_the_object(file: str, capsys: Captured, tmp_path: Path) -> None:
    """Paths and environment to run a binary with; progress goes to the other stream."""
    assert main(["build", "tool", "--pins", file, "--json"]) == 0
    said = capsys.readouterr()
    data = json.loads(said.out)
    assert data["built"] == ["tool 0.8"]
    artifact = data["artifacts"][0]
    assert Path(artifact["binaries"]["tool"]).read_text() == "0.8"
    assert artifact["environment"] == {"LD_LIBRARY_PATH": f"{artifact['path']}/lib"}
    assert said.err.splitlines()[:2] == ["1 of 1: tool 0.8", "tool 0.8: writing"]
    assert main(["build", "tool", "--pins", file, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["built"] == []


def test_the_table(file: str, capsys: Captured, tmp_path: Path) -> None:
    """One line an artifact, and what was done."""
    assert main(["build", "tool", "--pins", file]) == 0
    said = capsys.readouterr().out
    assert "tool" in said
    assert "0.8" in said
    assert "1 made in" in said
    assert f"0 were there · {tmp_path / 'cache'}" in said


@pytest.mark.parametrize("more", [["tool"], ["--set", "tool=0.8"]])
def test_all_stands_alone(file: str, capsys: Captured, more: list[str]) -> None:
    """A contradiction is refused, not resolved."""
    assert main(["build", "--all", *more, "--pins", file]) == 2
    said = "--all: a component or a version is named too, which --all would ignore. Leave one out. Nothing was started."
    assert said in capsys.readouterr().err


def test_an_unknown_component(file: str, capsys: Captured) -> None:
    """Usage: status 2."""
    assert main(["build", "tol", "--pins", file]) == 2
    assert "pins.toml has no component 'tol'. Did you mean 'tool'?" in capsys.readouterr().err


def test_broken_surroundings(file: str, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    """Status 75, and the error as an object."""
    _building(monkeypatch, Builder(1, _offline))
    assert main(["build", "tool", "--pins", file, "--json"]) == 75
    error = json.loads(capsys.readouterr().out)
    assert error["error"] == "NoNetwork"
    assert error["text"].startswith("tool 0.8 needs x.")


def test_ctrl_c(file: str, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    """Status 130."""

    def interrupted(job: Job) -> Made:
        raise KeyboardInterrupt

    _building(monkeypatch, Builder(1, interrupted))
    assert main(["build", "tool", "--pins", file]) == 130
    assert "interrupted" in capsys.readouterr().err


def test_parts_are_built_too() -> None:
    """With --parts every part of an edge is there before a scenario asks for it."""
    wanted = {
        name for name, _ in build._wanted(pins.load(resource("pins.toml")), Settings(), [], parts=True, every=False)
    }
    assert {"kubernetes", "envoy", "powerdns", "cert-manager", "pebble"} <= wanted
