"""A browser, as far as a login needs one: cookies, redirects across hosts, a form; names go where we say."""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx


@dataclass(frozen=True)
class Page:
    """What the browser shows after a step."""

    url: str
    """Its address."""
    status: int
    """Status of the answer."""
    location: str
    """Where the answer redirects to; empty when it does not."""
    headers: Mapping[str, str]
    """Headers of the answer, names in lower case."""
    text: str
    """Content."""

    @property
    def host(self) -> str:
        """The host of its address."""
        return httpx.URL(self.url).host


class Browser:
    """Keeps cookies like a browser; resolves names by its own table, never by the system's DNS."""

    def __init__(self, addresses: Mapping[str, tuple[str, int]], *, ca: Path | str | None = None) -> None:
        """Prepare a browser without cookies.

        Args:
            addresses: host name to address and port.
            ca: PEM file of the authorities that HTTPS hosts must be vouched for by; none means unchecked.
        """
        context = ssl.create_default_context(cafile=str(ca) if ca else None)
        if ca is None:
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        transport = _ByTable(addresses, httpx.HTTPTransport(verify=context))
        self._client = httpx.Client(transport=transport, trust_env=False, timeout=10)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._client.close()

    @property
    def cookies(self) -> list[str]:
        """Names of the cookies it keeps."""
        return sorted(cookie.name for cookie in self._client.cookies.jar)

    def get(self, url: str) -> Page:
        """Open an address; a redirect is returned, not followed.

        Raises:
            httpx.HTTPError: there was no answer.
        """
        return _page(self._client.get(url))

    def submit(self, url: str, form: Mapping[str, str]) -> Page:
        """Send a form to an address."""
        return _page(self._client.post(url, data=dict(form)))

    def follow(self, page: Page) -> Page:
        """Open what a page redirects to."""
        return self.get(str(httpx.URL(page.url).join(page.location)))


class _ByTable(httpx.BaseTransport):
    """Sends each request to the address that the table has for its host."""

    def __init__(self, addresses: Mapping[str, tuple[str, int]], inner: httpx.BaseTransport) -> None:
        self._addresses, self._inner = dict(addresses), inner

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        host = request.url.host
        if host not in self._addresses:
            raise httpx.ConnectError(f"no address is known for {host}; known: {', '.join(sorted(self._addresses))}")
        address, port = self._addresses[host]
        moved = httpx.Request(
            request.method,
            request.url.copy_with(host=address, port=port),
            headers=request.headers,
            stream=request.stream,
            extensions={**request.extensions, "sni_hostname": host},
        )
        return self._inner.handle_request(moved)

    def close(self) -> None:
        self._inner.close()


def _page(answer: httpx.Response) -> Page:
    return Page(
        url=str(answer.request.url),
        status=answer.status_code,
        location=answer.headers.get("location", ""),
        headers=dict(answer.headers),
        text=answer.text,
    )
