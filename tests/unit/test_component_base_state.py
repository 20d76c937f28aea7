"""What every edge starts with: CRDs read from the pinned modules, applied once, kept as a copy of etcd's data."""

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from edgegate.clusters.kinds import CRD, Ref
from edgegate.clusters.plane import Manifest
from edgegate.components import base_state
from edgegate.components.base_state import BaseStates
from edgegate.errors import CommandFailed, NeverReady
from fakes import FakeLab, artifact, launch
from kube_api import condition, serve

DATA = "/run/edgegate/data/etcd"
TEMPLATE = (
    "{{- if .Values.crds.enabled }}\nkind: CustomResourceDefinition\nmetadata: {name: %s}\nstatus: {}\n{{- end }}\n"
)


@pytest.fixture
def lab(tmp_path: Path) -> FakeLab:
    return FakeLab(tmp_path / "lab")


def _copying(lab: FakeLab) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Return what runs `cp` as far as these tests look: the target exists afterwards."""

    def run(fields: dict[str, Any]) -> dict[str, Any]:
        lab.asked.append(("run", *fields["argv"]))
        target = Path(fields["argv"][-1])
        if target.is_absolute() and not str(target).startswith("/run/"):
            target.mkdir(parents=True)
            (target / "member").touch()
        return {"status": 0, "stdout": "", "stderr": ""}

    return run


def test_nothing_is_kept_at_first(tmp_path: Path) -> None:
    assert not BaseStates(tmp_path / "base", "f00d").exists


def test_a_state_is_copied_while_etcd_is_frozen(lab: FakeLab, tmp_path: Path) -> None:
    lab.answers["run"] = _copying(lab)
    states = BaseStates(tmp_path / "base", "f00d")
    states.keep(launch(lab))
    assert [words[0] for words in lab.asked] == ["pause", "run", "resume"]
    assert lab.asked[0] == ("pause", "etcd")
    assert lab.asked[1][:-1] == ("run", "cp", "--archive", "--sparse=always", DATA)
    assert states.exists
    assert (tmp_path / "base").stat().st_mode & 0o777 == 0o700
    assert [entry.name for entry in (tmp_path / "base").iterdir()] == ["f00d"]


def test_whoever_comes_second_keeps_nothing(lab: FakeLab, tmp_path: Path) -> None:
    """Two first starts with the same fingerprint at the same time are both fine."""
    lab.answers["run"] = _copying(lab)
    (tmp_path / "base" / "f00d").mkdir(parents=True)
    (tmp_path / "base" / "f00d" / "first").touch()
    BaseStates(tmp_path / "base", "f00d").keep(launch(lab))
    assert [entry.name for entry in (tmp_path / "base").iterdir()] == ["f00d"]
    assert (tmp_path / "base" / "f00d" / "first").exists()


def test_a_copy_that_fails_leaves_nothing_and_etcd_goes_on(lab: FakeLab, tmp_path: Path) -> None:
    def full(fields: dict[str, Any]) -> dict[str, Any]:
        _copying(lab)(fields)
        return {"status": 1, "stdout": "", "stderr": "No space left on device"}

    lab.answers["run"] = full
    with pytest.raises(CommandFailed, match="No space left on device"):
        BaseStates(tmp_path / "base", "f00d").keep(launch(lab))
    assert lab.asked[-1] == ("resume", "etcd")
    assert list((tmp_path / "base").iterdir()) == []


def test_old_states_give_way_to_new_ones(lab: FakeLab, tmp_path: Path) -> None:
    """The ones that were used last stay, however old they are."""
    lab.answers["run"] = _copying(lab)
    for number in range(base_state.KEPT + 2):
        (tmp_path / "base" / str(number)).mkdir(parents=True)
        os.utime(tmp_path / "base" / str(number), (number, number))
    BaseStates(tmp_path / "base", "0").restore(launch(FakeLab(tmp_path / "other")))
    BaseStates(tmp_path / "base", "f00d").keep(launch(lab))
    left = {entry.name for entry in (tmp_path / "base").iterdir()}
    assert left == {"f00d", "0", *(str(number) for number in range(4, base_state.KEPT + 2))}


def test_a_warm_start_begins_with_the_copy(lab: FakeLab, tmp_path: Path) -> None:
    (tmp_path / "base" / "f00d").mkdir(parents=True)
    BaseStates(tmp_path / "base", "f00d").restore(launch(lab))
    assert lab.commands == [["cp", "--archive", "--sparse=always", f"{tmp_path}/base/f00d", DATA]]


def _module(folder: Path, place: str, files: dict[str, str]) -> Any:
    (folder / "files" / place).mkdir(parents=True)
    for name, text in files.items():
        (folder / "files" / place / name).write_text(text)
    return artifact(folder.name, path=folder)


def test_crds_come_from_the_modules_without_template_and_status(tmp_path: Path) -> None:
    other = "kind: ValidatingAdmissionPolicy\nmetadata: {name: guard}\n---\n"
    crd = "kind: CustomResourceDefinition\nmetadata: {name: gateways}\nstatus: {conditions: null}\n"
    api = _module(tmp_path / "gateway-api", "config/crd/experimental", {"b.yaml": other + crd, "readme.txt": "x"})
    generated = {"b.yaml": TEMPLATE % "proxies", "a.yaml": TEMPLATE % "backends"}
    gateway = _module(tmp_path / "eg", "charts/gateway-crds-helm/templates/generated", generated)
    found = base_state.crds(api, gateway)
    assert [one["metadata"]["name"] for one in found] == ["gateways", "backends", "proxies"]
    assert all(set(one) == {"kind", "metadata"} for one in found)


def _crd(name: str) -> Manifest:
    return Ref(CRD, name).manifest({})


def test_all_crds_are_applied_and_served(tmp_path: Path) -> None:
    with serve(tmp_path) as (api, plane):
        api.controllers.append(lambda manifest: condition(manifest, "Established"))
        base_state.apply_crds(plane, [_crd(f"kind-{number}") for number in range(20)])
        assert len(api.objects) == 20


def test_python_does_not_wait_for_crds_when_it_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After Ctrl-C, a request to a lab that has ended took 30 s."""
    daemons: set[bool] = set()
    monkeypatch.setattr(base_state, "wait_until", lambda *_, **__: None)
    with serve(tmp_path, "upstream") as (_, plane):
        monkeypatch.setattr(plane, "apply", lambda *_: daemons.add(threading.current_thread().daemon))
        base_state.apply_crds(plane, [_crd("one")])
    assert daemons == {True}


def test_a_crd_that_is_not_served_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def wait(what: str, ready: Callable[[], object], *, last: Callable[[], object], **_: object) -> None:
        assert not ready()
        raise NeverReady(what, limit="60.00 s", last=last())

    monkeypatch.setattr(base_state, "wait_until", wait)
    with serve(tmp_path, "upstream") as (api, plane):
        api.controllers.append(lambda one: condition(one, "Established", str(one["metadata"]["name"] != "slow")))
        with pytest.raises(NeverReady) as raised:
            base_state.apply_crds(plane, [_crd("quick"), _crd("slow")])
    assert str(raised.value) == "upstream: CRDs served: not within 60.00 s; last seen: {'slow'}"


def test_a_fingerprint_changes_with_every_part_and_their_borders() -> None:
    every = [("a", "b"), ("ab",), ("a", "c"), ("b", "a"), ("a", "b", ""), ()]
    prints = {base_state.fingerprint(*parts) for parts in every}
    assert len(prints) == len(every)
    assert all(len(one) == 16 for one in prints)
    assert base_state.fingerprint("a", "b") == base_state.fingerprint("a", "b")
