"""Write a request as the corpus has it, well-formed or not, and read what comes back."""

import re
import socket
import time
from dataclasses import dataclass
from pathlib import Path

from edgegate.corpus.cases import Request

CASE_HEADER = "x-edgegate-case"
"""By this header the firewall's verdicts are told apart; the rules do not see it."""
_STATUS = re.compile(rb"HTTP/\S+ (\d{3})")
_LENGTH = re.compile(rb"\r\ncontent-length: (\d+)\r\n", re.IGNORECASE)
_BODILESS = (b"204", b"304")


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int | None
    """None when no answer came."""
    seconds: float
    """From the connection to the end of the answer."""
    error: str = ""
    """Why none came, or not all of it."""


def encode(request: Request, key: str) -> bytes:
    """Return the bytes of a request; `key` goes with it as a header."""
    tag = f"{CASE_HEADER}: {key}\r\n".encode()
    if request.encoded is not None:
        first = request.encoded.find(b"\n") + 1
        return request.encoded[:first] + tag + request.encoded[first:]
    headers, data = _completed(request) if request.complete else (dict(request.headers), _bytes(request.data))
    line = f"{request.method} {request.uri} {request.version}"
    lines = b"".join(_bytes(f"{name}: {value}\r\n") for name, value in headers.items())
    return _bytes(line) + b"\r\n" + lines + tag + b"\r\n" + data


def _completed(request: Request) -> tuple[dict[str, str], bytes]:
    """Add what go-ftw adds: the corpus was written against that."""
    headers, data = dict(request.headers), _bytes(request.data)
    low = {name.lower(): name for name in headers}
    if "connection" not in low:
        headers["Connection"] = "close"
    if not data:
        return headers, data
    if "content-type" not in low:
        headers["Content-Type"] = "application/x-www-form-urlencoded"
    elif headers[low["content-type"]].lower().startswith("multipart/form-data"):
        data = data.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
        data += b"" if data.endswith(b"\r\n") else b"\r\n"
    if "content-length" not in low and "transfer-encoding" not in low:
        headers["Content-Length"] = str(len(data))
    return headers, data


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def exchange(door: Path, raw: bytes, within: float = 30.0) -> Answer:
    """Send bytes to a Unix socket and return the answer."""
    began, seen, error, head_only = time.monotonic(), b"", "", raw.startswith(b"HEAD ")
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(within)
        try:
            connection.connect(str(door))
            connection.sendall(raw)
            while not _complete(seen, head_only=head_only):
                part = connection.recv(65536)
                if not part:
                    break
                seen += part
        except OSError as broken:
            error = str(broken) or type(broken).__name__
    found = _STATUS.match(seen)
    return Answer(int(found[1]) if found else None, time.monotonic() - began, error)


def _complete(seen: bytes, *, head_only: bool) -> bool:
    """Say whether an answer is there as a whole; one without a length is read until its connection closes.

    One that has a length is not waited for any longer: Envoy closes a second after an error of its own. That to HEAD
    may announce chunks, and has none: to wait for them cost each run of the corpus 30 s.
    """
    head, blank, body = seen.partition(b"\r\n\r\n")
    if not blank:
        return False
    if head_only or head[9:12] in _BODILESS:
        return True
    length = _LENGTH.search(head + b"\r\n")
    if length:
        return len(body) >= int(length[1])
    return b"transfer-encoding: chunked" in head.lower() and body.endswith(b"0\r\n\r\n")
