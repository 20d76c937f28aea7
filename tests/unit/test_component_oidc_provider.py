"""The lab's login: how it is run, how scenarios use it, and that its switch breaks it in each way."""

import io
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from cryptography.x509 import SubjectAlternativeName, load_pem_x509_certificate
from werkzeug.serving import make_server

from edgegate.clusters.kinds import ENDPOINT_SLICE, SERVICE, Ref
from edgegate.components import oidc_provider, oidc_provider_server
from edgegate.components.oidc_provider import OidcProvider
from edgegate.components.oidc_provider_server import MODE_PATH, Switched
from edgegate.components.pki import Authority
from edgegate.errors import UsageFault
from edgegate.lab import Bind, LabNet, Ready
from fakes import FakeLab
from kube_api import serve


@pytest.fixture
def lab(tmp_path: Path) -> FakeLab:
    return FakeLab(tmp_path)


def test_how_it_is_run(lab: FakeLab) -> None:
    spec = oidc_provider.spec(lab, Authority.new("x"))
    secrets = "/run/edgegate/data/secrets/oidc-provider"
    listen = ("-m", "edgegate.components.oidc_provider_server", "--listen", "10.88.7.1:9400")
    assert spec.name == "oidc-provider"
    assert spec.argv == (sys.executable, *listen, "--cert", f"{secrets}.crt", "--key", f"{secrets}.key")
    assert spec.ready == Ready("http", "https://10.88.7.1:9400/-/mode", contains="ok", limit=30)
    assert spec.binds == (Bind("/run/edgegate/data/config/resolv.conf", "/etc/resolv.conf"),)


def test_its_certificate_is_for_its_name_and_address(lab: FakeLab) -> None:
    oidc_provider.spec(lab, Authority.new("x"))
    certificate = load_pem_x509_certificate(lab.files["/run/edgegate/data/secrets/oidc-provider.crt"])
    names = certificate.extensions.get_extension_for_class(SubjectAlternativeName).value
    assert [str(name.value) for name in names] == [OidcProvider.host, "10.88.7.1"]


def test_proxies_find_it_by_name(lab: FakeLab, tmp_path: Path) -> None:
    with serve(tmp_path) as (api, plane):
        oidc_provider.publish(lab, plane)
        service = api.objects[Ref(SERVICE, "provider", "edgegate-login")]
        endpoints = api.objects[Ref(ENDPOINT_SLICE, "provider", "edgegate-login")]
    assert service["spec"]["ports"][0]["port"] == 443
    assert (endpoints["ports"][0]["port"], endpoints["endpoints"][0]["addresses"]) == (9400, ["10.88.7.1"])
    assert OidcProvider.issuer == "https://provider.edgegate-login.svc.cluster.local"


@pytest.fixture
def provider(lab: FakeLab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OidcProvider]:
    """Return a real provider on loopback, as scenarios use it."""
    authority = Authority.new("x")
    pair = authority.issue(["127.0.0.1"])
    for name, content in {"ca": authority.certificate, "crt": pair.certificate, "key": pair.key}.items():
        (tmp_path / name).write_bytes(content)
    tls = str(tmp_path / "crt"), str(tmp_path / "key")
    with warnings.catch_warnings(record=True):  # authlib is about to move, and says so loudly
        application = oidc_provider_server.application()
    server = make_server("127.0.0.1", 0, application, threaded=True, ssl_context=tls)
    monkeypatch.setattr(server, "daemon_threads", False)  # closing waits for them then: other tests count threads
    monkeypatch.setattr(oidc_provider, "PORT", server.server_port)
    monkeypatch.setattr(LabNet, "lab_ip", "127.0.0.1")
    made = OidcProvider(lab, tmp_path / "ca")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield made
    made.close()
    server.shutdown()
    server.server_close()
    thread.join()


def test_clients_are_registered_each_with_credentials_of_its_own(provider: OidcProvider) -> None:
    one, other = (provider.register(f"https://{name}.edge.test/oauth2/callback") for name in "ab")
    assert one.identifier != other.identifier
    assert one.secret != other.secret


def test_a_provider_that_is_switched_to_error_says_so_and_recovers(provider: OidcProvider) -> None:
    provider.switch("error")
    with pytest.raises(httpx.HTTPStatusError, match="503"):
        provider.register("https://a.edge.test/")
    provider.switch("ok")
    assert provider.register("https://a.edge.test/").identifier


def test_another_mode_is_refused(provider: OidcProvider) -> None:
    with pytest.raises(UsageFault) as raised:
        provider.switch("slow")
    assert str(raised.value) == "'slow' is no mode of the OpenID provider. Accepted: ok, error, silent."


Call = Callable[..., tuple[str, bytes]]


@pytest.fixture
def call() -> Call:
    """Return a function that asks a switched application: method, path, body."""
    app = Switched(lambda environ, start: [b"from the provider"] if start("200 OK", []) is None else [])

    def ask(method: str = "GET", path: str = "/", body: str = "") -> tuple[str, bytes]:
        said: list[str] = []
        content = {"wsgi.input": io.BytesIO(body.encode()), "CONTENT_LENGTH": str(len(body))}
        answer = app({"REQUEST_METHOD": method, "PATH_INFO": path, **content}, _noting(said))
        return (said[0] if said else ""), b"".join(answer)

    return ask


def _noting(said: list[str]) -> Any:
    def start(status: str, headers: object, exc_info: object = None) -> None:
        said.append(status)

    return start


def test_requests_are_passed_on(call: Call) -> None:
    assert call() == ("200 OK", b"from the provider")


def test_the_mode_can_be_asked(call: Call) -> None:
    assert call("GET", MODE_PATH) == ("200 OK", b"ok")
    assert call("PUT", MODE_PATH, "error") == ("200 OK", b"error")
    assert call("GET", MODE_PATH) == ("200 OK", b"error")


def test_error_breaks_every_answer_but_the_switchs(call: Call) -> None:
    call("PUT", MODE_PATH, "error")
    assert call("POST", "/oauth2/token") == ("503 Service Unavailable", b"switched to error")
    call("PUT", MODE_PATH, "ok")
    assert call("POST", "/oauth2/token") == ("200 OK", b"from the provider")


def test_the_switch_refuses_another_word_and_stays(call: Call) -> None:
    assert call("PUT", MODE_PATH, "off") == ("400 Bad Request", b"'off' is none of ok, error, silent")
    assert call("GET", MODE_PATH) == ("200 OK", b"ok")


def test_silence_lasts_until_the_mode_changes(call: Call) -> None:
    call("PUT", MODE_PATH, "silent")
    answers: list[tuple[str, bytes]] = []
    asking = threading.Thread(target=lambda: answers.append(call()))
    asking.start()
    assert answers == []
    call("PUT", MODE_PATH, "error")
    asking.join(timeout=5)
    assert answers == [("503 Service Unavailable", b"switched to error")]
