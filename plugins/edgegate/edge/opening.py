"""Find the lab that fits, or make one: reuse by fingerprint, one lab for all workers of a run."""

import fcntl
import json
import logging
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import IO

import edgegate.components
import edgegate.lab
from edgegate import pins as pin_files
from edgegate.artifacts import QUIET, Artifact, Progress, Store
from edgegate.components import operator
from edgegate.components.base_state import BaseStates, fingerprint
from edgegate.components.bring_up import PINS, Planes, bring_up, planes
from edgegate.components.graph import Step, Took
from edgegate.components.images import image_table
from edgegate.components.launch import Launch
from edgegate.components.operator_choice import OperatorChoice
from edgegate.components.parts import Parts
from edgegate.edge import sentinel
from edgegate.edge.proxies import scale
from edgegate.errors import EnvironmentFault, NothingToReuse, StartFailed
from edgegate.forms import Reuse
from edgegate.lab import Lab, Tools, registry, sandbox
from edgegate.lab.disk import kept_in
from edgegate.lab.record import Record
from edgegate.pins import Pins, Selection
from edgegate.redaction import redact
from edgegate.settings import Settings

_log = logging.getLogger("edgegate.edge")
_READY = "ready.json"
FAILED_START = "failed-start"
"""Folder with the logs of an edge that did not come up."""


@dataclass(frozen=True)
class Opened:
    """A lab with a running edge in it, and how it came about."""

    launch: Launch
    """The lab and its parts."""
    planes: Planes
    """Its control planes."""
    how: str
    """`started`, `kept edge used again`, or `joined this run's edge`."""
    seconds: float
    """How long the opening took."""
    steps: tuple[Took, ...]
    """The steps of the start; empty when it was running already."""


@dataclass(frozen=True)
class Plan:
    """What an edge is to be made of, before anything runs."""

    settings: Settings
    """What the user asked for."""
    pins: Pins
    """Every version there is."""
    selection: Selection
    """The version of each component."""
    artifacts: dict[str, Artifact]
    """Their files, by pin name."""
    fingerprint: str
    """Changes when the versions, their files, the parts or our own code change."""
    parts: Parts = field(default_factory=Parts)
    """What there is beyond the default edge."""

    @classmethod
    def make(cls, settings: Settings, progress: Progress = QUIET, *, more_parts: Sequence[str] = ()) -> "Plan":
        """Choose the versions and see that their files are in the store; builds what is missing.

        Args:
            settings: what the user asked for.
            progress: told about each artifact that has to be built or downloaded.
            more_parts: parts beyond those of the default edge, as `dns`, `dns=sqlite` or `acme`.

        Raises:
            UsageFault: a component or version is not in pins.toml, or there is no such part.
            ArtifactFault: something could not be had.
        """
        parts = Parts.choose(more_parts, OperatorChoice.of(settings), dns_backend=settings.dns_backend)
        pins = pin_files.load(settings.pins)
        selection = pins.select(settings.set, settings.parts("set"))
        artifacts = Store(settings.cache).ensure_all(pins, selection, (*PINS, *parts.pins), progress)
        files = sorted(artifact.path.name for artifact in artifacts.values())
        number = (f"{settings.replicas} proxies",) if settings.replicas > 1 else ()
        made_of = fingerprint(*files, parts, parts.digest, code_of(edgegate.components, edgegate.lab), *number)
        return cls(settings, pins, selection, artifacts, made_of, parts)

    @property
    def made_of(self) -> tuple[Selection, dict[str, Artifact], Mapping[str, str], OperatorChoice]:
        """What a launch is told of it."""
        return self.selection, self.artifacts, self.parts.chosen, self.parts.operator

    @property
    def base_fingerprint(self) -> str:
        """Like the fingerprint, but of what the base state depends on: not the proxy's version, for instance."""
        relevant = ("kubernetes", "etcd", "envoy-gateway", "gateway-api", *self.parts.crd_pins)
        names = [self.artifacts[name].path.name for name in relevant]
        return fingerprint(*names, self.parts.base_digest, code_of(edgegate.components))


Start = Callable[[Plan, str, Callable[[Took], None]], tuple[Launch, Planes, list[Took]]]
"""Starts a new edge, given the run's key and who is told of its steps."""


def open_edge(
    plan: Plan, run_key: str, *, done: Callable[[Took], None] = lambda took: None, start: Start | None = None
) -> Opened:
    """Return the edge for this run: a kept one that fits, the one that another worker started, or a new one.

    Args:
        plan: what it is made of.
        run_key: the same for all processes that shall share one edge.
        done: told about each step of a start when it ends.
        start: starts a new one; None means one whose control planes are in the lab.

    Raises:
        NothingToReuse: reuse is `always` and no kept edge fits; says how each differs.
        LabFault: the lab or one of its parts could not be started.
        NoRoomForLab: the cache folder cannot be written to, or its disk is full.
    """
    began = time.monotonic()
    # Kept edges are shared between runs: of two that want to keep one, the second uses the first one's.
    shared = f"kept-{plan.fingerprint}" if plan.settings.keep else f"run-{run_key}"
    with kept_in(plan.settings.cache), _one_at_a_time(plan.settings.cache, shared):
        registry.sweep(plan.settings.cache)
        lab, how = _find(plan, run_key)
        # Without root, a lab is reached from the namespace in which it was made.
        sandbox.ensure_privileges(lab.record.launcher_pid if lab else None)
        if lab is not None:
            lab.lease()
            launch = replace(Launch.load(lab, *plan.made_of), elsewhere=start is not None)
            if operator.NAME in plan.parts.chosen:
                operator.switch_faults(launch)
            return Opened(launch, planes(launch), how, time.monotonic() - began, ())
        launch, both, steps = (start or _start)(plan, run_key, done)
        return Opened(launch, both, "started", time.monotonic() - began, tuple(steps))


def _find(plan: Plan, run_key: str) -> tuple[Lab | None, str]:
    """Return a running lab that fits, and why it may be used."""
    differing = []
    for folder, record in registry.labs(plan.settings.cache):
        if not (folder / _READY).exists():
            continue
        if record.name == run_key and _parts_of(folder) == str(plan.parts):
            return registry.attach(folder), "joined this run's edge"
        if not record.kept:
            continue
        why_not = _why_not(plan, folder, record)
        if not why_not:
            return registry.attach(folder), "kept edge used again"
        differing.append(f"{record.name}: {why_not}")
    if plan.settings.reuse is Reuse.ALWAYS:
        raise NothingToReuse(differing)
    for line in differing:
        _log.info("kept edge not used, %s", line)
    return None, ""


def _why_not(plan: Plan, folder: Path, record: Record) -> str:
    """Return why a kept lab cannot be used, nothing when it can."""
    if record.fingerprint != plan.fingerprint or plan.settings.reuse is Reuse.NEVER:
        return difference(plan, folder)
    ended = ", ".join(part.name for part in registry.attach(folder).status() if part.state == "exited")
    if not ended:
        return ""
    _log.warning("%s of the kept edge %s has ended, so it is not used.", ended, record.name)
    return f"{ended} has ended; `edgegate logs` tells why, `edgegate down --name {record.name}` ends the rest"


def difference(plan: Plan, folder: Path) -> str:
    """Return in words how a kept lab differs from the plan."""
    if (parts := _parts_of(folder)) != str(plan.parts):
        return f"has {parts or 'no further part'} instead of {plan.parts or 'none'}"
    have = json.loads((folder / _READY).read_text())["versions"]
    want = {name: plan.selection.version(name) for name in PINS}
    unlike = [f"{name} {have.get(name)} instead of {want[name]}" for name in PINS if have.get(name) != want[name]]
    return ", ".join(unlike) or "same versions, but edgegate itself or an artifact has changed since"


def _parts_of(folder: Path) -> str:
    return str(json.loads((folder / _READY).read_text()).get("parts", ""))


def _start(plan: Plan, run_key: str, done: Callable[[Took], None]) -> tuple[Launch, Planes, list[Took]]:
    lab = make_lab(plan, run_key)
    steps: list[Took] = []
    try:
        launch = Launch.new(lab, *plan.made_of)
        states = BaseStates(plan.settings.cache / "base", plan.base_fingerprint)
        images = image_table(plan.pins, plan.artifacts.values())

        def note(took: Took) -> None:
            steps.append(took)
            done(took)

        def more(both: Planes) -> list[Step]:
            wanted = plan.settings.replicas
            proxies = (
                [Step("replicas", partial(scale, both.downstream, wanted), needs=("accepted",))] if wanted > 1 else []
            )
            own = sentinel.steps(launch, both, replicas=wanted)
            return [*proxies, *own, *plan.parts.steps(launch, both)]

        additions = plan.parts.additions(plan.artifacts)
        within = plan.settings.limits.edge_ready
        both = bring_up(launch, states, images=images, additions=additions, more=more, done=note, within=within)
    except EnvironmentFault as fault:
        told = with_logs(fault, lab.folder / "logs", plan.settings)
        lab.down()
        raise told from fault
    except BaseException:  # Ctrl-C too: nothing of a half-started edge may stay
        lab.down()
        raise
    note_ready(plan, lab)
    return launch, both, steps


def make_lab(plan: Plan, run_key: str) -> Lab:
    """Return a new and empty lab for an edge."""
    folder = plan.settings.cache / "labs" / f"{plan.fingerprint[:6]}-{run_key[:13]}"
    bubblewrap = plan.artifacts["bubblewrap"]
    tools = Tools(bwrap=str(bubblewrap.binary("bwrap")), bwrap_env=bubblewrap.env)
    return sandbox.create(folder, run_key, fingerprint=plan.fingerprint, tools=tools)


def note_ready(plan: Plan, lab: Lab) -> None:
    """Write down that an edge is up, so that others find it, and keep it if it is to be kept."""
    versions = {name: plan.selection.version(name) for name in PINS}
    (lab.folder / _READY).write_text(json.dumps({"versions": versions, "parts": str(plan.parts)}))
    if plan.settings.keep:  # only now: a start that is killed half-way must leave no lab that nobody uses
        lab.keep(True)


def with_logs(fault: EnvironmentFault, logs: Path, settings: Settings) -> EnvironmentFault:
    """Return why a start failed, with the place of its logs: they are moved, because the lab's folder goes with it.

    They go to the run folder, or where there is none to the logs of builds; those of an earlier start are replaced.
    """
    kept = (settings.run_dir or settings.cache / "logs") / FAILED_START
    try:
        shutil.rmtree(kept, ignore_errors=True)
        for log in (one for one in logs.rglob("*") if one.is_file()):
            place = kept / log.relative_to(logs)
            place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            place.write_text(redact(log.read_text(errors="replace")))
    except OSError:  # the start's own fault is what matters
        return fault
    return StartFailed(str(fault).replace(str(logs), str(kept)), logs=kept) if kept.is_dir() else fault


@contextmanager
def _one_at_a_time(cache: Path, shared: str) -> Iterator[None]:
    """Let one process of several that share an edge open it; the others wait here and then find it running."""
    path = cache / "locks" / shared
    path.parent.mkdir(parents=True, exist_ok=True)
    while True:
        with path.open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not _is_at(path, lock):  # whoever held it has removed it, so that no run leaves a file behind
                continue
            try:
                yield
            finally:
                path.unlink(missing_ok=True)
            return


def _is_at(path: Path, file: IO[str]) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False


def code_of(*packages: ModuleType) -> str:
    """Return a digest of the code that decides what a lab looks like."""
    files = sorted(file for package in packages for file in Path(package.__path__[0]).rglob("*.py"))
    return fingerprint(*(file.read_text() for file in files))
