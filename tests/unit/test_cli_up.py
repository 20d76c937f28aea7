"""`edgegate up` keeps the edge that it starts or finds, and says how to use it."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self

import pytest

from edgegate.cli import main
from edgegate.clusters.plane import ControlPlane
from edgegate.components.graph import Took
from edgegate.errors import NothingToReuse
from edgegate.records import Versions
from edgegate.settings import Settings
from fakes import FakeLab

Captured = pytest.CaptureFixture[str]


class FakeEdge:
    """An edge that comes up at once."""

    opened_with: tuple[Settings, str]
    open_fails: Exception | None = None

    def __init__(self, folder: Path) -> None:
        self.lab = FakeLab(folder, name="kept-0123abcd")
        steps = (Took("etcd", 0.0, 0.5),)
        self.opened = SimpleNamespace(how="started", seconds=6.5, steps=steps)
        self.site = SimpleNamespace(address="10.88.7.8")
        self.downstream = ControlPlane("downstream", folder / "downstream.kubeconfig")
        self.upstream = ControlPlane("upstream", folder / "upstream.kubeconfig")
        self.left = False

    def open(self, settings: Settings, run_key: str, *, done: Callable[[Took], None], progress: Any) -> Self:
        self.opened_with = settings, run_key
        if self.open_fails:
            raise self.open_fails
        for step in self.opened.steps:
            done(step)
        return self

    def versions(self) -> Versions:
        return Versions({"envoy": "1.38.3", "envoy-gateway": "1.8.3"})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.left = True


@pytest.fixture
def started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeEdge:
    for name in ("EDGEGATE_KEEP", "EDGEGATE_REUSE", "EDGEGATE_SET"):
        monkeypatch.delenv(name, raising=False)
    made = FakeEdge(tmp_path)
    monkeypatch.setattr("edgegate.cli.up.Edge", made)
    return made


def test_for_a_program(started: FakeEdge, tmp_path: Path, capsys: Captured) -> None:
    assert main(["up", "--json"]) == 0
    said = capsys.readouterr()
    told = json.loads(said.out)
    assert (
        told.items()
        >= {
            "name": "kept-0123abcd",
            "how": "started",
            "seconds": 6.5,
            "address": "10.88.7.8",
            "versions": {"envoy": "1.38.3", "envoy-gateway": "1.8.3"},
            "steps": {"etcd": 0.5},
        }.items()
    )
    assert told["kubeconfigs"]["upstream"] == f"{tmp_path}/upstream.kubeconfig"
    assert said.err.split() == ["etcd", "500", "ms"]


def test_for_a_person(started: FakeEdge, tmp_path: Path, capsys: Captured) -> None:
    assert main(["up"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "edge kept-0123abcd (started, 6.50 s) address 10.88.7.8 running envoy 1.38.3, envoy-gateway 1.8.3" in said
    assert f"downstream export KUBECONFIG={tmp_path}/downstream.kubeconfig" in said
    assert said.endswith("next edgegate status · pytest e2e/test_oidc_isolation.py · edgegate down")


def test_without_root_it_says_from_where_the_edge_is_reached(
    started: FakeEdge, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    main(["up"])
    assert "without root only from inside: edgegate exec -- COMMAND" in capsys.readouterr().out


def test_the_edge_is_kept_whatever_else_is_set(started: FakeEdge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDGEGATE_KEEP", "no")
    main(["up", "--set", "envoy=1.37.0", "--reuse", "never"])
    settings, run_key = started.opened_with
    assert (settings.keep, settings.set, str(settings.reuse)) == (True, {"envoy": "1.37.0"}, "never")
    assert run_key.startswith("kept-")
    assert started.left, "the lease is given back; the lab lives without it"


def test_two_ups_ask_for_edges_of_different_names(started: FakeEdge) -> None:
    names = set()
    for _ in range(2):
        main(["up"])
        names.add(started.opened_with[1])
    assert len(names) == 2


def test_nothing_to_reuse(started: FakeEdge, capsys: Captured) -> None:
    started.open_fails = NothingToReuse(["kept-1: envoy 1.37.0 instead of 1.38.3"])
    assert main(["up", "--reuse", "always"]) == 75
    assert capsys.readouterr().err == f"edgegate: {started.open_fails}\n"


def test_a_version_that_cannot_be_meant(started: FakeEdge, capsys: Captured) -> None:
    assert main(["up", "--set", "envoy"]) == 2
    assert capsys.readouterr().err.startswith("edgegate: --set: 'envoy' is no pair.")


@pytest.mark.parametrize(("steps", "ended"), [((Took("etcd", 0.0, 0.5),), True), ((), False)])
def test_an_edge_that_nobody_was_told_of_is_ended(
    started: FakeEdge, monkeypatch: pytest.MonkeyPatch, capsys: Captured, steps: tuple[Took, ...], ended: bool
) -> None:
    """When Ctrl-C comes after the start; one that ran before goes on."""

    def interrupted() -> Versions:
        raise KeyboardInterrupt

    monkeypatch.setattr(started, "versions", interrupted)
    started.opened.steps = steps
    assert main(["up"]) == 130
    assert "interrupted" in capsys.readouterr().err
    assert started.lab.asked == ([("down",)] if ended else [])


def test_an_edge_of_somebody_else_is_up_already(
    started: FakeEdge, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setenv("EDGEGATE_BACKEND", "attach")
    assert main(["up"]) == 2
    assert "EDGEGATE_BACKEND: an edge that somebody else runs is up already" in capsys.readouterr().err
