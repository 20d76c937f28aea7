"""The origin behind the firewall: it answers what the request asks it to answer.

Run as `python -m edgegate.corpus.origin SOCKET`. A request to `/reflect` gets the answer that its JSON body describes,
as the rule set's own test server does: `{"status": 200, "headers": {…}, "body": "…"}`, or `encodedBody` in base64. Any
other request gets 200 and `ok`. It trusts that a proxy has made the request well-formed.
"""

import asyncio
import base64
import json
import signal
import sys
from collections.abc import Mapping

_CHUNK = 64 * 1024
_WITHOUT_BODY = (204, 304)


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer the requests of one connection until it ends."""
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            method, path, *_ = head.split(" ", 2)
            body = await _body(reader, head)
            writer.write(answer(method, path, body))
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def _body(reader: asyncio.StreamReader, head: str) -> bytes:
    headers = {
        name.strip().lower(): value.strip()
        for name, _, value in (line.partition(":") for line in head.splitlines()[1:])
    }
    if "chunked" not in headers.get("transfer-encoding", ""):
        return await reader.readexactly(int(headers.get("content-length") or 0))
    parts = []
    while size := int((await reader.readline()).split(b";")[0], 16):
        parts.append(await reader.readexactly(size))
        await reader.readexactly(2)
    while (await reader.readline()).strip():
        pass
    return b"".join(parts)


def answer(method: str, path: str, body: bytes) -> bytes:
    """Return the whole answer to a request."""
    status, content = 200, b"ok\n"
    headers: Mapping[str, str] = {"content-type": "text/plain"}
    if path.partition("?")[0].rstrip("/") == "/reflect":
        status, headers, content = _reflected(body)
    if status in _WITHOUT_BODY:
        content = b""
    else:
        headers = {**headers, "content-length": str(len(content))}
    lines = [f"HTTP/1.1 {status} Reflected", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join(lines).encode("utf-8", "surrogateescape") + b"\r\n\r\n" + (b"" if method == "HEAD" else content)


def _reflected(body: bytes) -> tuple[int, Mapping[str, str], bytes]:
    try:
        wanted = json.loads(body)
        headers = {str(name).lower(): str(value) for name, value in (wanted.get("headers") or {}).items()}
        headers = {
            name: value for name, value in headers.items() if name not in ("content-length", "transfer-encoding")
        }
        content = base64.b64decode(wanted["encodedBody"]) if wanted.get("encodedBody") else _text(wanted.get("body"))
        return int(wanted.get("status") or 200), {"content-type": "text/plain", **headers}, content
    except (ValueError, AttributeError, TypeError) as error:
        return 400, {"content-type": "text/plain"}, f"not a description of an answer: {error}\n".encode()


def _text(body: object) -> bytes:
    return b"" if body is None else str(body).encode("utf-8", "surrogateescape")


async def main(path: str) -> None:
    """Serve on a Unix socket until SIGTERM."""
    server = await asyncio.start_unix_server(_serve, path, limit=1024 * 1024)
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    async with server:
        await stop.wait()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
