"""The server's part of a TLS 1.2 handshake, read as far as the certificate, which that version sends in the clear."""

import ssl
from contextlib import suppress

from edgegate.probes import tls

MOST_BYTES = 256 * 1024
"""Of a handshake message; a chain of certificates is a few thousand."""

_ALERT, _HANDSHAKE = 21, 22
_CERTIFICATE = 11
_ALERTS = {
    40: "handshake failure",
    42: "bad certificate",
    70: "protocol version",
    71: "insufficient security",
    80: "internal error",
    112: "unrecognized name",
}
"""Those that a server may send before its certificate (RFC 5246 section 7.2, RFC 6066 section 3)."""


class NotTls(ValueError):
    """The server refused the handshake, or what came is none; the text says which."""


def client_hello(server_name: str) -> bytes:
    """Return the first message of a TLS 1.2 client; it may be sent any number of times if no key is agreed on."""
    context = tls.any_certificate()
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    with suppress(ssl.SSLWantReadError):  # the answer to it, which will not come from here
        context.wrap_bio(incoming, outgoing, server_hostname=server_name).do_handshake()
    return outgoing.read()


class Handshake:
    """The server's answer to `client_hello`, as far as it has come."""

    __slots__ = ("_messages", "_records")

    def __init__(self) -> None:
        """Wait for the answer."""
        self._records = b""
        self._messages = b""

    def feed(self, piece: bytes) -> bytes | None:
        """Take what came; return the server's own certificate (DER) as soon as it is there. Raises NotTls."""
        self._records += piece
        while len(self._records) >= 5:
            kind, length = self._records[0], int.from_bytes(self._records[3:5])
            if kind not in (_ALERT, _HANDSHAKE) or self._records[1] != 3:
                raise NotTls("wrong version number")  # the words of OpenSSL for a server that speaks no TLS
            if len(self._records) < 5 + length:
                return None
            content, self._records = self._records[5 : 5 + length], self._records[5 + length :]
            if kind == _ALERT:
                raise NotTls(_ALERTS.get(content[-1], f"alert {content[-1]}") if content else "empty alert")
            self._messages += content
            certificate = self._certificate()
            if certificate is not None:
                return certificate
        return None

    def _certificate(self) -> bytes | None:
        while len(self._messages) >= 4:
            kind, length = self._messages[0], int.from_bytes(self._messages[1:4])
            if length > MOST_BYTES:
                raise NotTls("a handshake message without end")
            if len(self._messages) < 4 + length:
                return None
            message, self._messages = self._messages[4 : 4 + length], self._messages[4 + length :]
            if kind == _CERTIFICATE:
                # Three bytes for the length of the chain, three for that of its first certificate.
                return message[6 : 6 + int.from_bytes(message[3:6])]
        return None
