"""Attach, against a lab that stands for somebody else's edge: what gates see there, and that nothing stays."""

import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from edgegate.clusters.inventory import inventory, namespaced_kinds
from edgegate.clusters.kinds import NAMESPACE
from edgegate.clusters.plane import ControlPlane
from edgegate.edge import Edge
from edgegate.edge.asking import wait_for_answer
from edgegate.edge.oidc_policy import OidcPolicy, SecretState, Target
from edgegate.errors import NotAllowed
from edgegate.settings import Settings, resolve

ATTACH_AND_WAIT = """
import sys, time
from edgegate.edge import Edge
from edgegate.settings import resolve
flags = {"backend": "attach", "downstream_kubeconfig": sys.argv[1]}
edge = Edge.open(resolve(flags, {"EDGEGATE_CACHE": sys.argv[2]}, {}), "killed")
edge.tenant("left")
print("there", flush=True)
time.sleep(600)
"""


@pytest.fixture(scope="module")
def theirs() -> Iterator[Edge]:
    """Return an edge that somebody else runs."""
    with Edge.open(Settings(), f"attached-{secrets.token_hex(4)}") as opened:
        yield opened


@pytest.fixture
def before(theirs: Edge) -> Iterator[None]:
    """Compare what the cluster holds before and after."""
    names, held = _namespaces(theirs.downstream), _objects(theirs.downstream)
    yield
    assert _namespaces(theirs.downstream) == names
    assert _objects(theirs.downstream) == held


def _namespaces(plane: ControlPlane) -> set[str]:
    return {one["metadata"]["name"] for one in plane.list(NAMESPACE)}


def _objects(plane: ControlPlane) -> set[str]:
    """Return every object of every namespace but pods, which come and go."""
    kinds = [kind for kind in namespaced_kinds(plane) if kind.name not in ("Pod", "Lease")]
    return {str(ref) for name in _namespaces(plane) for ref in inventory(plane, name, kinds)}


def _settings(theirs: Edge, tmp_path: Path, **more: object) -> Settings:
    flags = {"backend": "attach", "downstream_kubeconfig": str(theirs.downstream.kubeconfig), **more}
    return resolve(flags, {"EDGEGATE_CACHE": str(tmp_path)}, {})


def test_tenants_are_served_and_policies_act(theirs: Edge, before: None, tmp_path: Path) -> None:
    with Edge.open(_settings(theirs, tmp_path), "attached") as edge:
        assert edge.site.address == theirs.site.address
        assert edge.versions().running.items() <= theirs.versions().running.items()
        shop = edge.tenant("shop")
        for tls in (False, True):
            with shop.probe(tls=tls) as probe:
                answer = wait_for_answer(probe, lambda one: one.ok, what="tenant answers", within=10)
            assert answer.marker == shop.marker
        policy = OidcPolicy(shop, Target.ROUTE, SecretState.VALID, edge.downstream, edge.login)
        policy.create()
        with shop.probe(tls=True) as probe:
            sent = wait_for_answer(probe, lambda one: one.status == 302, what="asked to log in", within=10)
        assert (sent.location or "").startswith(edge.login.issuer)


def test_all_proxies_go_at_once_only_if_that_is_allowed(theirs: Edge, before: None, tmp_path: Path) -> None:
    with Edge.open(_settings(theirs, tmp_path), "careful") as edge:
        old = edge.proxy()
        with pytest.raises(NotAllowed):
            edge.cold_restart()
        assert edge.proxy() == old
    with Edge.open(_settings(theirs, tmp_path, allow=["cold-restart"]), "allowed") as edge:
        assert old.uid not in [proxy.uid for proxy in edge.cold_restart()]


def test_what_a_killed_run_left_is_removed_at_the_next_start(theirs: Edge, before: None, tmp_path: Path) -> None:
    words = [sys.executable, "-c", ATTACH_AND_WAIT, str(theirs.downstream.kubeconfig), str(tmp_path)]
    killed = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert killed.stdout is not None
    with killed, killed.stdout as said:
        assert said.readline() == "there\n"
        names = _namespaces(theirs.downstream)
        os.kill(killed.pid, signal.SIGKILL)
    left = {name for name in names if name.startswith(("left-", "sentinel-"))}
    assert len(left) == 2
    with Edge.open(_settings(theirs, tmp_path), "next") as edge:
        assert edge.opened.how == "attached, after 2 namespaces that dead runs had left were removed"
        assert not left & _namespaces(theirs.downstream)
