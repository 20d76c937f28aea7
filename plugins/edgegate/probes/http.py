"""Requests by address, with the host name and server name that the caller chooses.

Neither the system's resolver, proxy settings, cookie jars nor trust store have a say: what a probe sees depends on
its arguments and on the server alone.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Self

import httpx

from edgegate.clock import MONOTONIC, Clock
from edgegate.probes.wire import Ask, Wire
from edgegate.records import Answer

MAX_HOPS = 10
"""Redirects that `follow` takes before it returns what it has."""
REDIRECTS = (301, 302, 303, 307, 308)


class HttpProbe:
    """Asks one server, as one host name.

    Every request opens a connection of its own, because only a new connection shows a listener that went away;
    with `keep_alive` connections are kept and used again.
    """

    def __init__(
        self,
        address: str,
        host: str,
        *,
        port: int | None = None,
        tls: bool = False,
        sni: str | None = None,
        ca: Path | str | None = None,
        timeout: float = 5.0,
        keep_alive: bool = False,
        clock: Clock = MONOTONIC,
    ) -> None:
        """Prepare a probe; nothing is opened yet.

        Args:
            address: IPv4 or IPv6 address that is connected to.
            host: value of the Host header; a port that is not the usual one is added.
            port: 443 with TLS and 80 without, unless given.
            tls: speak TLS.
            sni: server name of the handshake, the host unless given; an empty text sends none.
            ca: PEM file of the authorities to judge the certificate by; without it nothing is judged.
            timeout: seconds for connecting, for the handshake, for each wait for more of the answer, and in all.
            keep_alive: keep connections between requests.
            clock: what `at` and `took` are read from.

        Raises:
            OSError: `ca` cannot be read.
        """
        usual = 443 if tls else 80
        at = "" if port in (None, usual) else f":{port}"
        self.root = httpx.URL(f"{'https' if tls else 'http'}://{host}{at}/")
        self.address, self.host, self.port = address, host, port or usual
        self._sni = host if sni is None else sni
        self._wire = Wire(ca=ca, timeout=timeout, keep_alive=keep_alive, clock=clock)

    def __enter__(self) -> Self:
        """Return the probe itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close what was kept open."""
        self.close()

    def close(self) -> None:
        """Close the connections that were kept; the probe can be used again."""
        self._wire.close()

    def get(
        self,
        path: str = "/",
        *,
        headers: Mapping[str, str] | None = None,
        cookies: Mapping[str, str] | None = None,
        follow: bool = False,
    ) -> Answer:
        """Return the answer to a GET request, see `request`."""
        return self.request("GET", path, headers=headers, cookies=cookies, follow=follow)

    def request(
        self,
        method: str,
        path: str = "/",
        *,
        headers: Mapping[str, str] | None = None,
        cookies: Mapping[str, str] | None = None,
        content: bytes = b"",
        follow: bool = False,
    ) -> Answer:
        """Return what came of one request. Never raises for what a server does or fails to do.

        Raises:
            ValueError: the path is not ASCII.

        Args:
            method: any method.
            path: path and query, sent as they are.
            headers: sent beside Host, User-Agent and Accept; lower-case names, which replace those.
            cookies: names and values, sent as one Cookie header.
            content: the body.
            follow: take redirects, by GET, as long as they stay with this scheme, host and port.
        """
        sent = dict(headers or {})
        if cookies:
            sent["cookie"] = "; ".join(f"{name}={value}" for name, value in cookies.items())
        url = self.root.copy_with(raw_path=path.encode("ascii"))
        ask = Ask(method=method, url=url, address=self.address, sni=self._sni, headers=sent, content=content)
        answer = self._wire.send(ask)
        while follow and len(answer.hops) < MAX_HOPS and (onward := self._onward(answer)):
            hop = replace(ask, method="GET", url=onward, content=b"")
            answer = replace(self._wire.send(hop), hops=(*answer.hops, str(onward)))
        return answer

    def _onward(self, answer: Answer) -> httpx.URL | None:
        """Return where a redirect leads, None when that is not this server."""
        if answer.status not in REDIRECTS or not answer.location:
            return None
        there = httpx.URL(answer.url).join(answer.location)
        same = (there.scheme, there.host, there.port) == (self.root.scheme, self.root.host, self.root.port)
        return there if same else None
