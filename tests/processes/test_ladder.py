"""The ladder's origin and client, without anything in between: each exchange is what was asked for."""

import gzip
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from edgegate import pins
from edgegate.artifacts import Store
from edgegate.clock import wait_until
from edgegate.probes.ladder import Body, Place, Reply, Rung, climb, differences
from edgegate.probes.rungs import MIB, transparency
from edgegate.resources import resource


@pytest.fixture(scope="module")
def program() -> Path:
    known = pins.load(resource("pins.toml"))
    return Store().ensure(known, "ladder", known.pin("ladder").default).binary("ladder")


@pytest.fixture(scope="module")
def origin(program: Path) -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    running = subprocess.Popen([program, "serve", "-listen", address], stderr=subprocess.DEVNULL)

    def answers() -> bool:
        try:
            return httpx.get(f"http://{address}/healthz", trust_env=False).is_success
        except httpx.TransportError:
            return False

    try:
        wait_until("origin", answers, deadline=10, every=0.02)
        yield address
    finally:
        running.kill()
        running.wait()


def test_every_rung_is_what_was_asked_for(program: Path, origin: str) -> None:
    """Nothing is in between, so nothing differs between two climbs, and each answer has its status and length."""
    rungs = [rung for rung in transparency() if not rung.path.startswith("/two")]
    place = Place(origin, "ladder.test")
    for rung, one, other in zip(rungs, climb(program, place, rungs), climb(program, place, rungs), strict=True):
        assert differences(rung, one, other) == [], rung.name
        assert one.messages == rung.messages, rung.name
        assert one.status == _status(rung), rung.name


def _status(rung: Rung) -> int:
    if rung.kind == "websocket":
        return 101
    if "If-None-Match" in rung.headers:
        return 304
    return 206 if "Range" in rung.headers else rung.answer.status


def test_the_origin_tells_what_it_received(program: Path, origin: str) -> None:
    """Method, bytes, declared length and trailers of a request in chunks."""
    body = Body(MIB, chunked=True, trailers={"X-End": "now"})
    (seen,) = climb(program, Place(origin, "ladder.test"), [Rung("post", method="POST", body=body)])

    assert seen.received.startswith(f"POST length={MIB} declared=-1 sha256=")
    assert seen.received.endswith(" trailer:x-end=now")


def test_a_text_stands_where_it_was_placed(program: Path, origin: str) -> None:
    """The client's digest of a compressed answer is that of its bytes on the wire."""
    plain = b"the quick brown fox jumps over a lazy dog"[:20]
    reply = Reply(Body(20, "text/plain", "gzip"))
    (seen,) = climb(program, Place(origin, "ladder.test"), [Rung("get", answer=reply)])

    assert seen.headers["content-encoding"] == "gzip"
    assert seen.length == seen.declared > len(gzip.compress(plain)) - 20


def test_an_exchange_that_cannot_be_is_told_not_raised(program: Path) -> None:
    """Nobody listens: the sight says so."""
    (seen,) = climb(program, Place("127.0.0.1:1", "ladder.test"), [Rung("get")])

    assert "refused" in seen.error
    assert (seen.status, seen.received) == (0, "")
