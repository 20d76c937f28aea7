"""All ways into an edge must answer alike; one that does not is a finding that names it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from edgegate.components.pki import Authority
from edgegate.edge import guard as guards
from edgegate.edge.doors import Door, doors
from edgegate.edge.guard import Guard
from edgegate.edge.proxies import Proxy
from edgegate.edge.proxy_log import NoLog
from edgegate.edge.tenant import Site
from edgegate.limits import Limits
from edgegate.probes.envoy import UpdateKey
from edgegate.report.gate import Gate
from fakes import FakeTenant, notebook

ONE, TWO = (Proxy(f"envoy-{number}", f"u{number}", f"10.88.7.14{number}", True) for number in (1, 2))
WAYS = [Door("10.88.7.8"), Door(ONE.address, "by envoy-1"), Door(TWO.address, "by envoy-2")]
LIMITS = Limits(canary=0.02, relit=0.05)


@pytest.fixture
def gate() -> Gate:
    return notebook()


@pytest.fixture
def tenant(tmp_path: Path) -> FakeTenant:
    return FakeTenant("a", tmp_path)


@pytest.fixture
def guard(gate: Gate, tenant: FakeTenant) -> Guard:
    return Guard(gate, [tenant], Authority.new("x"), LIMITS, lambda proxy: NoLog(), lambda: WAYS)


def _site(*others: str) -> Site:
    return Site("10.88.7.8", Path("ca.crt"), others)


def test_one_address_and_one_proxy_are_one_door() -> None:
    assert doors(_site(), [ONE]) == [Door("10.88.7.8")]
    assert Door("10.88.7.8").of("neighbour http") == "neighbour http"


def test_each_address_and_each_of_several_proxies_is_one() -> None:
    coming = Proxy("envoy-3", "u3", "", False)
    assert doors(_site("10.9.9.2"), [ONE, TWO, coming]) == [
        Door("10.88.7.8", "at 10.88.7.8"),
        Door("10.9.9.2", "at 10.9.9.2"),
        *WAYS[1:],
    ]
    assert WAYS[1].of("neighbour http") == "neighbour http by envoy-1"


def test_each_door_is_watched_by_itself(guard: Guard, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[Any] = []

    def watch(targets: list[Any], **_: Any) -> Any:
        looked.extend(targets)
        raise KeyboardInterrupt

    monkeypatch.setattr(guards, "Watch", watch)
    with pytest.raises(KeyboardInterrupt), guard.unharmed():
        pass
    http = {one.name: one.address for one in looked if not one.tls}
    assert http == {"a http": "10.88.7.8", "a http by envoy-1": ONE.address, "a http by envoy-2": TWO.address}
    assert len({one.name for one in looked}) == len(looked) == 9


def test_a_proxy_that_lags_behind_is_named(guard: Guard, gate: Gate, tenant: FakeTenant) -> None:
    stale = replace(tenant.right(tls=True), headers=(("x-edgegate-origin", tenant.marker),))
    tenant.at[TWO.address] = lambda method, tls, host: stale
    guard.canaries()
    assert [one.subject for one in gate.evidence.findings] == ["canary edit of a by envoy-2"]


def test_a_proxy_that_stays_dark_after_a_cold_start_is_named(guard: Guard, gate: Gate, tenant: FakeTenant) -> None:
    dark = replace(tenant.right(), status=None, error="refused", headers=())
    tenant.at[ONE.address] = lambda method, tls, host: dark
    guard.relit()
    dark_ones = [one.subject for one in gate.evidence.findings if not one.subject.startswith("canary")]
    assert dark_ones == ["a http by envoy-1", "a https by envoy-1"]


def test_of_several_proxies_the_one_that_refuses_is_named(guard: Guard, gate: Gate) -> None:
    def proxy(name: str, refused: int) -> Any:
        said = SimpleNamespace(rejected=lambda: {UpdateKey("lds", "x"): refused}, rejection_texts=lambda: ())

        @contextmanager
        def admin() -> Iterator[Any]:
            yield said

        return SimpleNamespace(name=name, admin=admin)

    guard.relit(proxy("envoy-1", 0), proxy("envoy-2", 1))
    assert [one.subject for one in gate.evidence.findings] == ["Envoy's configuration of envoy-2"]
