"""The origin server, as the process that runs in the lab, says who it is and what reached it."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from edgegate.probes.http import HttpProbe
from edgegate.records import Answer
from servers import OriginProcess, origin_process


@pytest.fixture(scope="module")
def origin() -> Iterator[OriginProcess]:
    """Return a running origin server with the marker `tenant-a`."""
    with origin_process("tenant-a") as running:
        yield running


def _ask(origin: OriginProcess, path: str, method: str = "GET", content: bytes = b"") -> Answer:
    return HttpProbe("127.0.0.1", "a.example", port=origin.port).request(method, path, content=content)


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_answer_tells_what_reached_it(origin: OriginProcess, method: str) -> None:
    answer = _ask(origin, "/x/y?z=1", method, b"abc")

    assert (answer.status, answer.marker) == (200, "tenant-a")
    seen = answer.json()
    assert (seen["marker"], seen["method"], seen["path"], seen["bytes"]) == ("tenant-a", method, "/x/y?z=1", 3)
    assert seen["host"] == f"a.example:{origin.port}"
    assert seen["headers"]["user-agent"] == "edgegate-probe"


@pytest.mark.parametrize("status", [200, 204, 302, 304, 404, 503])
def test_status(origin: OriginProcess, status: int) -> None:
    answer = _ask(origin, f"/status/{status}")

    assert (answer.status, answer.marker, answer.error) == (status, "tenant-a", None)
    assert bool(answer.body) is (status not in (204, 304))


def test_delay(origin: OriginProcess) -> None:
    assert _ask(origin, "/delay/100").took >= 0.1


def test_slow_answers_do_not_delay_others(origin: OriginProcess) -> None:
    with ThreadPoolExecutor(4) as pool:
        slow = [pool.submit(_ask, origin, "/delay/500") for _ in range(4)]
        quick = _ask(origin, "/")

    assert quick.at + quick.took < min(each.result().at + each.result().took for each in slow)


def test_bytes(origin: OriginProcess) -> None:
    assert len(_ask(origin, "/bytes/1000000").body) == 1_000_000


def test_head(origin: OriginProcess) -> None:
    answer = _ask(origin, "/bytes/10", "HEAD")

    assert (answer.status, answer.header("content-length"), answer.body) == (200, "10", b"")


@pytest.mark.parametrize("path", ["/status/99", "/status/1000", "/status/x", "/delay/60001", "/bytes/67108865"])
def test_senseless_paths_are_refused(origin: OriginProcess, path: str) -> None:
    assert (_ask(origin, path).status, _ask(origin, path).marker) == (400, "tenant-a")


def test_other_paths_are_just_paths(origin: OriginProcess) -> None:
    assert _ask(origin, "/statuses/99").status == 200


def test_ipv6() -> None:
    with origin_process("six", listen="[::1]") as running:
        assert HttpProbe("::1", "a.example", port=running.port).get().marker == "six"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_ends_it_well(number: signal.Signals) -> None:
    with origin_process("short") as running:
        running.process.send_signal(number)

        assert running.process.wait(5) == 0


def test_a_host_may_have_a_status_of_its_own() -> None:
    with origin_process("old", "--answer", "gone.example=404", "--answer", "ill.example=503") as running:
        asked = {
            host: HttpProbe("127.0.0.1", host, port=running.port).get("/.well-known/acme-challenge/x").status
            for host in ("gone.example", "ill.example", "well.example")
        }
    assert asked == {"gone.example": 404, "ill.example": 503, "well.example": 200}


@pytest.mark.parametrize("answer", ["gone.example", "=404", "gone.example=soon", "gone.example=99"])
def test_a_status_that_is_none_is_refused(answer: str) -> None:
    words = [sys.executable, "-m", "edgegate.components.origin_server", "--listen", "127.0.0.1:0", "--marker", "a"]

    done = subprocess.run([*words, "--answer", answer], capture_output=True, text=True, check=False)

    assert done.returncode == 2
    assert f"'{answer}' is not HOST=STATUS, as in old.example=404" in done.stderr


@pytest.mark.parametrize("listen", ["8080", ":8080", "127.0.0.1:http"])
def test_wrong_address_is_refused(listen: str) -> None:
    words = [sys.executable, "-m", "edgegate.components.origin_server", "--listen", listen, "--marker", "a"]

    done = subprocess.run(words, capture_output=True, text=True, check=False)

    assert done.returncode == 2
    assert f"--listen '{listen}' is not ADDRESS:PORT, as in 0.0.0.0:8080 or [::]:8080" in done.stderr
