"""An edge is opened once for all who share it: a kept one that fits is used, everything else is told."""

import errno
import json
import logging
import os
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from edgegate import pins as pin_files
from edgegate.components.base_state import BaseStates
from edgegate.components.graph import Took
from edgegate.edge import opening
from edgegate.edge.opening import Plan, open_edge
from edgegate.errors import ComponentExited, EnvironmentFault, NothingToReuse, StartFailed
from edgegate.forms import Reuse
from edgegate.lab import registry, sandbox
from edgegate.lab.record import Record
from edgegate.limits import Limits
from edgegate.resources import resource
from edgegate.settings import Settings
from fakes import VERSIONS, FakeLab, artifact, launch, running, selection

FITS, OTHER = "f" * 16, "0" * 16


class World:
    """The labs that there are, and the one that a start makes."""

    def __init__(self, cache: Path) -> None:
        self.cache = cache
        self.found: list[tuple[Path, Record]] = []
        self.attached: list[FakeLab] = []
        self.created: list[tuple[str, dict[str, Any]]] = []
        self.privileges: list[int | None] = []
        self.fails: BaseException | None = None
        self.within = 0.0
        self.during: Callable[[], None] = lambda: None

    def lab(self, name: str, fingerprint: str = FITS, *, kept: bool = True, **versions: str) -> FakeLab:
        """Add a running lab with an edge in it."""
        lab = FakeLab(self.cache / "labs" / name, name=name, kept=kept)
        lab.folder.mkdir(parents=True)
        launch(lab)
        told = {"versions": VERSIONS | {key.replace("_", "-"): value for key, value in versions.items()}}
        (lab.folder / "ready.json").write_text(json.dumps(told))
        self.found.append((lab.folder, replace(lab.record, fingerprint=fingerprint)))
        self.attached.append(lab)
        return lab

    def attach(self, folder: Path) -> FakeLab:
        return next(lab for lab in self.attached if lab.folder == folder)

    def create(self, folder: Path, name: str, **asked: Any) -> FakeLab:
        self.created.append((folder.name, {"name": name, **asked}))
        folder.mkdir(parents=True)
        self.attached.append(FakeLab(folder, name=name))
        return self.attached[-1]

    def bring_up(
        self, launched: Any, states: BaseStates, *, done: Callable[[Took], None], within: float, **_: Any
    ) -> Any:
        self.within = within
        self.during()
        if self.fails:
            raise self.fails
        done(Took("etcd", 0.0, 0.5))
        return SimpleNamespace(downstream=None, upstream=None)


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    made = World(tmp_path)
    monkeypatch.setattr(registry, "labs", lambda cache: made.found)
    monkeypatch.setattr(registry, "sweep", lambda cache: [])
    monkeypatch.setattr(registry, "attach", made.attach)
    monkeypatch.setattr(sandbox, "create", made.create)
    monkeypatch.setattr(sandbox, "ensure_privileges", made.privileges.append)
    monkeypatch.setattr(opening, "bring_up", made.bring_up)
    return made


def _plan(world: World, *, fingerprint: str = FITS, **settings: Any) -> Plan:
    artifacts = {name: artifact(name, version) for name, version in VERSIONS.items()}
    pins = pin_files.load(resource("pins.toml"))
    return Plan(Settings(cache=world.cache, **settings), pins, selection(), artifacts, fingerprint)


def test_without_labs_one_is_started(world: World) -> None:
    told: list[Took] = []
    opened = open_edge(_plan(world), "0123456789abcdef", done=told.append)
    assert (opened.how, opened.steps, [one.name for one in told]) == ("started", tuple(told), ["etcd"])
    folder, asked = world.created[0]
    assert folder == "ffffff-0123456789abc"
    assert (asked["name"], asked["fingerprint"]) == ("0123456789abcdef", FITS)
    assert (asked["tools"].bwrap, asked.get("keep", False)) == ("/store/bubblewrap/bin/bwrap", False)


def test_a_start_may_take_as_long_as_the_user_says(world: World) -> None:
    open_edge(_plan(world, limits=Limits(edge_ready=7)), "run")
    assert world.within == 7


def test_what_was_started_can_be_recognized(world: World) -> None:
    lab = open_edge(_plan(world), "run").launch.lab
    assert json.loads((lab.folder / "ready.json").read_text())["versions"] == VERSIONS


@pytest.mark.parametrize("keep", [True, False])
def test_an_edge_is_kept_only_when_that_is_asked_for(world: World, keep: bool) -> None:
    lab = open_edge(_plan(world, keep=keep), "run").launch.lab
    assert isinstance(lab, FakeLab)
    assert lab.asked == ([("keep", "True")] if keep else [])


@pytest.mark.parametrize("error", [ComponentExited("etcd", status=1, log=Path("x"), tail=""), KeyboardInterrupt()])
def test_a_start_that_fails_leaves_nothing(world: World, error: BaseException) -> None:
    world.fails = error
    with pytest.raises(type(error)):
        open_edge(_plan(world, keep=True), "run")
    assert world.attached[0].asked == [("down",)]
    assert not (world.attached[0].folder / "ready.json").exists()


@pytest.mark.parametrize("in_a_run", [True, False])
def test_logs_of_a_start_that_fails_are_kept(world: World, tmp_path: Path, in_a_run: bool) -> None:
    """The lab's folder goes with it, so the error names another place; secrets do not come along."""
    kept = (tmp_path / "run" if in_a_run else world.cache / "logs") / opening.FAILED_START

    def write() -> None:
        logs = world.attached[0].folder / "logs"
        (logs / "pods").mkdir(parents=True)
        (logs / "etcd.log").write_text("Authorization: Bearer abcdefgh\nno space left\n")
        (logs / "pods" / "envoy").write_text("up\n")
        world.fails = ComponentExited("etcd", status=1, log=logs / "etcd.log", tail="no space left")

    world.during = write
    with pytest.raises(StartFailed) as failed:
        open_edge(_plan(world, run_dir=tmp_path / "run" if in_a_run else None), "run")
    assert str(failed.value) == (
        f"etcd ended with status 1 before it was ready. The end of its log ({kept}/etcd.log):\nno space left\n"
        f"What all parts wrote: {kept}"
    )
    assert "no space left" in (kept / "etcd.log").read_text()
    assert "abcdefgh" not in (kept / "etcd.log").read_text()
    assert (kept / "pods" / "envoy").read_text() == "up\n"
    assert world.attached[0].asked == [("down",)]


def test_a_kept_edge_that_fits_is_used(world: World) -> None:
    kept = world.lab("kept-1")
    opened = open_edge(_plan(world), "run")
    assert opened.launch.lab is kept
    assert (opened.how, opened.steps, kept.leased) == ("kept edge used again", (), True)
    assert world.privileges == [kept.record.launcher_pid]
    assert opened.planes.downstream.kubeconfig.exists()


def test_a_kept_edge_with_a_part_that_has_ended_is_not_used(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """The user is told why, and how to end it."""
    kept = world.lab("kept-1")
    kept.states = {"dns": running("dns", state="restarting"), "etcd": running("etcd", pid=None, state="exited")}
    assert open_edge(_plan(world), "run").how == "started"
    assert (kept.leased, kept.asked) == (False, [])
    assert "etcd of the kept edge kept-1 has ended, so it is not used." in caplog.messages
    told = "kept-1: etcd has ended; `edgegate logs` tells why, `edgegate down --name kept-1` ends the rest"
    with pytest.raises(NothingToReuse, match=told):
        open_edge(_plan(world, reuse=Reuse.ALWAYS), "other")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS])
def test_a_cache_folder_that_cannot_be_written_to(world: World, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Inconclusive: the surroundings broke."""
    reason = os.strerror(number)

    def refuse(path: Path, **_: object) -> None:
        raise OSError(number, reason, str(path))

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(EnvironmentFault) as raised:
        open_edge(_plan(world), "run")
    assert str(raised.value) == (
        f"an edge keeps logs, credentials and locks in {world.cache}, which cannot be written to: {reason}. Make it "
        "writable for this user and free some disk, or set EDGEGATE_CACHE to another folder (its store may be a link "
        "to a read-only one)."
    )


def test_other_trouble_with_files_is_not_blamed_on_the_cache_folder(world: World) -> None:
    world.fails = PermissionError(errno.EACCES, "Permission denied", "/proc/1/root")
    with pytest.raises(PermissionError):
        open_edge(_plan(world), "run")


def test_the_edge_of_the_same_run_is_joined_though_it_is_not_kept(world: World) -> None:
    lab = world.lab("run", kept=False)
    opened = open_edge(_plan(world, reuse=Reuse.NEVER), "run")
    assert (opened.launch.lab, opened.how) == (lab, "joined this run's edge")


@pytest.mark.parametrize(
    ("kept", "fingerprint", "reuse"), [(False, FITS, "auto"), (True, OTHER, "auto"), (True, FITS, "never")]
)
def test_any_other_edge_is_left_alone(world: World, kept: bool, fingerprint: str, reuse: str) -> None:
    lab = world.lab("other", fingerprint, kept=kept)
    assert open_edge(_plan(world, reuse=Reuse(reuse)), "run").how == "started"
    assert (lab.leased, lab.asked) == (False, [])


def test_an_edge_that_is_still_coming_up_is_left_alone(world: World) -> None:
    (world.lab("kept-1").folder / "ready.json").unlink()
    assert open_edge(_plan(world), "run").how == "started"


def test_why_a_kept_edge_does_not_fit_is_logged(world: World, caplog: pytest.LogCaptureFixture) -> None:
    world.lab("kept-1", OTHER, envoy="1.37.0", envoy_gateway="1.7.0")
    with caplog.at_level(logging.INFO, logger="edgegate.edge"):
        open_edge(_plan(world), "run")
    assert caplog.messages == [
        "kept edge not used, kept-1: envoy-gateway 1.7.0 instead of 1.8.3, envoy 1.37.0 instead of 1.38.3"
    ]


def test_reuse_that_is_demanded_and_not_to_be_had_says_how_each_differs(world: World) -> None:
    world.lab("kept-1", OTHER, envoy="1.37.0")
    world.lab("kept-2", OTHER)
    world.lab("of-a-test", OTHER, kept=False)
    with pytest.raises(NothingToReuse) as raised:
        open_edge(_plan(world, reuse=Reuse.ALWAYS), "run")
    assert str(raised.value) == (
        "No kept edge fits, and --edge-reuse=always forbids a new one. Kept edges:\n"
        "  kept-1: envoy 1.37.0 instead of 1.38.3\n"
        "  kept-2: same versions, but edgegate itself or an artifact has changed since\n"
        "Start one with `edgegate up`, or use --edge-reuse=auto."
    )
    assert isinstance(raised.value, EnvironmentFault)
    assert world.created == []


def test_reuse_that_is_demanded_of_nothing(world: World) -> None:
    with pytest.raises(NothingToReuse, match="Kept edges:\n  none is kept\n"):
        open_edge(_plan(world, reuse=Reuse.ALWAYS), "run")


@pytest.mark.parametrize(
    ("keep", "keys", "together"),
    [(False, ("run", "run"), False), (True, ("kept-1", "kept-2"), False), (False, "ab", True)],
)
def test_who_shares_an_edge_opens_it_one_after_the_other(
    world: World, keep: bool, keys: tuple[str, str], together: bool
) -> None:
    """Workers of a run, and two that want to keep one; other runs do not wait."""
    meet = threading.Barrier(2)
    met: list[bool] = []

    def wait() -> None:
        try:
            meet.wait(5 if together else 0.2)
            met.append(True)
        except threading.BrokenBarrierError:
            meet.reset()

    world.during = wait
    threads = [threading.Thread(target=_open, args=(world, keep, key, number)) for number, key in enumerate(keys)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert met == ([True, True] if together else [])


def _open(world: World, keep: bool, key: str, number: int) -> None:
    open_edge(_plan(world, keep=keep, fingerprint=FITS if keep else f"{number}" * 16), key)


def test_no_lock_stays_behind(world: World) -> None:
    open_edge(_plan(world), "run")
    assert list((world.cache / "locks").iterdir()) == []


def _digests(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, **settings: Any) -> tuple[str, str]:
    def ensure_all(store: object, pins: object, chosen: Any, names: Any, progress: object) -> Any:
        return {name: artifact(name, path=Path(f"/store/{name}-{chosen.version(name)}")) for name in names}

    monkeypatch.setattr("edgegate.artifacts.Store.ensure_all", ensure_all)
    plan = Plan.make(Settings(cache=tmp_path, **settings))
    return plan.fingerprint, plan.base_fingerprint


def test_another_version_is_another_edge_but_not_always_another_base_state(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The proxy is started anew each time; nothing of it is in etcd."""
    made = _digests(monkeypatch, tmp_path)
    envoy = _digests(monkeypatch, tmp_path, set={"envoy": "1.37.0"})
    gateway = _digests(monkeypatch, tmp_path, set={"envoy-gateway": "1.7.0"})
    assert made == _digests(monkeypatch, tmp_path)
    assert len({made[0], envoy[0], gateway[0]}) == 3
    assert made[1] == envoy[1] != gateway[1]


def test_an_edge_of_code_that_has_changed_does_not_fit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    made = _digests(monkeypatch, tmp_path)
    monkeypatch.setattr(opening, "code_of", lambda *packages: "other")
    assert _digests(monkeypatch, tmp_path)[0] != made[0]
