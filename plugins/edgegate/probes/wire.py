"""One HTTP/1.1 request to an address, under a name that has nothing to do with it."""

import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import httpx

from edgegate.clock import MONOTONIC, Clock
from edgegate.probes import tls, trouble
from edgegate.probes.target import AGENT
from edgegate.records import Answer, Certificate


@dataclass(frozen=True)
class Ask:
    """A request that is ready to be sent."""

    method: str
    """Any method."""
    url: httpx.URL
    """The URL as a user would type it, with the host name."""
    address: str
    """IPv4 or IPv6 address that it is sent to; the port is the URL's."""
    sni: str
    """Server name for the handshake; empty sends none."""
    headers: Mapping[str, str]
    """Headers beside Host."""
    content: bytes = b""
    """The body."""

    @property
    def port(self) -> int:
        """The URL's port, or the usual one of its scheme."""
        return self.url.port or (443 if self.url.scheme == "https" else 80)

    @property
    def to(self) -> str:
        """Address and port as text."""
        return f"[{self.address}]:{self.port}" if ":" in self.address else f"{self.address}:{self.port}"


class Wire:
    """Sends requests and never raises for what comes back."""

    def __init__(
        self, *, ca: Path | str | None, timeout: float, keep_alive: bool = False, clock: Clock = MONOTONIC
    ) -> None:
        """Prepare; nothing is opened. Arguments as in `HttpProbe`. Raises OSError when `ca` cannot be read."""
        self._lenient = tls.any_certificate()
        self._strict = tls.trusting(ca) if ca is not None else None
        self._timeout, self._keep_alive, self._clock = timeout, keep_alive, clock
        self._kept: dict[ssl.SSLContext, httpx.HTTPTransport] = {}

    def __enter__(self) -> Self:
        """Return the wire itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close what was kept open."""
        self.close()

    def close(self) -> None:
        """Close kept connections; the wire can be used again."""
        while self._kept:
            self._kept.popitem()[1].close()

    def send(self, ask: Ask) -> Answer:
        """Return what came of a request.

        With an authority given it is asked as a strict client would; when that client refuses the certificate, it
        is asked a second time as one that takes any, so that the wrong certificate and what is behind it are seen.
        """
        if self._strict is None or ask.url.scheme != "https":
            return self._send(ask, self._lenient)
        try:
            answer = self._send(ask, self._strict)
        except ssl.SSLCertVerificationError as refused:
            answer = self._send(ask, self._lenient)
            return replace(answer, trusted=False, distrust=refused.verify_message)
        return replace(answer, trusted=True if answer.certificate else None)

    def _send(self, ask: Ask, context: ssl.SSLContext) -> Answer:
        start = self._clock.now()
        seen: dict[str, Any] = {}
        try:
            self._exchange(ask, context, seen, until=start + self._timeout)
        except (httpx.TransportError, httpx.DecodingError, TimeoutError) as failed:
            refused = trouble.cause_of(failed, ssl.SSLCertVerificationError)
            if refused is not None:
                raise refused from failed
            seen["error"] = trouble.name_of(failed)
        took = self._clock.now() - start
        return Answer(method=ask.method, url=str(ask.url), address=ask.to, at=start, took=took, **seen)

    def _exchange(self, ask: Ask, context: ssl.SSLContext, seen: dict[str, Any], *, until: float) -> None:
        """Fill in what is seen as it is seen, so that a cut in the middle leaves the first half."""
        with self._transport(context) as transport:
            response = transport.handle_request(self._request(ask))
            try:
                seen["status"] = response.status_code
                seen["headers"] = tuple((name.lower(), value) for name, value in response.headers.multi_items())
                seen["certificate"] = _served(response)
                seen["body"] = self._read(response, until)
            finally:
                response.close()

    def _request(self, ask: Ask) -> httpx.Request:
        host = ask.url.netloc.decode("ascii")
        connection = {} if self._keep_alive else {"connection": "close"}
        return httpx.Request(
            ask.method,
            ask.url.copy_with(host=ask.address),
            headers={"host": host, "user-agent": AGENT, "accept": "*/*", **connection, **ask.headers},
            content=ask.content or None,
            extensions={
                # An address as server name is not sent: that is how "no SNI" is asked for.
                "sni_hostname": ask.sni or ask.address,
                "timeout": dict.fromkeys(("connect", "read", "write", "pool"), self._timeout),
            },
        )

    @contextmanager
    def _transport(self, context: ssl.SSLContext) -> Iterator[httpx.HTTPTransport]:
        transport = self._kept.get(context) or httpx.HTTPTransport(verify=context, trust_env=False)
        if self._keep_alive:
            self._kept[context] = transport
        try:
            yield transport
        finally:
            if not self._keep_alive:
                transport.close()

    def _read(self, response: httpx.Response, until: float) -> bytes:
        pieces = []
        for piece in response.iter_bytes():
            pieces.append(piece)
            if self._clock.now() > until:
                raise TimeoutError
        return b"".join(pieces)


def _served(response: httpx.Response) -> Certificate | None:
    stream = response.extensions.get("network_stream")
    session = stream.get_extra_info("ssl_object") if stream is not None else None
    return tls.read_certificate(session.getpeercert(True)) if session is not None else None
