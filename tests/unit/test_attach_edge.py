"""An edge of somebody else's: what is created there, what is refused, and that nothing stays."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from edgegate.artifacts import QUIET
from edgegate.clusters.kinds import (
    ENVOY_PROXY,
    GATEWAY,
    GATEWAY_CLASS,
    HTTP_ROUTE,
    HTTP_ROUTE_FILTER,
    NAMESPACE,
    POD,
    SECURITY_POLICY,
    Ref,
)
from edgegate.clusters.plane import ControlPlane, Manifest
from edgegate.clusters.pods import PodLog, PodPort, ThroughProxy
from edgegate.edge import Edge
from edgegate.edge.backends.attach import AttachBackend, open_backend, reach
from edgegate.edge.backends.attach.running import running
from edgegate.edge.oidc_policy import OidcPolicy, SecretState, Target
from edgegate.errors import AdminUnreachable, AttachRefused, NotAllowed, NotShown
from edgegate.probes.envoy import EnvoyAdmin
from edgegate.records import Answer
from edgegate.settings import Settings, resolve
from kube_api import KubeApi, condition, serve

ENVOY = "docker.io/envoyproxy/gateway:v1.8.3"
LABELS = {
    "app.kubernetes.io/managed-by": "envoy-gateway",
    "app.kubernetes.io/component": "proxy",
    "gateway.envoyproxy.io/owning-gatewayclass": "edge",
}


@pytest.fixture
def api(tmp_path: Path) -> Iterator[tuple[KubeApi, ControlPlane]]:
    """Return a cluster with an edge: a class, a proxy, and a controller that programs Gateways at two addresses."""
    with serve(tmp_path) as made:
        served = made[0]
        served.write(Ref(ENVOY_PROXY, "merged", "system").manifest({"mergeGateways": True}))
        parameters = {"kind": "EnvoyProxy", "name": "merged", "namespace": "system"}
        spec = {"controllerName": "gateway.envoyproxy.io/x", "parametersRef": parameters}
        served.write(Ref(GATEWAY_CLASS, "edge").manifest(spec, status={"conditions": []}))
        condition(served.objects[Ref(GATEWAY_CLASS, "edge")], "Accepted")
        pod = Ref(POD, "envoy-1", "system").manifest({"containers": [{"image": ENVOY}]})
        pod["metadata"] |= {"labels": LABELS, "uid": "u1"}
        served.write(pod)
        served.controllers.append(_program)
        yield made


def _program(manifest: Manifest) -> None:
    if manifest["kind"] == "Gateway":
        condition(manifest, "Programmed")
        manifest["status"]["addresses"] = [{"value": "10.9.9.1"}, {"value": "10.9.9.2"}]


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Return address to the marker that is answered there; `*` is whoever is asked for."""
    said = {"10.9.9.1": "*", "10.9.9.2": "*"}

    def probe(tenant: Any, *, tls: bool, address: str = "", **more: Any) -> Any:
        marker = said.get(address, "")
        headers = (("x-edgegate-origin", tenant.marker if marker == "*" else marker),)
        answer = Answer("GET", "http://x/", f"{address}:80", 0.0, 0.001, 200, headers)
        return _Asked(answer)

    monkeypatch.setattr("edgegate.edge.tenant.Tenant.probe", probe)
    return said


class _Asked:
    def __init__(self, answer: Answer) -> None:
        self.answer = answer

    def __enter__(self) -> "_Asked":
        return self

    def __exit__(self, *_: object) -> None:
        """Close nothing."""

    def get(self, path: str) -> Answer:
        return self.answer


@pytest.fixture
def settings(api: tuple[KubeApi, ControlPlane], tmp_path: Path) -> Settings:
    return _settings(api[1], tmp_path)


def _settings(plane: ControlPlane, tmp_path: Path, **more: Any) -> Settings:
    flags = {"backend": "attach", "downstream_kubeconfig": str(plane.kubeconfig), **more}
    return resolve(flags, {"EDGEGATE_CACHE": str(tmp_path / "cache")}, {})


def _open(settings: Settings, run: str = "run-1") -> AttachBackend:
    return open_backend(settings, run, done=lambda took: None, progress=QUIET, more_parts=())


@pytest.fixture
def held(settings: Settings, answers: dict[str, str]) -> Iterator[AttachBackend]:
    made = _open(settings)
    yield made
    made.close()


def test_it_attaches_with_a_tenant_of_its_own(held: AttachBackend, api: tuple[KubeApi, ControlPlane]) -> None:
    labels = api[0].objects[Ref(NAMESPACE, held.sentinel)]["metadata"]["labels"]
    assert labels == {"meta.datumapis.com/upstream-cluster-name": "edgegate", "edgegate.dev/run": "run-1"}
    assert api[0].objects[Ref(GATEWAY, "edge", held.sentinel)]["spec"]["gatewayClassName"] == "edge"
    assert (held.how, held.site.addresses) == ("attached", ("10.9.9.1", "10.9.9.2"))
    assert [step.name for step in held.steps] == ["preflight", "leftovers", "sentinel", "traffic"]


def test_nothing_of_it_stays(settings: Settings, api: tuple[KubeApi, ControlPlane], answers: dict[str, str]) -> None:
    before = set(api[0].objects)
    edge = Edge(settings, _open(settings))
    edge.tenant("shop")
    assert set(api[0].objects) > before
    edge.close()
    assert set(api[0].objects) == before
    assert sorted(path.name for path in (settings.cache / "attached").iterdir()) == ["name"]


def test_an_edge_that_does_not_answer_is_left_as_it_was(
    settings: Settings, api: tuple[KubeApi, ControlPlane], answers: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = set(api[0].objects)
    answers.clear()
    monkeypatch.setattr(
        AttachBackend, "wait_served", lambda self: reach.wait_reached(_sentinel(self, Edge(settings, self)), 0.1)
    )
    with pytest.raises(AttachRefused, match=r"10.9.9.1 gave: .*\n.*10.9.9.2 gave: .*\n.*reachable from here"):
        _open(settings)
    assert set(api[0].objects) == before


def _sentinel(backend: AttachBackend, edge: Edge) -> Any:
    return edge.sentinel


def test_one_address_is_enough_to_begin(settings: Settings, answers: dict[str, str]) -> None:
    """Whether the others do the same is for the gates."""
    del answers["10.9.9.1"]
    _open(settings).close()


def test_what_was_left_is_told(
    settings: Settings, api: tuple[KubeApi, ControlPlane], answers: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    killed = _open(settings, "killed")
    killed.claim.lock.close()
    again = _open(settings)
    assert again.how == "attached, after 1 namespaces that dead runs had left were removed"
    again.close()
    assert sorted(path.name for path in (settings.cache / "attached").iterdir()) == ["name"]
    assert [ref for ref in api[0].objects if ref.kind == NAMESPACE] == []


def test_tenants_are_answered_by_the_proxy_itself(
    settings: Settings, held: AttachBackend, api: tuple[KubeApi, ControlPlane]
) -> None:
    shop = Edge(settings, held).tenant("shop")
    answer = api[0].objects[Ref(HTTP_ROUTE_FILTER, "origin", shop.namespace)]["spec"]["directResponse"]
    assert answer["statusCode"] == 200
    assert shop.marker in answer["body"]["inline"]
    shop.edit_route("v1")
    (rule,) = api[0].objects[Ref(HTTP_ROUTE, "site", shop.namespace)]["spec"]["rules"]
    stamp, there = rule["filters"]
    values = {one["name"]: one["value"] for one in stamp["responseHeaderModifier"]["set"]}
    assert values == {"x-edgegate-origin": shop.marker, "x-edgegate-canary": "v1"}
    assert there["extensionRef"] == {"group": "gateway.envoyproxy.io", "kind": "HTTPRouteFilter", "name": "origin"}
    assert "backendRefs" not in rule


def test_a_login_policy_needs_no_provider(
    settings: Settings, held: AttachBackend, api: tuple[KubeApi, ControlPlane]
) -> None:
    edge = Edge(settings, held)
    OidcPolicy(shop := edge.tenant("shop"), Target.ROUTE, SecretState.VALID, edge.downstream, edge.login).create()
    oidc = api[0].objects[Ref(SECURITY_POLICY, "login", shop.namespace)]["spec"]["oidc"]
    assert oidc["provider"]["authorizationEndpoint"].startswith(f"{edge.login.issuer}/")
    with pytest.raises(NotShown, match="no login provider, so nobody can log in"):
        _ = edge.login.address


@pytest.mark.parametrize("action", ["restart", "kill", "pause"])
def test_what_would_harm_others_is_refused(settings: Settings, held: AttachBackend, action: str) -> None:
    with pytest.raises(NotAllowed, match=f"^to {action} a component: refused on an attached edge"):
        getattr(Edge(settings, held), action)("envoy-gateway")


def test_a_cold_restart_has_to_be_allowed_by_name(
    settings: Settings, held: AttachBackend, api: tuple[KubeApi, ControlPlane], answers: dict[str, str], tmp_path: Path
) -> None:
    with pytest.raises(NotAllowed, match=r"--edge-allow cold-restart allows it$"):
        Edge(settings, held).cold_restart()
    allowed = _open(_settings(api[1], tmp_path, allow=["cold-restart"]))
    allowed.allow("cold-restart")
    assert allowed.proxies.all()
    allowed.planes.downstream.delete(Ref(POD, "envoy-1", "system"))
    allowed.close()


def test_what_is_not_there_says_so(settings: Settings, held: AttachBackend) -> None:
    edge = Edge(settings, held)
    for look in (lambda: edge.dns, lambda: edge.acme, lambda: edge.lab, lambda: edge.nobody, lambda: held.origin):
        with pytest.raises(NotShown, match="nothing of ours runs beside an attached edge"):
            look()
    with pytest.raises(NotShown, match="--edge-upstream-kubeconfig"):
        edge.upstream.list(NAMESPACE)
    with pytest.raises(NotShown, match="without the part 'operator'"):
        edge.customer("shop")
    assert edge.sweep() == []


def test_what_it_can(held: AttachBackend) -> None:
    assert held.lacks("merged-gateways") == ""
    assert held.lacks("secret-grants") == ""
    assert held.lacks("dns") == "nothing of ours runs beside an attached edge: no dns"
    assert held.lacks("operator") != ""


def test_what_runs_is_read_off_the_pods(held: AttachBackend) -> None:
    assert held.versions().running == {"envoy-gateway": "1.8.3", "kubernetes": "1.35.4"}


def test_proxies_of_several_versions_are_told(api: tuple[KubeApi, ControlPlane]) -> None:
    class Told:
        def __init__(self, version: str) -> None:
            self.said = version

        def __enter__(self) -> "Told":
            return self

        def __exit__(self, *_: object) -> None:
            """Close nothing."""

        def version(self) -> str:
            if not self.said:
                raise AdminUnreachable("http://x", reason="refused")
            return self.said

    proxies: Any = [type("P", (), {"admin": lambda self, v=v: Told(v)})() for v in ("1.38.3", "1.37.0", "", "1.38.3")]
    assert running(api[1], proxies).running["envoy"] == "1.37.0 and 1.38.3"


def test_envoy_is_asked_through_the_control_plane(api: tuple[KubeApi, ControlPlane]) -> None:
    base = "/api/v1/namespaces/system/pods/envoy-1:19000/proxy"
    api[0].texts[f"{base}/stats"] = "a.b: 3\n"
    api[0].refusals["GET", f"{base}/ready"] = (503, {})
    transport = ThroughProxy(PodPort(api[1], "system", "envoy-1", 19000))
    with EnvoyAdmin("http://envoy-1:19000", transport=transport) as admin:
        assert admin.stats("a") == {"a.b": 3}
        assert not admin.live()
    assert api[0].asked[0].query == {"filter": "a"}


def test_a_control_plane_that_is_gone_is_no_envoy(tmp_path: Path) -> None:
    with serve(tmp_path) as (_, plane):
        gone = plane
    transport = ThroughProxy(PodPort(gone, "system", "envoy-1", 19000))
    with EnvoyAdmin("http://envoy-1:19000", transport=transport) as admin, pytest.raises(AdminUnreachable):
        admin.version()


def test_a_pods_log_is_read_from_a_mark_on(api: tuple[KubeApi, ControlPlane]) -> None:
    path = "/api/v1/namespaces/system/pods/envoy-1/log"
    log = PodLog(api[1], "system", "envoy-1", "envoy")
    api[0].texts[path] = "2026-01-01T00:00:01Z one\n"
    assert (mark := log.mark()) == "2026-01-01T00:00:01Z"
    api[0].texts[path] += "2026-01-01T00:00:01.5Z two words\n"
    assert log.since(mark) == "two words\n"
    assert log.since("") == "one\ntwo words\n"
    assert api[0].asked[1].query["sinceTime"] == mark


def test_a_pod_whose_log_cannot_be_had_says_nothing(api: tuple[KubeApi, ControlPlane]) -> None:
    log = PodLog(api[1], "system", "none", "envoy")
    assert (log.mark(), log.since("")) == ("", "")


def test_a_host_name_is_looked_up(api: tuple[KubeApi, ControlPlane], tmp_path: Path) -> None:
    ref = Ref(GATEWAY, "named", "a")
    api[0].controllers.clear()
    for value, addresses in (("localhost", {"127.0.0.1", "::1"}), ("10.1.1.1", {"10.1.1.1"})):
        api[0].write(ref.manifest({}, status={"addresses": [{"value": value}]}))
        assert set(reach.site(api[1], ref, tmp_path).addresses) <= addresses
    api[0].write(ref.manifest({}, status={"addresses": [{"value": "no-such-host.invalid"}]}))
    with pytest.raises(NotShown, match="reports no address that can be looked up from here"):
        reach.site(api[1], ref, tmp_path)


def test_transport_is_httpx(api: tuple[KubeApi, ControlPlane]) -> None:
    assert isinstance(ThroughProxy(PodPort(api[1], "a", "b", 1)), httpx.BaseTransport)
