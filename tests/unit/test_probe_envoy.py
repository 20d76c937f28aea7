"""What Envoy's admin interface says is read right; the answers were captured from 1.37.0 and 1.38.3."""

from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from edgegate.errors import AdminUnreachable, EnvironmentFault
from edgegate.probes.envoy import Chain, EnvoyAdmin, Listener, Rejection, RejectionDelta, UpdateKey, rejections_in_log
from edgegate.probes.envoy_facts import key_of

CAPTURED = Path(__file__).parent
VERSIONS = ["1.37.0", "1.38.3"]
ROUTES = UpdateKey("rds", "default/eg/http")


def _captured(version: str) -> EnvoyAdmin:
    """Return an admin interface that answers from the files of one version."""
    folder = CAPTURED / f"envoy-{version}"

    def answer(request: httpx.Request) -> httpx.Response:
        match request.url.path, request.url.params.get("resource"):
            case "/server_info", None:
                return httpx.Response(200, text=(folder / "server_info.json").read_text())
            case "/stats", None:
                return httpx.Response(200, text=(folder / "update_rejected.txt").read_text())
            case "/config_dump", str(part):
                return httpx.Response(200, text=(folder / f"{part}.json").read_text())
        return httpx.Response(404)

    return EnvoyAdmin("http://envoy.example", transport=httpx.MockTransport(answer))


def _answering(answer: Callable[[httpx.Request], httpx.Response]) -> EnvoyAdmin:
    return EnvoyAdmin("http://envoy.example", transport=httpx.MockTransport(answer))


@pytest.mark.parametrize("version", VERSIONS)
def test_version_comes_from_the_process(version: str) -> None:
    info = _captured(version).info()

    assert (info.version, _captured(version).version()) == (version, version)
    assert info.build.endswith("/RELEASE/BoringSSL")
    assert (info.state, info.concurrency) == ("LIVE", 1)
    assert info.uptime > 0
    assert not _captured(version).draining()


@pytest.mark.parametrize("version", VERSIONS)
def test_refused_updates_are_counted_by_kind_and_scope(version: str) -> None:
    """Both versions name their counters alike."""
    assert _captured(version).rejected() == {
        UpdateKey("lds", ""): 1,
        UpdateKey("cds", ""): 1,
        ROUTES: 1,
        UpdateKey("sds", "default/a-cert"): 1,
        UpdateKey("eds", "httproute/default/a/rule/0"): 1,
    }


def test_counters_of_one_route_configuration_are_added() -> None:
    """HTTP and HTTPS listeners share route configurations; each has its own counter."""
    text = "http.a.rds.default/eg/http.update_rejected: 1\nhttp.b.rds.default/eg/http.update_rejected: 2\n"

    assert _answering(lambda _: httpx.Response(200, text=text)).rejected() == {ROUTES: 3}


@pytest.mark.parametrize(
    ("counter", "key"),
    [
        ("http.http-10080.scoped_rds.x.update_rejected", UpdateKey("rds", "x")),
        ("cluster.a.b.update_rejected", UpdateKey("eds", "a.b")),
        ("cluster.x.client_ssl.sds.ca.update_rejected", UpdateKey("sds", "ca")),
        ("runtime.r.update_rejected", UpdateKey("rtds", "r")),
        ("extension_config_discovery.f.update_rejected", UpdateKey("other", "extension_config_discovery.f")),
    ],
)
def test_counter_names(counter: str, key: UpdateKey) -> None:
    assert key_of(counter) == key


def test_text_of_the_incident() -> None:
    """A valid OIDC policy on Envoy 1.37: the listener keeps its old version, and Envoy tells why."""
    assert _captured("1.37.0").rejection_texts() == (
        Rejection("lds", "default/eg/http", "config must be present for global config", "2026-11-30T14:28:01.869Z"),
    )


def test_text_of_a_duplicate_filter_chain() -> None:
    (refused,) = _captured("1.38.3").rejection_texts()

    assert (refused.xds, refused.resource) == ("lds", "default/eg/https")
    assert "has the same matching rules defined as 'default/eg/https/a'" in refused.details
    assert refused.attempted


@pytest.mark.parametrize("version", VERSIONS)
def test_listeners(version: str) -> None:
    """What is served is the version that was accepted, with the server names of each chain."""
    static, http, https = _captured(version).listeners()

    assert static == Listener("static-ready", "127.0.0.1:19901", "static", (Chain("", ()),))
    assert (http.name, http.state, http.server_names) == ("default/eg/http", "active", frozenset())
    assert https.chains == (Chain("default/eg/https/a", ("a.example",)),)
    assert https.server_names == {"a.example"}


def test_listener_that_never_was_accepted() -> None:
    entry = {"name": "x", "error_state": {"details": "no", "failed_configuration": {"default_filter_chain": {}}}}
    admin = _answering(lambda request: _parts(request, dynamic_listeners=[entry]))

    assert admin.listeners() == (Listener("x", "", "refused", (Chain("", ()),)),)
    assert admin.rejection_texts() == (Rejection("lds", "x", "no", ""),)


def _parts(request: httpx.Request, **parts: list[object]) -> httpx.Response:
    found = parts.get(request.url.params["resource"])
    return httpx.Response(200, json={"configs": found} if found else {})


@pytest.mark.parametrize(("status", "live"), [(200, True), (503, False)])
def test_live(status: int, live: bool) -> None:
    assert _answering(lambda _: httpx.Response(status)).live() is live


def test_draining() -> None:
    info = {"version": "c/1.38.3/Clean", "state": "DRAINING", "uptime_current_epoch": "3s", "command_line_options": {}}

    assert _answering(lambda _: httpx.Response(200, json=info)).draining()


def test_whole_dump_has_endpoints() -> None:
    admin = _answering(lambda request: httpx.Response(200, json={"asked": str(request.url.query)}))

    assert "include_eds" in admin.config_dump()["asked"]


def test_silent_admin_interface_is_a_fault_of_the_surroundings() -> None:
    """Nothing can be said about a proxy that cannot be asked: inconclusive, and what to do."""
    with pytest.raises(AdminUnreachable) as raised:
        EnvoyAdmin("http://127.0.0.1:1").rejected()

    assert isinstance(raised.value, EnvironmentFault)
    assert str(raised.value) == (
        "Envoy's admin interface at http://127.0.0.1:1/stats: refused. Without it nobody knows what Envoy refused. "
        "See whether the proxy runs (`edgegate status`) and what it logged (`edgegate logs`)."
    )


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (httpx.Response(404, text="not an admin interface"), "status 404: not an admin interface"),
        (httpx.Response(200, text="<html>"), "no JSON but '<html>'"),
        (httpx.Response(200, json=[]), "not what Envoy says there"),
        (httpx.Response(200, json={"version": "1"}), "not what Envoy says there"),
    ],
)
def test_something_else_that_answers_is_not_taken_for_envoy(answer: httpx.Response, reason: str) -> None:
    with pytest.raises(AdminUnreachable, match=reason):
        _answering(lambda _: answer).info()


def test_delta_is_what_grew() -> None:
    before = {ROUTES: 2, UpdateKey("lds", ""): 1}

    delta = RejectionDelta.between(before, {ROUTES: 5, UpdateKey("lds", ""): 1, UpdateKey("sds", "x"): 1})

    assert delta.grown == {ROUTES: 3, UpdateKey("sds", "x"): 1}
    assert delta.describe() == "rds default/eg/http: 3, sds x: 1"


def test_delta_of_nothing() -> None:
    delta = RejectionDelta.between({ROUTES: 2}, {ROUTES: 2})

    assert not delta.grown
    assert delta.describe() == "nothing was refused"


def test_delta_over_a_restart_counts_from_zero() -> None:
    assert RejectionDelta.between({ROUTES: 5}, {ROUTES: 1}).grown == {ROUTES: 1}


@pytest.mark.parametrize("version", VERSIONS)
def test_log_has_the_text_of_every_kind(version: str) -> None:
    found = rejections_in_log((CAPTURED / f"envoy-{version}" / "log.txt").read_text())

    assert len(found) == 5
    assert "value must be less than or equal to 128" in found[0].details
    assert "Duplicate entry of domain a.example in route default/eg/http" in found[1].details
    assert (found[3].xds, found[3].resource) == ("cds", "httproute/default/a/rule/0")
    assert found[4].xds == "lds"


def test_log_of_incremental_updates_tells_each_refusal_once() -> None:
    """Captured from 1.38.3: every refusal is logged by two layers."""
    line = (
        "[2026-11-30 14:52:59.{moment}][2978][warning][config] [source/extensions/x.cc:282] {via} config for "
        "type.googleapis.com/envoy.config.listener.v3.Listener rejected: Error adding/updating listener(s) "
        "default/eg/http: error adding listener named 'default/eg/http': address is necessary\n\n"
    )
    text = "".join(line.format(moment=449 + index, via=via) for index, via in enumerate(("delta", "gRPC") * 2))

    found = rejections_in_log(text)

    assert [refused.attempted for refused in found] == ["2026-11-30 14:52:59.449", "2026-11-30 14:52:59.451"]
    assert {(refused.xds, refused.resource) for refused in found} == {("lds", "default/eg/http")}


def test_requests_in_the_log_belong_to_no_refusal() -> None:
    text = (
        "[2026-11-30 14:28:01.871][7][warning][config] [source/x.cc:1] delta config for "
        "type.googleapis.com/envoy.config.route.v3.RouteConfiguration rejected: Only unique names\n\n"
        '{":authority":"a.example","response_code":200}\n'
    )

    assert [refused.details for refused in rejections_in_log(text)] == ["Only unique names"]


def test_log_of_a_control_plane_names_the_kind() -> None:
    text = (
        "[2026-11-30 14:28:01.870][7][info][main] [source/server/server.cc:1] starting\n"
        "[2026-11-30 14:28:01.871][7][warning][config] [source/x.cc:1] delta config for "
        "type.googleapis.com/envoy.config.route.v3.RouteConfiguration rejected: Only unique names\nare permitted\n"
        "[2026-11-30 14:28:01.872][7][info][main] [source/server/server.cc:1] all is well\n"
    )

    assert rejections_in_log(text) == (
        Rejection("rds", "", "Only unique names\nare permitted", "2026-11-30 14:28:01.871"),
    )


def test_memory() -> None:
    admin = _answering(lambda request: httpx.Response(200, json={"allocated": "12345", "heap_size": "20000"}))

    assert admin.allocated() == 12345
