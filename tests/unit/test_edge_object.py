"""The edge that scenarios hold: what it hands out, starts at first use, and takes away again."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from edgegate.clusters.kinds import GATEWAY, NAMESPACE, Ref
from edgegate.clusters.plane import ControlPlane, Manifest
from edgegate.components import prefixes
from edgegate.components.bring_up import Planes
from edgegate.components.oidc_provider import OidcProvider
from edgegate.edge import Edge
from edgegate.edge.backends.host import HostBackend
from edgegate.edge.opening import Opened
from edgegate.edge.proxies import Proxy
from edgegate.errors import NeverReady, NobodyToWatch
from edgegate.limits import Limits
from edgegate.records import Versions
from edgegate.report.gate import Gate
from edgegate.settings import Settings
from fakes import FakeLab, launch, running, selection
from kube_api import KubeApi, condition, serve


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[KubeApi, ControlPlane]]:
    with serve(tmp_path) as made:
        yield made


@pytest.fixture
def api(served: tuple[KubeApi, ControlPlane]) -> KubeApi:
    """Return the downstream plane, with a sentinel and a controller that programs every Gateway."""
    served[0].controllers.append(_program)
    served[0].write(Ref(GATEWAY, "edge", "sentinel").manifest({}))
    return served[0]


def _program(manifest: Manifest) -> None:
    if manifest["kind"] == "Gateway":
        condition(manifest, "Programmed")
        manifest["status"]["addresses"] = [{"value": "10.88.7.8"}]


@pytest.fixture
def lab(tmp_path: Path) -> FakeLab:
    return FakeLab(tmp_path)


@pytest.fixture
def held(api: KubeApi, served: tuple[KubeApi, ControlPlane], lab: FakeLab, tmp_path: Path) -> Edge:
    """Return an edge that is open."""
    upstream = ControlPlane("upstream", tmp_path / "none")
    (tmp_path / "ca.crt").touch()
    opened = Opened(launch(lab), Planes(served[1], upstream), "started", 1.0, ())
    return _edge(_plan(), opened)


def _edge(plan: Any, opened: Opened) -> Edge:
    return Edge(plan.settings, HostBackend(plan, opened))


def _plan(gateway: str = "1.8.3", **settings: Any) -> Any:
    parts = SimpleNamespace(chosen={"dns": ""})
    return SimpleNamespace(settings=Settings(**settings), selection=selection(envoy_gateway=gateway), parts=parts)


def test_the_site_is_where_the_sentinel_is(held: Edge, tmp_path: Path) -> None:
    assert (held.site.address, held.site.ca) == ("10.88.7.8", tmp_path / "ca.crt")
    assert (held.sentinel.host, held.sentinel.site) == ("sentinel.edge.test", held.site)


def test_tenants_of_one_name_are_different_ones(held: Edge, api: KubeApi) -> None:
    one, other = held.tenant("shop"), held.tenant("shop")
    assert one.name == other.name == "shop"
    assert one.host != other.host
    assert {Ref(NAMESPACE, one.namespace), Ref(NAMESPACE, other.namespace)} <= set(api.objects)
    held.remove_tenant(one)
    assert Ref(NAMESPACE, one.namespace) not in api.objects


def test_a_tenant_that_does_not_come_up_leaves_nothing(
    held: Edge, api: KubeApi, lab: FakeLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(tenant: object, within: float) -> None:
        raise NeverReady("Gateway programmed", limit=f"{within}", last=None)

    monkeypatch.setattr("edgegate.edge.tenant.Tenant.wait_programmed", never)
    with pytest.raises(NeverReady):
        held.tenant("shop")
    assert [ref for ref in api.objects if ref.kind == NAMESPACE] == []
    assert [words[0] for words in lab.asked] == ["start", "remove"]


@pytest.mark.parametrize("action", ["restart", "kill", "pause", "resume"])
def test_parts_are_restarted_killed_and_frozen(held: Edge, lab: FakeLab, action: str) -> None:
    getattr(held, action)("envoy-gateway")
    assert lab.asked == [(action, "envoy-gateway")]


def test_a_guard_needs_somebody_to_watch(held: Edge) -> None:
    gate = Gate("guarded", versions=lambda: Versions({}), again="pytest")

    with pytest.raises(NobodyToWatch, match="given no neighbour"):
        held.guard(gate)


@pytest.mark.parametrize(("back", "parts"), [("restart", 0), ("kill", 1)])
def test_what_was_felled_on_purpose_is_no_trouble(held: Edge, lab: FakeLab, back: str, parts: int) -> None:
    """A scenario's own kill is spared until it has started the part again."""
    ended = running("external-dns", pid=None, state="exited")
    lab.states["external-dns"] = ended

    assert held.trouble(thorough=False) is not None
    held.kill("external-dns")
    assert held.trouble(thorough=False) is None
    getattr(held, back)("external-dns")
    assert (held.trouble(thorough=False) is None) == bool(parts)


def test_what_cannot_be_started_again_is_trouble_for_all_that_follows(held: Edge, lab: FakeLab) -> None:
    """Later tests would each wait for a part that was stopped, and stays so."""
    late = NeverReady("powerdns ready", limit="30.00 s", last="401 Unauthorized")

    def never(_: object) -> None:
        raise late

    lab.answers["restart"] = never
    held.kill("powerdns")
    with pytest.raises(NeverReady):
        held.restart("powerdns")
    assert held.trouble(thorough=False) is late


def test_whoever_leaves_gives_the_lease_back(held: Edge, lab: FakeLab) -> None:
    lab.lease()
    with held:
        assert lab.leased
    assert not lab.leased
    assert lab.asked == []


def test_the_login_is_started_once_for_all(held: Edge, lab: FakeLab, api: KubeApi) -> None:
    with pytest.raises(OSError, match=r"\[X509|PEM|NO_CERTIFICATE"):
        held.login  # noqa: B018 - an empty authority is as far as this goes
    assert lab.asked == [("start", "oidc-provider")]
    assert Ref(NAMESPACE, "edgegate-login") in api.objects


def test_a_login_that_runs_already_is_used(held: Edge, lab: FakeLab, tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_bytes(held.authority.certificate)
    lab.states["oidc-provider"] = running("oidc-provider")
    assert held.login is held.login
    assert isinstance(held.login, OidcProvider)
    held.login.close()
    assert lab.asked == []


@pytest.fixture
def planes(lab: FakeLab, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Let both planes run; return the prefixes of those that were filled from the template."""
    for name in ("downstream", "upstream"):
        lab.states[f"kube-apiserver-{name}"] = running(f"kube-apiserver-{name}")
    filled: list[str] = []
    monkeypatch.setattr(prefixes, "new_plane", lambda launch, plane: filled.append(plane.prefix))
    return filled


def test_a_project_is_started_at_first_use(held: Edge, lab: FakeLab, planes: list[str]) -> None:
    blue = held.project("blue")
    assert (blue.name, planes) == ("blue", ["/blue"])
    assert lab.asked == [("start", "kube-apiserver-blue"), ("start", "kube-controller-manager-blue")]
    assert yaml.safe_load(blue.kubeconfig.read_text())["clusters"][0]["cluster"]["server"] == "https://10.88.7.1:6445"
    assert held.project("blue").kubeconfig == blue.kubeconfig
    assert planes == ["/blue"]


def test_projects_have_ports_of_their_own(held: Edge, lab: FakeLab, planes: list[str]) -> None:
    for name in ("blue", "green"):
        held.project(name)
    flags = [word for name in ("blue", "green") for word in lab.specs[f"kube-apiserver-{name}"].argv]
    assert [flag for flag in flags if flag.startswith("--secure-port")] == ["--secure-port=6445", "--secure-port=6446"]


@pytest.mark.parametrize(
    ("capability", "there"),
    [("merged-gateways", True), ("oidc-provider", True), ("dns", True), ("acme", False), ("contrib-envoy", False)],
)
def test_what_it_can(held: Edge, capability: str, there: bool) -> None:
    assert held.has(capability) is there


@pytest.mark.parametrize(("gateway", "there"), [("1.7.0", False), ("1.8.3", True), ("1.10.0", True)])
def test_grants_for_secrets_came_with_a_version(held: Edge, gateway: str, there: bool) -> None:
    backend = held.backend
    assert isinstance(backend, HostBackend)
    backend.selection = selection(envoy_gateway=gateway)
    assert held.has("secret-grants") is there
    assert bool(backend.lacks("secret-grants")) is not there


def test_proxies_have_the_time_that_the_limits_say(held: Edge, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Proxy("envoy-1", "uid", "10.88.7.140", True)
    asked: list[float] = []

    def find(within: float) -> list[Proxy]:
        asked.append(within)
        return [made]

    monkeypatch.setattr(held.proxies, "several", lambda count, within: find(within))
    monkeypatch.setattr(held.proxies, "cold_restart", find)
    held.limits = Limits(cold_restart=7)
    assert [held.proxy()] == held.cold_restart() == held.every_proxy() == [made]
    assert asked == [7, 7, 7]
