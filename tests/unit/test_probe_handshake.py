"""The certificate is read from the server's part of a TLS 1.2 handshake, in any pieces, or the refusal is."""

import ssl
from contextlib import suppress

import pytest

from edgegate.probes.handshake import Handshake, NotTls, client_hello
from edgegate.probes.tls import read_certificate
from servers import Authority


def _server(authority: Authority, *, version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_2) -> bytes:
    """Return what OpenSSL's server answers to our hello."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority.issue("a.example"))
    context.minimum_version = version
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    incoming.write(client_hello("a.example"))
    with suppress(ssl.SSLError):
        context.wrap_bio(incoming, outgoing, server_side=True).do_handshake()
    return outgoing.read()


@pytest.mark.parametrize("size", [1, 5, 100, 100_000])
def test_certificate_in_pieces_of_any_size(authority: Authority, size: int) -> None:
    handshake, answer = Handshake(), _server(authority)
    found = [handshake.feed(answer[start : start + size]) for start in range(0, len(answer), size)]

    (certificate,) = [each for each in found if each is not None][:1]
    assert read_certificate(certificate).names == ("a.example",)


def test_message_over_two_records(authority: Authority) -> None:
    """TLS may cut messages into records as it likes."""
    whole = _server(authority)
    hello = 5 + int.from_bytes(whole[3:5])
    rest = whole[hello + 5 : hello + 5 + int.from_bytes(whole[hello + 3 : hello + 5])]
    records = [b"\x16\x03\x03" + len(part).to_bytes(2) + part for part in (rest[:50], rest[50:])]

    certificate = Handshake().feed(whole[:hello] + b"".join(records))

    assert certificate is not None
    assert read_certificate(certificate).names == ("a.example",)


def test_server_that_wants_a_newer_version_is_understood(authority: Authority) -> None:
    answer = _server(authority, version=ssl.TLSVersion.TLSv1_3)

    with pytest.raises(NotTls, match="protocol version"):
        Handshake().feed(answer)


@pytest.mark.parametrize(
    ("sent", "text"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n", "wrong version number"),
        (b"\x15\x03\x03\x00\x02\x02\x70", "unrecognized name"),
        (b"\x15\x03\x03\x00\x02\x02\x63", "alert 99"),
        (b"\x15\x03\x03\x00\x00", "empty alert"),
        (b"\x16\x03\x03\x00\x04\x0b\xff\xff\xff", "a handshake message without end"),
    ],
)
def test_something_else_is_refused(sent: bytes, text: str) -> None:
    with pytest.raises(NotTls, match=text):
        Handshake().feed(sent)
