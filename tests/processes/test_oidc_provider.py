"""The login provider as the process that a lab runs."""

import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from edgegate.clock import wait_until
from edgegate.components.oidc_provider_server import MODE_PATH
from edgegate.components.pki import Authority
from edgegate.probes.tls import trusting
from servers import free_port


@pytest.mark.timeout(60)
def test_it_serves_tls_with_the_certificate_that_it_is_given(tmp_path: Path) -> None:
    authority, port = Authority.new("x"), free_port()
    pair = authority.issue(["127.0.0.1"])
    for name, content in {"ca": authority.certificate, "crt": pair.certificate, "key": pair.key}.items():
        (tmp_path / name).write_bytes(content)
    words = ("--listen", f"127.0.0.1:{port}", "--cert", str(tmp_path / "crt"), "--key", str(tmp_path / "key"))
    argv = [sys.executable, "-m", "edgegate.components.oidc_provider_server", *words]
    with (
        subprocess.Popen(argv, stderr=subprocess.DEVNULL) as process,
        httpx.Client(base_url=f"https://127.0.0.1:{port}", verify=trusting(tmp_path / "ca"), trust_env=False) as http,
    ):

        def mode() -> str | None:
            try:
                return http.get(MODE_PATH).text
            except httpx.ConnectError:
                return None

        assert wait_until("provider", mode, deadline=30) == "ok"
        found = http.get("/.well-known/openid-configuration").json()
        process.kill()
    assert found["token_endpoint"].endswith("/oauth2/token")
