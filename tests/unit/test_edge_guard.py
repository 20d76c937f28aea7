"""Neighbours are judged by their own traffic, by edits of their own, and by what the proxy refused."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from edgegate.components.pki import Authority
from edgegate.edge import guard as guards
from edgegate.edge.guard import Guard, served
from edgegate.edge.proxy_log import FileLog
from edgegate.edge.tenant import CANARY
from edgegate.errors import NeverReady, WatchBroken
from edgegate.limits import Limits
from edgegate.probes.envoy import Rejection, UpdateKey
from edgegate.records import Answer, Finding, Source
from edgegate.report.gate import Gate
from edgegate.traffic import Gap, MachineLoad, Outage, Spread, TargetReport, WatchReport
from fakes import FakeTenant, certificate_of, notebook

LIMITS = Limits(canary=0.05, relit=0.3)
LISTENER = UpdateKey("lds", "")
Script = Callable[[str, bool, str], Answer]


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority.new("x")


@pytest.fixture
def a(tmp_path: Path) -> FakeTenant:
    return FakeTenant("a", tmp_path)


@pytest.fixture
def b(tmp_path: Path) -> FakeTenant:
    return FakeTenant("b", tmp_path)


@pytest.fixture
def gate() -> Gate:
    return notebook()


@pytest.fixture
def guard(gate: Gate, a: FakeTenant, b: FakeTenant, authority: Authority, tmp_path: Path) -> Guard:
    return Guard(gate, [a, b], authority, LIMITS, lambda proxy: FileLog(tmp_path / "envoy.log"))


class FakeAdmin:
    """Says what the proxy refused."""

    def __init__(self) -> None:
        self.counts: list[dict[UpdateKey, int]] = [{LISTENER: 0}]
        self.texts: tuple[Rejection, ...] = ()

    def rejected(self) -> dict[UpdateKey, int]:
        return self.counts.pop(0) if len(self.counts) > 1 else self.counts[0]

    def rejection_texts(self) -> tuple[Rejection, ...]:
        return self.texts


@pytest.fixture
def admin() -> FakeAdmin:
    return FakeAdmin()


@pytest.fixture
def proxy(admin: FakeAdmin) -> Any:
    @contextmanager
    def opened() -> Iterator[FakeAdmin]:
        yield admin

    return SimpleNamespace(admin=opened)


def _watched(*targets: TargetReport, blind: float = 0.0) -> WatchReport:
    seen = tuple(replace(target, blind=blind) for target in targets)
    load = MachineLoad(10.0, 0.5, 0.0, None)
    return WatchReport(0.0, 100.0, 110.0, seen, cpu=0.1, load=load, scheduling="normal")


def _target(name: str, *outages: Outage) -> TargetReport:
    spread, gap = Spread(0.02, 0.02, 0.02), Gap(0.0, 0.02)
    wrong: Any = outages
    return TargetReport(name, 0.02, 500, outages, wrong, spread, gap, 0.0, spread, ())


class FakeWatch:
    """Stands for the process that looks; notes what it was told to look at."""

    def __init__(self) -> None:
        self.targets: list[Any] = []
        self.report = _watched(_target("a http"), _target("a https"))
        self.events: list[str] = []

    def __call__(self, targets: list[Any], *, timeout: float) -> "FakeWatch":
        self.targets = targets
        return self

    def __enter__(self) -> "FakeWatch":
        self.events.append("begin")
        return self

    def __exit__(self, *_: object) -> None:
        self.events.append("end")

    def stop(self) -> WatchReport:
        self.events.append("stop")
        return self.report


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> FakeWatch:
    made = FakeWatch()
    monkeypatch.setattr(guards, "Watch", made)
    return made


def test_neighbours_that_stay_right_are_no_finding(
    guard: Guard, gate: Gate, proxy: Any, watch: FakeWatch, a: FakeTenant
) -> None:
    with guard.unharmed(proxy):
        watch.events.append("block")
    assert gate.evidence.findings == []
    assert gate.evidence.checks == {Source.TRAFFIC: 2 + 3, Source.DATA_PLANE: 1}
    assert watch.events == ["begin", "block", "stop", "end"]
    assert gate.evidence.notes[0].startswith("1000 looks at 2 targets in 10.00 s, 0 wrong;")


def test_every_neighbour_is_watched_over_http_and_https_by_handshake(
    guard: Guard, proxy: Any, watch: FakeWatch
) -> None:
    with guard.unharmed(proxy):
        pass
    told = {(one.name, one.address, one.host, one.marker, one.tls, one.fingerprint) for one in watch.targets}
    assert len(watch.targets) == len({one.name for one in watch.targets}) == 6
    hosts = {(host, marker, tls, fingerprint) for _, _, host, marker, tls, fingerprint in told}
    assert hosts == {
        ("a-1.edge.test", "a-1", False, None),
        ("a-1.edge.test", "a-1", True, "print of a"),
        ("b-1.edge.test", "b-1", False, None),
        ("b-1.edge.test", "b-1", True, "print of b"),
    }


def test_an_outage_is_a_finding_that_tells_when_and_what(
    guard: Guard, gate: Gate, proxy: Any, watch: FakeWatch
) -> None:
    outage = Outage("a http", 101.0, 103.0, 100.9, 102.9, 90, (("reset", 80), ("status 404", 10)))
    watch.report = _watched(_target("a http", outage), _target("a https"))
    with gate.during("warm"), guard.unharmed(proxy):
        pass
    expected, seen = "right in all 500 looks", "a http: reset ×80, status 404 ×10 from 1.00 s on, for 2.00 s"
    assert gate.evidence.findings == [Finding(Source.TRAFFIC, "a http", expected, seen, "warm")]


@pytest.mark.parametrize("fault", ["timeout", "reset"])
def test_a_single_lost_look_is_a_finding(guard: Guard, gate: Gate, proxy: Any, watch: FakeWatch, fault: str) -> None:
    watch.report = _watched(_target("a https", Outage("a https", 101.0, 101.02, 100.98, 101.0, 1, ((fault, 1),))))
    with guard.unharmed(proxy):
        pass
    assert [one.subject for one in gate.evidence.findings] == ["a https"]


@pytest.mark.parametrize(("blind", "broken"), [(2.5, False), (2.6, True)])
def test_a_watch_that_was_blind_proves_nothing(
    guard: Guard, proxy: Any, watch: FakeWatch, blind: float, broken: bool
) -> None:
    watch.report = _watched(_target("a http"), blind=blind)
    if not broken:
        with guard.unharmed(proxy):
            return
    with (
        pytest.raises(WatchBroken, match="it could not look often enough: 500 looks at 1 targets"),
        guard.unharmed(proxy),
    ):
        pass


def test_an_error_in_the_block_ends_the_watch_and_is_not_hidden(
    guard: Guard, proxy: Any, watch: FakeWatch, a: FakeTenant
) -> None:
    with pytest.raises(NeverReady), guard.unharmed(proxy):
        raise NeverReady("policy judged", limit="1 s", last=None)
    assert watch.events == ["begin", "end"]
    assert a.changes == []


def test_a_refused_update_is_a_finding_with_its_text(
    guard: Guard, gate: Gate, proxy: Any, admin: FakeAdmin, watch: FakeWatch
) -> None:
    admin.counts = [{LISTENER: 1}, {LISTENER: 3}]
    admin.texts = (Rejection("lds", "https-443", "config must be present for global config", ""),)
    with guard.unharmed(proxy):
        pass
    (finding,) = gate.evidence.findings
    assert (finding.source, finding.subject) == (Source.DATA_PLANE, "Envoy's configuration")
    assert finding.seen.endswith("(https-443: config must be present for global config)")


def test_updates_refused_before_are_nobody_elses_fault(
    guard: Guard, gate: Gate, proxy: Any, admin: FakeAdmin, watch: FakeWatch
) -> None:
    admin.counts = [{LISTENER: 3}]
    with guard.unharmed(proxy):
        pass
    assert gate.evidence.findings == []


def test_after_a_cold_start_every_refused_update_counts(guard: Guard, gate: Gate, proxy: Any, admin: FakeAdmin) -> None:
    admin.counts = [{LISTENER: 1}]
    guard.relit(proxy)
    (finding,) = gate.evidence.findings
    assert finding.seen.endswith("(no text kept)")


def test_canaries_edit_every_neighbour_and_give_the_first_a_listener(
    guard: Guard, gate: Gate, a: FakeTenant, b: FakeTenant
) -> None:
    guard.canaries()
    assert (a.changes, b.changes) == (["edit", "add", "drop"], ["edit"])
    assert a.canary == b.canary != ""
    assert (gate.evidence.findings, gate.evidence.checks) == ([], {Source.TRAFFIC: 3})


def test_an_edit_that_does_not_reach_the_wire_is_a_finding(guard: Guard, gate: Gate, b: FakeTenant) -> None:
    """The neighbour goes on to answer as before: the proxy's configuration is frozen."""
    b.answers = lambda method, tls, host: replace(b.right(method, tls), headers=(("x-edgegate-origin", b.marker),))
    guard.canaries()
    (finding,) = gate.evidence.findings
    assert (finding.source, finding.subject) == (Source.TRAFFIC, "canary edit of b")
    assert finding.expected == f"the answer after its route was edited ({CANARY}: {b.canary}) within 50 ms"
    assert finding.seen == "GET https://b-1.edge.test/ at 10.88.7.8:80: 200 from b-1 (1 ms)"


def test_a_listener_that_does_not_come_is_a_finding(guard: Guard, gate: Gate, a: FakeTenant) -> None:
    def answers(method: str, tls: bool, host: str) -> Answer:
        return a.right(method, tls) if host == a.host else a.right(method, tls, status=None, error="reset", headers=())

    a.answers = answers
    guard.canaries()
    (finding,) = gate.evidence.findings
    assert finding.expected.startswith("an answer from its new listener canary-")
    assert "no answer, reset" in finding.seen
    assert a.changes[-1] == "drop"


def test_neighbours_that_come_back_are_no_finding(guard: Guard, gate: Gate, proxy: Any) -> None:
    guard.relit(proxy)
    assert gate.evidence.findings == []


@pytest.mark.parametrize(
    ("fault", "seen"),
    [
        ({"status": 404, "headers": ()}, "404"),
        ({"headers": (("x-edgegate-origin", "somebody-else"),)}, "200 from somebody-else"),
        ({"certificate": certificate_of("another")}, "200 from b-1"),
        ({"status": None, "error": "reset", "headers": ()}, "no answer, reset"),
    ],
)
def test_a_neighbour_that_stays_dark_is_a_finding_each_way(
    guard: Guard, gate: Gate, proxy: Any, b: FakeTenant, fault: dict[str, Any], seen: str
) -> None:
    b.answers = lambda method, tls, host: (
        b.right(method, tls, **fault) if tls and not b.changes else b.right(method, tls)
    )
    guard.relit(proxy)
    (finding,) = gate.evidence.findings
    assert finding.subject == "b https"
    assert finding.expected == "200, its own origin and certificate, within 300 ms"
    assert seen in finding.seen


def test_a_neighbour_that_flickers_is_a_finding_though_its_last_answer_was_right(
    guard: Guard, gate: Gate, proxy: Any, b: FakeTenant
) -> None:
    """It never answered ten times in a row."""
    asked: list[str] = []

    def answers(method: str, tls: bool, host: str) -> Answer:
        asked.append(method)
        return b.right(method, tls) if b.changes or len(asked) % 5 else b.right(method, tls, status=503)

    b.answers = answers
    guard.relit(proxy)
    (finding,) = gate.evidence.findings
    assert (finding.source, finding.subject.split()[0]) == (Source.TRAFFIC, "b")
    assert "503 from b-1" in finding.seen


def test_what_counts_as_served(a: FakeTenant) -> None:
    assert served(a, a.right())
    assert served(a, a.right(tls=True))
    assert not served(a, a.right(status=302))
    assert not served(a, a.right(tls=True, certificate=certificate_of("another")))
