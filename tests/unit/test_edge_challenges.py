"""The access logs of proxies tell which challenge requests reached the edge."""

import json
from pathlib import Path

import pytest

from edgegate.edge.challenges import AUTHORITY, CHECKER, challenge_requests, wait_for_answered
from edgegate.edge.proxy_log import FileLog
from edgegate.errors import NeverReady

HOST = "shop.edge.test"


def entry(agent: str, *, host: str = f"{HOST}:80", status: int = 200, at: str = "2026-01-01T00:00:01.000Z") -> str:
    """Return a line as Envoy writes it."""
    seen = {
        ":authority": host,
        "x-envoy-origin-path": "/.well-known/acme-challenge/token",
        "response_code": status,
        "user-agent": agent,
        "route_name": "httproute/shop/solver",
        "start_time": at,
    }
    return json.dumps(seen)


def write(folder: Path, pod: str, *lines: str) -> None:
    (folder / pod).mkdir(parents=True)
    (folder / pod / "envoy.log").write_text("\n".join(lines))


def logs(folder: Path) -> list[FileLog]:
    return [FileLog(path) for path in folder.glob("*/envoy.log")]


def test_requests_of_all_proxies_are_told_in_order(tmp_path: Path) -> None:
    write(tmp_path, "a", entry("LetsEncrypt-Pebble-VA (linux; amd64)", at="2026-01-01T00:00:02.000Z"))
    write(
        tmp_path,
        "b",
        "[2026-01-01][info] all clusters initialized",
        "not json /.well-known/acme-challenge/",
        json.dumps({":authority": HOST, "x-envoy-origin-path": "/"}),
        entry("cert-manager-challenges/v1.21.2", status=404),
        entry("LetsEncrypt-Pebble-VA", host="other.edge.test"),
        entry("cut off")[:-20],
    )
    found = challenge_requests(logs(tmp_path), HOST)
    assert [(one.agent.partition(" ")[0], one.status, one.by_authority) for one in found] == [
        ("cert-manager-challenges/v1.21.2", 404, False),
        ("LetsEncrypt-Pebble-VA", 200, True),
    ]
    assert (found[0].host, found[0].token, found[0].route) == (HOST, "token", "httproute/shop/solver")


def test_the_authority_must_have_been_answered(tmp_path: Path) -> None:
    write(tmp_path, "a", entry("LetsEncrypt-Pebble-VA", status=404), entry("curl"))
    text = r"requests of LetsEncrypt-Pebble-VA for shop.edge.test, answered, in the log of a proxy: not within .*=404"
    with pytest.raises(NeverReady, match=text):
        wait_for_answered(logs(tmp_path), HOST, within=0.1)


def test_an_answered_authority_is_enough(tmp_path: Path) -> None:
    write(tmp_path, "a", entry("LetsEncrypt-Pebble-VA"))
    assert len(wait_for_answered(logs(tmp_path), HOST, within=1)) == 1


def test_each_of_those_who_are_asked_for_must_have_been_answered(tmp_path: Path) -> None:
    write(tmp_path, "a", entry("LetsEncrypt-Pebble-VA"))
    with pytest.raises(NeverReady):
        wait_for_answered(logs(tmp_path), HOST, (CHECKER, AUTHORITY), within=0.1)
    write(tmp_path, "b", entry("cert-manager-challenges/v1.21.2"))
    assert len(wait_for_answered(logs(tmp_path), HOST, (CHECKER, AUTHORITY), within=1)) == 2
