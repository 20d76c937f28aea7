"""The rungs of the transparency ladder: sizes around every limit, and the shapes in which HTTP carries a body."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from edgegate.probes.ladder import Body, Reply, Rung

KIB, MIB = 1024, 1024 * 1024
SIZES = (0, 1, 32 * KIB - 1, 32 * KIB, 32 * KIB + 1, MIB - 1, MIB, MIB + 1, 5 * MIB)
"""Bytes; Envoy Gateway lets a connection hold 32 KiB, and Envoy gives a filter that wants all of a body 1 MiB of it."""
_FEW = (1, 32 * KIB + 1, MIB + 1)
FORM = "multipart/form-data"
EVENTS = Reply(events=3, interval=1200)
"""Three events in 2.4 s: whoever holds them back until the end is over 2 s."""


def transparency(*, limit: int | None = None, refusals: Sequence[int] = ()) -> list[Rung]:
    """Return every rung.

    Args:
        limit: bytes of a further limit that somebody on the way has; sizes around it are climbed too.
        refusals: statuses by which a request that is longer than that may be refused.
    """
    around = () if limit is None else (limit - 1, limit, limit + 1)
    sizes = sorted({*SIZES, *around})
    rungs = [
        *_streams(),  # first: events take 2.4 s, in which all others are climbed
        *(rung for version in (1, 2) for way in ("", "/two") for rung in _each(sizes, version, way)),
        *_shapes(),
    ]
    over = tuple(refusals)
    return [replace(rung, refusals=over) if limit is not None and _sent(rung) > limit else rung for rung in rungs]


def _each(sizes: Sequence[int], version: int, way: str) -> Iterator[Rung]:
    """Return answers and requests of every size, from a client of one version to an origin of one version."""
    path = f"HTTP/{version} to HTTP/{2 if way else 1}"
    for size in sizes:
        answer = Reply(Body(size, "text/html"))
        yield Rung(f"answer of {size} bytes, {path}", f"{way}/answer/a", version=version, answer=answer)
        yield _request(f"file of {size} bytes, {path}", f"{way}/answer/b", version, Body(size, FORM))
    for size in _FEW:
        for encoding in ("gzip", "br"):
            body = Body(size, "text/html", encoding)
            yield Rung(f"answer of {size} bytes as {encoding}, {path}", f"{way}/answer/c", version=version,
                       answer=Reply(body))  # fmt: skip
        chunked = Body(size, "text/html", chunked=True)
        yield Rung(f"answer of {size} bytes in chunks, {path}", f"{way}/answer/d", version=version,
                   answer=Reply(chunked))  # fmt: skip
        yield _request(f"file of {size} bytes in chunks, {path}", f"{way}/answer/e", version,
                       Body(size, FORM, chunked=True))  # fmt: skip
        other = Body(size, "application/octet-stream")
        yield Rung(f"answer of {size} bytes of no text, {path}", f"{way}/answer/f", version=version,
                   answer=Reply(other))  # fmt: skip


def _shapes() -> Iterator[Rung]:
    """Return answers without a body, parts of one, and headers around it."""
    page = Body(4 * KIB, "text/html")
    kept = Reply(page, cached=True, headers={"Cache-Control": "max-age=60", "Vary": "Accept-Encoding"})
    for version in (1, 2):
        at = f"HTTP/{version}"
        yield Rung(f"HEAD, {at}", "/answer/g", version=version, method="HEAD", answer=Reply(page))
        yield Rung(f"HEAD of 5 MiB, {at}", "/answer/g", version=version, method="HEAD",
                   answer=Reply(Body(5 * MIB, "text/html")))  # fmt: skip
        yield Rung(f"204, {at}", "/answer/h", version=version, answer=Reply(status=204))
        yield Rung(f"304, {at}", "/answer/i", version=version, headers={"If-None-Match": "*"}, answer=kept)
        yield Rung(f"200 with an ETag, {at}", "/answer/i", version=version, answer=kept)
        yield Rung(f"range, {at}", "/answer/i", version=version, headers={"Range": "bytes=1000-1999"}, answer=kept)
        yield Rung(f"redirect, {at}", "/answer/j", version=version,
                   answer=Reply(status=302, headers={"Location": "/elsewhere"}))  # fmt: skip
        yield Rung(f"cookie, {at}", "/answer/k", version=version,
                   answer=Reply(page, headers={"Set-Cookie": "cart=7; Path=/; HttpOnly"}))  # fmt: skip
        for status in (404, 500, 503):
            yield Rung(f"the origin's {status}, {at}", "/answer/l", version=version, answer=Reply(page, status=status))
        yield _request(f"JSON, {at}", "/answer/m", version, Body(600, "text/plain"))


def _streams() -> Iterator[Rung]:
    """Return what does not fit into one question and one answer: trailers, events, calls and sockets.

    Envoy drops the trailers of HTTP/1.1 unless it is told otherwise, so they are sent by HTTP/2 alone.
    """
    ended = Body(4 * KIB, "text/html", chunked=True, trailers={"X-Digest": "4096"})
    sent = Body(4 * KIB, FORM, chunked=True, trailers={"X-Sent": "all"})
    for version in (1, 2):
        yield Rung(f"events, HTTP/{version}", "/events/a", kind="events", version=version, answer=EVENTS)
    yield Rung("trailers of an answer, HTTP/2 to HTTP/2", "/two/answer/n", version=2, answer=Reply(ended))
    yield _request("trailers of a request, HTTP/2 to HTTP/2", "/two/answer/o", 2, sent)
    yield Rung("gRPC stream", "/edgegate.Ladder/Echo", kind="grpc", messages=("one", "two", "three"))
    yield Rung("WebSocket", "/echo/a", kind="websocket", messages=("one", "two", "three"))


def _request(name: str, path: str, version: int, body: Body) -> Rung:
    return Rung(name, path, version=version, method="POST", body=body, answer=Reply(Body(20, "text/plain")))


def _sent(rung: Rung) -> int:
    return rung.body.size if rung.body else 0
