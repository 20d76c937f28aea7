"""Which steps a start has, and what each waits for; a warm start applies nothing that the base state holds."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from edgegate.components import bring_up
from edgegate.components.base_state import BaseStates
from edgegate.components.bring_up import Planes
from edgegate.components.graph import Step, Took
from edgegate.errors import LabGone
from fakes import FakeLab, launch, running

ALWAYS = {
    "api-downstream": {"etcd"},
    "api-upstream": {"etcd"},
    "controllers-downstream": {"base"},
    "controllers-upstream": {"base"},
    "dns-service": {"base"},
    "class": {"base"},
    "certs": {"base"},
    "node": {"base"},
    "coredns": {"base"},
    "kube-proxy": {"node", "dns-service"},
    "envoy-gateway": {"class", "certs"},
    "accepted": {"envoy-gateway"},
}


@pytest.fixture
def lab(tmp_path: Path) -> FakeLab:
    return FakeLab(tmp_path)


@pytest.fixture
def steps(lab: FakeLab, monkeypatch: pytest.MonkeyPatch) -> dict[str, Step]:
    """Return the steps of the last start that a test has made; none of them has run."""
    seen: dict[str, Step] = {}

    def note(steps: Iterable[Step], **_: object) -> list[Took]:
        seen.update({step.name: step for step in steps})
        return []

    monkeypatch.setattr(bring_up, "run_steps", note)
    monkeypatch.setattr(bring_up, "crds", lambda *_: [])
    return seen


def _start(lab: FakeLab, *, warm: bool = False) -> Planes:
    states = BaseStates(lab.folder / "base", "f00d")
    if warm:
        (lab.folder / "base" / "f00d").mkdir(parents=True)
    further = [Step("sentinel", lambda: None, needs=("base",))]
    return bring_up.bring_up(launch(lab), states, images={}, more=lambda both: further)


def _needs(steps: dict[str, Step], *names: str) -> dict[str, set[str]]:
    return {name: set(steps[name].needs) for name in names}


def test_a_first_start_makes_the_base_state(lab: FakeLab, steps: dict[str, Step]) -> None:
    _start(lab)
    assert _needs(steps, *ALWAYS) == ALWAYS
    assert _needs(steps, "etcd", "namespaces", "certgen", "base", "sentinel") == {
        "etcd": set(),
        "namespaces": {"api-downstream"},
        "certgen": {"namespaces", "crds-downstream"},
        "base": {"certgen", "template"},
        "sentinel": {"base"},
    }


def test_a_warm_start_begins_with_the_base_state(lab: FakeLab, steps: dict[str, Step]) -> None:
    _start(lab, warm=True)
    assert _needs(steps, *ALWAYS) == ALWAYS
    assert _needs(steps, "restore", "etcd", "base") == {
        "restore": set(),
        "etcd": {"restore"},
        "base": {"api-downstream", "api-upstream"},
    }
    assert {"certgen", "template", "crds-downstream", "namespaces"}.isdisjoint(steps)


@pytest.mark.parametrize(
    ("step", "process"),
    [
        ("etcd", "etcd"),
        ("api-downstream", "kube-apiserver-downstream"),
        ("api-upstream", "kube-apiserver-upstream"),
        ("controllers-downstream", "kube-controller-manager-downstream"),
        ("controllers-upstream", "kube-controller-manager-upstream"),
        ("node", "node-agent"),
        ("coredns", "coredns"),
        ("envoy-gateway", "envoy-gateway"),
    ],
)
def test_each_step_starts_its_process(lab: FakeLab, steps: dict[str, Step], step: str, process: str) -> None:
    _start(lab)
    steps[step].run()
    assert lab.asked == [("start", process)]


def test_the_planes_are_there_before_they_run(lab: FakeLab, steps: dict[str, Step]) -> None:
    both = _start(lab)
    assert (both.downstream.name, both.upstream.name) == ("downstream", "upstream")
    assert both.upstream.kubeconfig == lab.folder / "upstream.kubeconfig"
    assert both.upstream.kubeconfig.exists()


def test_each_step_is_told_as_it_ends(lab: FakeLab, monkeypatch: pytest.MonkeyPatch) -> None:
    told = Took("etcd", 0.0, 0.5)
    monkeypatch.setattr(bring_up, "run_steps", lambda steps, done, **_: done(told))
    heard: list[Took] = []
    (lab.folder / "base" / "f00d").mkdir(parents=True)
    bring_up.bring_up(launch(lab), BaseStates(lab.folder / "base", "f00d"), images={}, done=heard.append)
    assert heard == [told]


def test_a_part_that_has_ended_stops_the_start(lab: FakeLab) -> None:
    """With the last lines of its log; one that is about to be started again is none of it."""
    lab.states = {"dns": running("dns", state="restarting"), "etcd": running("etcd")}
    assert bring_up.fallen(lab) is None
    ended = replace(running("kube-controller-manager-upstream", pid=None, state="exited"), status=1, tail="no flag -x")
    lab.states[ended.name] = ended
    assert str(bring_up.fallen(lab)) == (
        "kube-controller-manager-upstream ended with status 1 before it was ready. The end of its log "
        f"({lab.log(ended.name)}):\nno flag -x"
    )


def test_a_lab_that_has_gone_stops_the_start(lab: FakeLab) -> None:
    gone = LabGone("one", folder=lab.folder, last="its supervisor has ended")

    def ask(_: object) -> None:
        raise gone

    lab.answers["status"] = ask
    assert bring_up.fallen(lab) is gone
