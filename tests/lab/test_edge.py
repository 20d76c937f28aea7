"""One real edge from its first start to its end: two ask for it at once, tenants use it, its parts are broken, it goes.

Then a second one, which workers share.

The cache is the module's own, so that the first start is a cold one and no edge of anybody else is touched; only the
artifacts are everybody's.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from edgegate.artifacts import Store
from edgegate.clock import wait_until
from edgegate.clusters.kinds import GATEWAY, NAMESPACE, SECURITY_POLICY, Ref
from edgegate.edge import Edge
from edgegate.edge.asking import wait_for_answer
from edgegate.edge.tenant import CANARY
from edgegate.lab import ProcessStatus, registry
from edgegate.settings import Settings
from lab_parts import interfaces, processes

SUITE = Path(__file__).parents[1] / "suites/shared_edge.py"
pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a cache with all artifacts and nothing else."""
    folder = tmp_path_factory.mktemp("edge")
    (folder / "store").symlink_to(Store().root / "store")
    return folder


def _command(cache: Path, *words: str) -> "subprocess.Popen[str]":
    argv, pipe = [sys.executable, "-m", "edgegate.cli", *words], subprocess.PIPE
    return subprocess.Popen(argv, env=_environment(cache), text=True, stdout=pipe, stderr=pipe)


def _environment(cache: Path) -> dict[str, str]:
    return {**os.environ, "EDGEGATE_CACHE": str(cache)}


def _run(cache: Path, *words: str) -> tuple[int, str, str]:
    with _command(cache, *words) as process:
        said = process.communicate()
    return process.returncode, *said


@pytest.fixture(scope="module")
def ups(cache: Path) -> Iterator[list[Any]]:
    """Return what two `edgegate up` said that were called at once."""
    both = [_command(cache, "up", "--json") for _ in range(2)]
    said = [process.communicate() for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    yield [json.loads(out) for out, _ in said]
    _run(cache, "down", "--all")


@pytest.fixture(scope="module")
def kept(cache: Path, ups: list[Any]) -> Iterator[Edge]:
    """Return the edge that they started."""
    with Edge.open(Settings(cache=cache), "somebody") as edge:
        yield edge


def _status(edge: Edge, name: str) -> ProcessStatus:
    return next(status for status in edge.lab.status() if status.name == name)


def test_two_that_want_an_edge_at_once_share_one(ups: list[Any]) -> None:
    assert sorted(up["how"] for up in ups) == ["kept edge used again", "started"]
    assert ups[0]["name"] == ups[1]["name"]
    assert {"certgen", "crds-downstream", "traffic"} <= {step for up in ups for step in up["steps"]}


def test_what_runs_is_what_was_asked_for(kept: Edge, ups: list[Any]) -> None:
    assert kept.opened.how == "kept edge used again"
    wanted = {name: kept.selection.version(name) for name in ("envoy", "envoy-gateway", "etcd", "kubernetes")}
    assert ups[0]["versions"].items() >= wanted.items()
    assert {status.state for status in kept.lab.status()} == {"running"}


def test_a_tenant_is_served_by_its_own_origin_with_its_own_certificate(kept: Edge) -> None:
    tenant = kept.tenant("shop")
    for tls in (False, True):
        with tenant.probe(tls=tls) as probe:
            answer = wait_for_answer(probe, lambda one: one.ok, what="tenant answers", within=10)
        assert (answer.status, answer.marker, answer.trusted) == (200, tenant.marker, True if tls else None)
        assert answer.certificate is None or answer.certificate.sha256 == tenant.fingerprint
    kept.remove_tenant(tenant)
    with tenant.probe(tls=False) as probe:
        wait_for_answer(probe, lambda one: one.status == 404, what="tenant gone", within=10)


def test_a_project_has_all_kinds_and_shares_nothing(kept: Edge) -> None:
    blue = kept.project("blue")
    assert (blue.list(GATEWAY), blue.list(SECURITY_POLICY)) == ([], [])
    only_blue, only_upstream = Ref(NAMESPACE, "only-blue"), Ref(NAMESPACE, "only-upstream")
    blue.create(only_blue.manifest())
    kept.upstream.create(only_upstream.manifest())
    assert kept.upstream.get(only_blue) is None
    assert blue.get(only_upstream) is None
    assert kept.project("blue").get(only_blue)


def test_a_part_that_is_restarted_goes_on_with_its_work(kept: Edge) -> None:
    before = _status(kept, "envoy-gateway")
    kept.restart("envoy-gateway")
    after = _status(kept, "envoy-gateway")
    assert (after.state, after.restarts) == ("running", before.restarts + 1)
    assert after.pid != before.pid
    _edited(kept, "after-restart")


def _edited(edge: Edge, value: str) -> None:
    edge.sentinel.edit_route(value)
    with edge.sentinel.probe(tls=True) as probe:
        wait_for_answer(probe, lambda one: one.header(CANARY) == value, what="edit on the wire", within=15)


def test_a_part_that_is_frozen_does_nothing_until_it_goes_on(kept: Edge) -> None:
    kept.pause("envoy-gateway")
    assert _status(kept, "envoy-gateway").state == "paused"
    kept.sentinel.edit_route("while-frozen")
    with kept.sentinel.probe(tls=False) as probe:
        assert {probe.get().header(CANARY) == "while-frozen" for _ in range(10)} == {False}
    kept.resume("envoy-gateway")
    assert _status(kept, "envoy-gateway").state == "running"
    _edited(kept, "after-resume")


def test_a_part_that_is_killed_is_seen_to_be_dead(kept: Edge) -> None:
    kept.kill("coredns")
    wait_until("seen", lambda: _status(kept, "coredns").state == "exited", deadline=5)
    assert (_status(kept, "coredns").status, _status(kept, "coredns").pid) == (-9, None)
    kept.restart("coredns")
    assert _status(kept, "coredns").state == "running"


def test_a_cold_restart_gives_another_proxy_that_serves(kept: Edge) -> None:
    before = kept.proxy()
    (after,) = kept.cold_restart()
    assert after.uid != before.uid
    with kept.sentinel.probe(tls=True) as probe:
        wait_for_answer(probe, lambda one: one.ok, what="sentinel relit", within=10)


def test_whoever_has_the_same_run_key_joins(kept: Edge, cache: Path) -> None:
    with Edge.open(Settings(cache=cache), kept.lab.name) as joined:
        assert (joined.opened.how, joined.lab.name) == ("joined this run's edge", kept.lab.name)
        assert joined.lab.leases() == (2, True)
        assert joined.downstream.version() == kept.downstream.version()


def test_commands_about_it(kept: Edge, cache: Path) -> None:
    status, out, said = _run(cache, "logs", "nothing")
    assert (status, out) == (2, "")
    assert said.startswith("edgegate: The edge has no part 'nothing'. It has: coredns, ")
    assert len(_run(cache, "logs", "envoy-gateway", "--tail", "1")[1].splitlines()) == 1
    assert _run(cache, "exec", "--", "true") == (0, "", "")
    assert _run(cache, "exec", "--", "false") == (1, "", "")
    status, out, _ = _run(cache, "status", "--json")
    (edge,) = json.loads(out)["edges"]
    assert (status, edge["name"], edge["kept"]) == (0, kept.lab.name, True)


def _rest(folder: Path, interface: str) -> list[str]:
    """Return what is left of a lab."""
    return [
        *(f"process {pid}" for pid in processes(str(folder))),
        *(name for name in interfaces() if name == interface),
        *(["alive"] if registry.alive(folder) else []),
    ]


def test_down_leaves_nothing_and_may_be_called_twice(kept: Edge, cache: Path) -> None:
    kept.close()
    assert _run(cache, "down") == (0, f"stopped {kept.lab.name}\n", "")
    assert _rest(kept.lab.folder, kept.lab.net.interface) == []
    assert _run(cache, "down") == (0, "no edge runs\n", "")


def test_workers_share_the_second_start_and_outlive_one_that_is_killed(
    cache: Path, ups: list[Any], tmp_path: Path
) -> None:
    """The start is a warm one; the killed one's test fails, all others pass on the same edge; it ends with the run."""
    shutil.copy(SUITE, tmp_path / "test_shared_edge.py")
    argv = [sys.executable, "-m", "pytest", "-n", "2", "-p", "no:cacheprovider", "test_shared_edge.py"]
    done = subprocess.run(argv, cwd=tmp_path, env=_environment(cache), capture_output=True, text=True, check=False)
    told = [line.split(" ", 3) for line in (tmp_path / "edges").read_text().splitlines()]
    assert (done.returncode, "1 failed, 5 passed" in done.stdout) == (1, True), done.stdout + done.stderr
    assert len({process for process, *_ in told}) >= 2
    assert len({name for _, name, *_ in told}) == 1
    assert {how for *_, how in told} == {"started", "joined this run's edge"}
    (steps,) = {steps for _, _, steps, how in told if how == "started"}
    assert "restore" in steps.split(",")
    assert {"crds-downstream", "certgen"}.isdisjoint(steps.split(","))
    wait_until("edge gone", lambda: not registry.labs(cache), deadline=10)
