"""Proxies are found by their pods, and one counts when its Envoy has heard from Envoy Gateway."""

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from edgegate.clusters.kinds import GATEWAY, POD, Ref
from edgegate.clusters.plane import ControlPlane, Manifest
from edgegate.edge import proxies, sentinel, versions
from edgegate.edge.proxies import Proxies, Proxy
from edgegate.errors import ComponentExited, NeverReady
from edgegate.probes.envoy import EnvoyAdmin
from fakes import FakeLab, launch, running
from kube_api import KubeApi, condition, serve

HEARD = "listener_manager.lds.update_success: 1\nlistener_manager.lds.update_rejected: 0\n"
REFUSED = "listener_manager.lds.update_success: 0\nlistener_manager.lds.update_rejected: 1\n"
NOTHING = "listener_manager.lds.update_success: 0\nlistener_manager.lds.update_rejected: 0\n"
LABELS = {"app.kubernetes.io/managed-by": "envoy-gateway", "app.kubernetes.io/component": "proxy"}


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[KubeApi, ControlPlane]]:
    with serve(tmp_path) as made:
        yield made


@pytest.fixture
def api(served: tuple[KubeApi, ControlPlane]) -> KubeApi:
    return served[0]


@pytest.fixture
def found(served: tuple[KubeApi, ControlPlane]) -> Proxies:
    return Proxies(served[1])


@pytest.fixture
def stats(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Return what the Envoy at each address says of its listeners; one that is not in it does not answer."""
    said: dict[str, str] = {}

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.host not in said:
            raise httpx.ConnectError("refused")
        if request.url.path == "/server_info":
            version = "5a1c/1.38.3/Clean/RELEASE/BoringSSL"
            command = {"concurrency": 1}
            info = {"version": version, "state": "LIVE", "uptime_current_epoch": "5s", "command_line_options": command}
            return httpx.Response(200, json=info)
        return httpx.Response(200, text=said[request.url.host])

    make: Callable[[str], EnvoyAdmin] = lambda url: EnvoyAdmin(url, transport=httpx.MockTransport(answer))  # noqa: E731
    monkeypatch.setattr(proxies, "EnvoyAdmin", make)
    return said


def _pod(name: str, address: str = "", **metadata: Any) -> Manifest:
    made = Ref(POD, name, "envoy-gateway-system").manifest()
    made["metadata"] |= {"labels": LABELS, "uid": f"uid-of-{name}", **metadata}
    return {**made, "status": {"podIP": address} if address else None}


def test_a_proxy_is_a_pod(api: KubeApi, found: Proxies) -> None:
    pod = _pod("envoy-1", "10.88.7.140")
    condition(pod, "Ready")
    api.write(pod)
    api.write(_pod("envoy-2"))
    assert found.all() == [
        Proxy("envoy-1", "uid-of-envoy-1", "10.88.7.140", True),
        Proxy("envoy-2", "uid-of-envoy-2", "", False),
    ]


def test_other_pods_and_those_that_go_are_no_proxies(api: KubeApi, found: Proxies) -> None:
    api.write(_pod("other", "10.88.7.141", labels={"app": "x"}))
    api.write(_pod("going", "10.88.7.142", deletionTimestamp="2026-01-01T00:00:00Z"))
    assert found.all() == []


@pytest.mark.parametrize("said", [HEARD, REFUSED])
def test_a_proxy_that_has_taken_or_refused_listeners_counts(
    api: KubeApi, found: Proxies, stats: dict[str, str], said: str
) -> None:
    """One that refused them is dark, and that is for the gate to find."""
    stats["10.88.7.140"] = said
    api.write(_pod("envoy-1", "10.88.7.140"))
    assert found.one(1).name == "envoy-1"


@pytest.mark.parametrize("said", [NOTHING, None])
def test_a_proxy_that_has_heard_nothing_does_not(
    api: KubeApi, found: Proxies, stats: dict[str, str], said: str | None
) -> None:
    if said is not None:
        stats["10.88.7.140"] = said
    api.write(_pod("envoy-1", "10.88.7.140"))
    with pytest.raises(NeverReady) as raised:
        found.one(0.05)
    assert str(raised.value) == (
        "a proxy that has its listeners: not within 50 ms; last seen: envoy-1 (not ready, 10.88.7.140)"
    )


CRASHED = {"name": "envoy", "restartCount": 0, "state": {"waiting": {"reason": "CrashLoopBackOff"}}}
CRASHED |= {"lastState": {"terminated": {"exitCode": 3}}}
STARTED_AGAIN = {"name": "other", "state": {"running": {}}, "lastState": {"terminated": {"exitCode": 4}}}


def test_a_proxy_whose_envoy_has_ended_says_so(api: KubeApi, found: Proxies, stats: dict[str, str]) -> None:
    """A container that was started again is none of it."""
    pod = _pod("envoy-1", "10.88.7.140")
    pod["status"]["containerStatuses"] = [STARTED_AGAIN, CRASHED]
    api.write(pod)
    with pytest.raises(NeverReady, match=r"seen: envoy-1 \(not ready, 10.88.7.140, envoy ended with status 3\)$"):
        found.one(0.05)


def test_a_start_whose_envoy_ends_shows_its_last_words(
    served: tuple[KubeApi, ControlPlane], tmp_path: Path, stats: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    api, plane = served
    lab = FakeLab(tmp_path)
    both: Any = SimpleNamespace(downstream=plane, upstream=None)
    pod = _pod("envoy-1", "10.88.7.140")
    pod["status"]["containerStatuses"] = [
        {"name": "envoy", "restartCount": 0, "state": {"terminated": {"exitCode": 3}}}
    ]
    api.write(pod)
    log = tmp_path / "logs/pods/envoy-gateway-system_envoy-1/envoy.log"
    log.parent.mkdir(parents=True)
    log.write_text("up\nno such flag\n")
    monkeypatch.setattr(sentinel, "PROXY_WITHIN", 0.05)
    steps = {step.name: step for step in sentinel.steps(launch(lab), both)}
    with pytest.raises(ComponentExited) as raised:
        steps["proxy"].run()
    assert str(raised.value) == (
        f"envoy-1/envoy ended with status 3 before it was ready. The end of its log ({log}):\nup\nno such flag"
    )


def test_a_start_without_a_proxy_says_that(
    served: tuple[KubeApi, ControlPlane], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both: Any = SimpleNamespace(downstream=served[1], upstream=None)
    monkeypatch.setattr(sentinel, "PROXY_WITHIN", 0.05)
    steps = {step.name: step for step in sentinel.steps(launch(FakeLab(tmp_path)), both)}
    with pytest.raises(NeverReady, match="no proxy pod"):
        steps["proxy"].run()


def test_no_proxy_at_all(api: KubeApi, found: Proxies) -> None:
    with pytest.raises(NeverReady, match="last seen: no proxy pod"):
        found.one(0.05)


def test_a_cold_restart_throws_every_proxy_away_at_once(api: KubeApi, found: Proxies, stats: dict[str, str]) -> None:
    stats.update({"10.88.7.140": HEARD, "10.88.7.141": HEARD, "10.88.7.142": HEARD})
    for number in (0, 1):
        api.write(_pod(f"old-{number}", f"10.88.7.14{number}"))
    api.on_removal = lambda ref: api.write(_pod(ref.name.replace("old", "new"), "10.88.7.142"))
    assert [proxy.name for proxy in found.cold_restart(5)] == ["new-0", "new-1"]
    deleted = [asked for asked in api.asked if asked.method == "DELETE"]
    assert [asked.path.rpartition("/")[2] for asked in deleted] == ["old-0", "old-1"]
    assert [asked.query for asked in deleted] == [{"gracePeriodSeconds": "0"}] * 2


def test_a_cold_restart_without_a_new_proxy(api: KubeApi, found: Proxies, stats: dict[str, str]) -> None:
    """The old one still answers, and is not taken for the new one."""
    stats["10.88.7.140"] = HEARD
    pod = _pod("old", "10.88.7.140", finalizers=["stuck"])
    api.write(pod)
    with pytest.raises(NeverReady):
        found.cold_restart(0.1)


def test_the_sentinel_comes_after_what_it_needs(served: tuple[KubeApi, ControlPlane], tmp_path: Path) -> None:
    lab = FakeLab(tmp_path)
    both: Any = SimpleNamespace(downstream=served[1], upstream=None)
    steps = {step.name: step for step in sentinel.steps(launch(lab), both)}
    assert {name: set(step.needs) for name, step in steps.items()} == {
        "sentinel": {"base"},
        "proxy": {"sentinel", "accepted", "node", "kube-proxy", "coredns"},
        "programmed": {"proxy"},
        "traffic": {"programmed"},
    }
    steps["sentinel"].run()
    assert lab.asked == [("start", "origin-sentinel")]
    assert served[0].objects[Ref(GATEWAY, "edge", "sentinel")]


def test_the_sentinel_is_there_when_it_answers_over_http_and_https(
    served: tuple[KubeApi, ControlPlane], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    api, plane = served
    both: Any = SimpleNamespace(downstream=plane, upstream=None)
    steps = {step.name: step for step in sentinel.steps(launch(FakeLab(tmp_path)), both)}
    gateway = Ref(GATEWAY, "edge", "sentinel").manifest({})
    condition(gateway, "Programmed")
    gateway["status"]["addresses"] = [{"value": "10.88.7.8"}]
    api.write(gateway)
    steps["programmed"].run()
    asked: list[tuple[str, int, str, float]] = []
    monkeypatch.setattr(
        sentinel,
        "wait_for_answer",
        lambda probe, right, what, within: asked.append((probe.address, probe.port, probe.host, within)),
    )
    steps["traffic"].run()
    assert asked == [("10.88.7.8", 80, "sentinel.edge.test", 30), ("10.88.7.8", 443, "sentinel.edge.test", 30)]


@pytest.fixture
def asked(tmp_path: Path, stats: dict[str, str]) -> FakeLab:
    """Return a lab whose processes say a version when they are asked."""
    stats["10.88.7.140"] = HEARD
    lab = FakeLab(tmp_path)
    said = {
        "/proc/21/exe --version": "etcd Version: 3.6.16\nGit SHA: f00d\n",
        "/proc/32/exe version": "ENVOY_GATEWAY_VERSION: v1.8.3\nGATEWAYAPI_VERSION: v1.4.1\n",
        "/proc/41/exe -version": "no version here",
    }
    lab.answers["run"] = lambda fields: {"status": 0, "stdout": said[" ".join(fields["argv"])], "stderr": ""}
    lab.states = {
        "etcd": running("etcd", pid=21),
        "envoy-gateway": running("envoy-gateway", pid=30),
        "coredns": running("coredns", pid=41),
        "kube-proxy": running("kube-proxy", pid=None, state="exited"),
        "origin-sentinel": running("origin-sentinel", pid=50),
        "operator": running("operator", pid=60),
        "dns-agent": running("dns-agent", pid=70),
    }
    lab.log("operator").parent.mkdir(exist_ok=True)
    real = '... INFO\tsetup\tstarting network-services-operator\t{"version": "v0.26.1", "gitCommit": "41b6db29f4f7"}'
    lab.log("operator").write_text(f"a warning of a library\n{real}\n")
    lab.log("dns-agent").write_text("ours says nothing of the kind\n")
    children = {30: "31", 31: "32 33", 41: "43"}  # 43 is a helper that ends a moment later
    for pid in (21, 30, 31, 32, 41):
        lab.files[f"/proc/{pid}/task/{pid}/children"] = children.get(pid, "").encode()
        lab.files[f"/proc/{pid}/environ"] = b"PATH=/bin\0"
        lab.files[f"/proc/{pid}/comm"] = b"bwrap\n" if pid in (30, 31) else b"any\n"
    return lab


def test_versions_are_asked_from_the_processes(asked: FakeLab, served: tuple[KubeApi, ControlPlane]) -> None:
    """The one behind bubblewrap too, but no helper; what does not run, and what has no version, is not made up."""
    proxy = Proxy("envoy-1", "uid", "10.88.7.140", True)
    assert versions.running_versions(asked, served[1], proxy).running == {
        "coredns": "unknown",
        "envoy": "1.38.3",
        "envoy-gateway": "1.8.3",
        "etcd": "3.6.16",
        "kubernetes": "1.35.4",
        "network-services-operator": "0.26.1+41b6db2",
    }


@pytest.mark.parametrize(("older", "newer"), [("1.7.0", "1.8.3"), ("1.9.1", "1.10.0")])
def test_versions_are_compared_as_numbers(older: str, newer: str) -> None:
    assert versions.release(older) < versions.release(newer)
