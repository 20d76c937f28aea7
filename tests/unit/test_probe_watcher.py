"""The watcher sees each kind of fault on real connections, and keeps its schedule on a clock that tests set."""

import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from edgegate.clock import wait_until
from edgegate.errors import EnvironmentFault, WatchBroken
from edgegate.probes import look as looks
from edgegate.probes.http import HttpProbe
from edgegate.probes.target import INTERVAL, INTERVAL_OF_ANSWERS, Depth, Target, both
from edgegate.probes.watcher import Schedule, Watcher
from edgegate.traffic import TargetReport, WatchReport
from servers import Authority, Script, Serve, reply, reset

A = Target("a", "127.0.0.1", "a.example", marker="a")


def _watch(*targets: Target, enough: int = 3, timeout: float = 1.0) -> WatchReport:
    """Watch until every target has been looked at that often."""
    watcher = Watcher(targets, timeout=timeout).start()
    try:
        wait_until(
            "looks", lambda: all(each.looks >= enough for each in watcher.report().targets), deadline=5.0, every=0.01
        )
    finally:
        report = watcher.stop()
    return report


def _seen(target: Target, *, timeout: float = 1.0) -> TargetReport:
    (report,) = _watch(target, timeout=timeout).targets
    return report


def _faults(target: Target, *, timeout: float = 1.0) -> set[str]:
    return {wrong.what for wrong in _seen(target, timeout=timeout).wrong}


@pytest.fixture
def plain(serve: Serve) -> Target:
    """Return a target that is right."""
    return replace(A, port=serve("a").server_port)


@pytest.fixture
def secure(serve: Serve, authority: Authority) -> Target:
    """Return a target with TLS that is right."""
    return replace(A, port=serve("a", cert=authority.issue("a.example")).server_port, tls=True)


def test_right_answers(plain: Target, secure: Target) -> None:
    """HTTP, HTTPS and handshakes, by one thread at the same time."""
    report = _watch(plain, *both(replace(secure, name="s")))

    assert report.ok, report.describe()
    assert [target.name for target in report.targets] == ["a", "s (handshake)", "s"]
    assert all(target.latency.most > 0 for target in report.targets)
    assert 0 < report.cpu < 1
    assert report.scheduling in ("real time", "nice -10", "normal")


def test_ipv6(serve: Serve) -> None:
    assert _seen(replace(A, address="::1", port=serve("a", address="::1").server_port)).ok


def test_wrong_status(plain: Target) -> None:
    assert _faults(replace(plain, path="/status/503")) == {"status 503"}
    assert not _faults(replace(plain, path="/status/503", status=503))


def test_wrong_origin(plain: Target) -> None:
    assert _faults(replace(plain, marker="b")) == {"answered by a"}


def test_no_origin(scripted: Callable[[Script], int]) -> None:
    port = scripted(reply(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"))

    assert _faults(replace(A, port=port)) == {"answered by no origin server"}


def test_head(plain: Target) -> None:
    assert _seen(replace(plain, method="HEAD")).ok


def test_answer_in_pieces(plain: Target) -> None:
    assert _seen(replace(plain, path="/bytes/300000")).ok


def test_tls_answer_in_pieces(secure: Target) -> None:
    assert _seen(replace(secure, path="/bytes/300000")).ok


@pytest.mark.parametrize("depth", Depth)
def test_certificate_of_somebody_else(serve: Serve, authority: Authority, depth: Depth) -> None:
    port = serve("a", cert=authority.issue("b.example")).server_port

    (fault,) = _faults(replace(A, port=port, tls=True, depth=depth))

    assert fault.startswith("wrong certificate for b.example from CN=edgegate test authority (")


@pytest.mark.parametrize("depth", Depth)
def test_certificate_by_fingerprint(serve: Serve, authority: Authority, depth: Depth) -> None:
    """Another certificate for the same name is told from the right one."""
    right, other = (serve("a", cert=authority.issue("a.example")).server_port for _ in range(2))
    served = HttpProbe("127.0.0.1", "a.example", port=right, tls=True).get().certificate
    assert served is not None
    target = replace(A, tls=True, depth=depth, fingerprint=served.sha256)

    assert _seen(replace(target, port=right)).ok
    (fault,) = _faults(replace(target, port=other))
    assert fault.startswith("wrong certificate for a.example")


def test_refused() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

    assert _faults(replace(A, port=port)) == {"refused"}


@pytest.mark.parametrize(
    ("script", "depth", "fault"),
    [
        pytest.param(reset, None, "reset", id="reset"),
        pytest.param(reset, Depth.ANSWER, "reset", id="dark, answer"),
        pytest.param(reset, Depth.CERTIFICATE, "reset", id="dark, certificate"),
        pytest.param(reply(b""), None, "closed", id="hung up"),
        pytest.param(reply(b""), Depth.ANSWER, "tls: closed in the handshake", id="hung up, answer"),
        pytest.param(reply(b""), Depth.CERTIFICATE, "tls: closed in the handshake", id="hung up, certificate"),
        pytest.param(
            reply(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf"), None, "closed after status 200", id="cut"
        ),
        pytest.param(reply(b"SSH-2.0-x\r\n"), None, "protocol: b'SSH-2.0-x\\r\\n' is no HTTP/1.1 answer", id="no HTTP"),
        pytest.param(reply(b"HTTP/1.1 400 No\r\n\r\n"), Depth.ANSWER, "tls: wrong version number", id="no TLS, answer"),
        pytest.param(
            reply(b"HTTP/1.1 400 No\r\n\r\n"), Depth.CERTIFICATE, "tls: wrong version number", id="no TLS, certificate"
        ),
    ],
)
def test_broken_answers(scripted: Callable[[Script], int], script: Script, depth: Depth | None, fault: str) -> None:
    target = replace(A, port=scripted(script), tls=depth is not None, depth=depth or Depth.ANSWER)

    assert _faults(target) == {fault}


def test_server_that_does_not_answer_delays_nobody(plain: Target) -> None:
    """It is still looked at on time itself, and what it does not answer is a timeout."""
    with socket.create_server(("127.0.0.1", 0), backlog=1000) as silent:
        report = _watch(plain, replace(plain, name="silent", port=silent.getsockname()[1]), enough=8, timeout=0.1)

    good, late = report.targets
    assert good.ok
    assert {wrong.what for wrong in late.wrong} == {"timeout"}
    assert all(wrong.took >= 0.1 for wrong in late.wrong)
    assert late.looks == len(late.wrong)


def test_late_answer_is_right_within_the_time_limit(plain: Target) -> None:
    found = _seen(replace(plain, path="/delay/50"))

    assert found.ok
    assert found.latency.most >= 0.05


def test_outage_and_recovery_are_seen(authority: Authority, serve: Serve) -> None:
    """The port is closed and opened again while the watch goes on."""
    server = serve("a")
    target = replace(A, port=server.server_port)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        watcher = Watcher([target, replace(target, name="b", port=silent.getsockname()[1])]).start()
        wait_until("refusals", lambda: watcher.report().outages, deadline=5.0, every=0.01)
        silent.listen(100)
        thread = threading.Thread(target=_answer_all, args=(silent,))
        thread.start()
        wait_until("recovery", lambda: watcher.report().outages[0].end, deadline=5.0, every=0.01)
        report = watcher.stop()
        silent.shutdown(socket.SHUT_RDWR)
        thread.join()

    (outage,) = report.outages
    assert (outage.target, outage.faults[0][0]) == ("b", "refused")
    assert outage.end is not None
    assert outage.last_wrong < outage.end


def _answer_all(listener: socket.socket) -> None:
    answer = reply(b"HTTP/1.1 200 OK\r\nx-edgegate-origin: a\r\ncontent-length: 0\r\n\r\n")
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        with connection:
            answer(connection)


def test_machine_without_sockets_is_no_fault_of_the_target(plain: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    """The watch breaks instead of calling a neighbour dark."""

    def none_left(*_: object) -> None:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr("edgegate.probes.look.socket.socket", none_left)
    watcher = Watcher([plain]).start()

    with pytest.raises(WatchBroken) as raised:
        wait_until("never", lambda: watcher.report().targets[0].looks, deadline=5.0, every=0.01)
    assert isinstance(raised.value, EnvironmentFault)
    assert str(raised.value) == (
        "the watch of the neighbours could not go on: [Errno 24] Too many open files. What it saw until then proves "
        "nothing. Free what is short (`edgegate doctor` shows it) and run again."
    )


def test_connection_without_free_port_is_no_fault_of_the_target(plain: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looks, "OUR_OWN_TROUBLE", (111,))  # connection refused, which is easy to have

    with pytest.raises(WatchBroken, match="Connection refused"):
        _watch(replace(plain, port=1))


@pytest.mark.parametrize("targets", [[], [A, A]])
def test_targets_need_names_of_their_own(targets: list[Target]) -> None:
    with pytest.raises(ValueError, match="a watch needs targets with names of their own"):
        Watcher(targets)


def test_request_of_a_target() -> None:
    assert (
        replace(A, port=8080, path="/x", method="HEAD")
        .request()
        .startswith(b"HEAD /x HTTP/1.1\r\nhost: a.example:8080\r\n")
    )
    assert b"\r\nhost: a.example\r\n" in replace(A, tls=True).request()


def test_both_halves_of_a_target() -> None:
    """HTTPS is looked at closely by handshakes and less often by whole requests."""
    secure = replace(A, tls=True)

    handshake, whole = both(secure)

    assert (handshake.name, handshake.depth, handshake.every) == ("a (handshake)", Depth.CERTIFICATE, INTERVAL)
    assert (whole.name, whole.depth, whole.every) == ("a", Depth.ANSWER, INTERVAL_OF_ANSWERS)
    assert both(A) == (A,)


def _moments(schedule: Schedule, *, until: float, late: float = 0.0) -> Iterator[tuple[float, list[int]]]:
    """Yield when which targets were due, on a clock that is that late after each wait."""
    now = 0.0
    while now <= until:
        yield now, schedule.due(now)
        now += schedule.left(now) + late


def test_schedule_keeps_its_grid() -> None:
    """Being a little late each time does not add up."""
    moments = list(_moments(Schedule([0.018, 0.018], 0.0), until=0.2, late=0.001))

    assert all(due == [0, 1] for _, due in moments)
    assert len(moments) == 12
    assert moments[-1][0] == pytest.approx(11 * 0.018 + 0.001)


def test_schedule_does_not_make_up_for_what_was_missed() -> None:
    """After a pause each target is looked at once."""
    schedule = Schedule([0.018], 0.0)
    schedule.due(0.0)

    assert schedule.due(1.0) == [0]
    assert schedule.due(1.0) == []
    assert 0 < schedule.left(1.0) <= 0.018


def test_schedule_of_targets_with_long_intervals_takes_turns() -> None:
    """So that the dear looks of several targets do not delay the cheap ones."""
    seldom = [due for _, due in _moments(Schedule([0.018, 0.072, 0.072, 0.072], 0.0), until=0.053)]

    assert seldom == [[0], [0, 1], [0, 2]]


def test_interval_leaves_room_for_a_late_timer() -> None:
    """20 ms are promised; the kernel and Python round waits up to a millisecond each."""
    assert INTERVAL + 0.002 <= 0.02
