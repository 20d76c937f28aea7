"""The watcher's reader takes answers in any pieces, and knows when they are complete and when they are none."""

import pytest

from edgegate.probes.reader import NotHttp, Reader

CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n6;x=y\r\n world\r\n0\r\n\r\n"
ANSWERS = {
    "length": b"HTTP/1.1 200 OK\r\nX-Edgegate-Origin: a\r\nContent-Length: 5\r\n\r\nhello",
    "empty": b"HTTP/1.1 302 Found\r\nlocation: /\r\ncontent-length: 0\r\n\r\n",
    "no content": b"HTTP/1.1 204 No Content\r\n\r\n",
    "chunked": CHUNKED,
    "trailers": CHUNKED.removesuffix(b"\r\n") + b"x-sum: 1\r\n\r\n",
    "interim": b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok",
    "old": b"HTTP/1.0 503 Service Unavailable\r\ncontent-length: 2\r\n\r\nno",
    "no reason": b"HTTP/1.1 404 \r\ncontent-length: 0\r\n\r\n",
}


def test_marker_and_status() -> None:
    reader = Reader()

    assert reader.feed(ANSWERS["length"])
    assert (reader.status, reader.marker) == (200, "a")


def test_answer_without_marker() -> None:
    reader = Reader()
    reader.feed(ANSWERS["empty"])

    assert (reader.status, reader.marker) == (302, None)


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
@pytest.mark.parametrize("name", ANSWERS)
def test_pieces_of_any_size(name: str, size: int) -> None:
    """An answer is complete with its last byte, and not before."""
    reader, answer = Reader(), ANSWERS[name]
    pieces = [answer[start : start + size] for start in range(0, len(answer), size)]

    assert [reader.feed(piece) for piece in pieces] == [False] * (len(pieces) - 1) + [True]
    assert reader.complete


def test_answer_to_head_has_no_content() -> None:
    assert Reader(head_only=True).feed(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n")


def test_content_that_lasts_until_the_connection_ends() -> None:
    reader = Reader()

    assert not reader.feed(b"HTTP/1.1 200 OK\r\n\r\nas much as there is")
    assert reader.end()


@pytest.mark.parametrize("name", ["length", "chunked"])
def test_answer_that_is_cut_is_not_complete(name: str) -> None:
    reader = Reader()
    reader.feed(ANSWERS[name][:-1])

    assert not reader.end()
    assert reader.status == 200


def test_no_answer_is_not_complete() -> None:
    assert not Reader().end()


@pytest.mark.parametrize(
    ("sent", "text"),
    [
        (b"SSH-2.0-OpenSSH_9\r\n", "b'SSH-2.0-OpenSSH_9\\r\\n' is no HTTP/1.1 answer"),
        (b"\x15\x03\x01\x00\x02\x02\x46", "is no HTTP/1.1 answer"),
        (b"HTTP/1.1 OK\r\n\r\n", "b'HTTP/1.1 OK' is no status line"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: many\r\n\r\n", "content-length b'many' is no number"),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n", "b'xyz' is no size of a chunk"),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n-5\r\n", "b'-5' is no size of a chunk"),
    ],
)
def test_something_else_is_refused(sent: bytes, text: str) -> None:
    with pytest.raises(NotHttp) as raised:
        Reader().feed(sent)

    assert text in str(raised.value)


def test_headers_without_end_are_refused() -> None:
    reader = Reader()
    reader.feed(b"HTTP/1.1 200 OK\r\n")

    with pytest.raises(NotHttp, match="no end of the headers in 262144 bytes"):
        reader.feed(b"x" * 262144)
