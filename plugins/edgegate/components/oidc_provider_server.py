"""A real OpenID Connect provider for the lab, with clients that must be registered and a switch to break it.

`python -m edgegate.components.oidc_provider_server --listen ADDRESS:PORT --cert PEM --key PEM`. The provider itself is
`oidc-provider-mock`; only the switch is ours: `PUT /-/mode` with the body `ok`, `error` (every answer is 503) or
`silent` (answers nothing for 60 s, as a provider behind a dead firewall). `GET /-/mode` tells the present one.
"""

import argparse
import threading
from collections.abc import Iterable
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

MODES = ("ok", "error", "silent")
MODE_PATH = "/-/mode"
_SILENCE = 60.0


class Switched:
    """Passes requests on to the provider, or breaks them as the mode says."""

    def __init__(self, provider: WSGIApplication) -> None:
        self._provider = provider
        self._mode = "ok"
        self._changed = threading.Event()

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer one request."""
        if environ["PATH_INFO"] == MODE_PATH:
            return self._switch(environ, start_response)
        if self._mode == "silent":
            self._changed.wait(_SILENCE)
        if self._mode == "error":
            return _say(start_response, "503 Service Unavailable", "switched to error")
        return self._provider(environ, start_response)

    def _switch(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if environ["REQUEST_METHOD"] == "PUT":
            asked = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0)).decode()
            if asked not in MODES:
                return _say(start_response, "400 Bad Request", f"'{asked}' is none of {', '.join(MODES)}")
            self._mode = asked
            self._changed.set()
            self._changed = threading.Event()
        return _say(start_response, "200 OK", self._mode)


def _say(start_response: StartResponse, status: str, text: str) -> Iterable[bytes]:
    start_response(status, [("Content-Type", "text/plain")])
    return [text.encode()]


def application() -> Switched:
    """Return the provider as a WSGI application; a client must register before it can use it."""
    import oidc_provider_mock  # noqa: PLC0415 - slow, and the rest of this module is wanted without it

    provider: WSGIApplication = oidc_provider_mock.app(require_client_registration=True)
    return Switched(provider)


def main() -> None:
    """Serve until killed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--listen", required=True, metavar="ADDRESS:PORT")
    import werkzeug.serving  # noqa: PLC0415 - as above

    parser.add_argument("--cert", required=True, metavar="PEM", help="Certificate that is served")
    parser.add_argument("--key", required=True, metavar="PEM", help="Its private key")
    chosen = parser.parse_args()
    address, _, port = chosen.listen.rpartition(":")
    tls = (chosen.cert, chosen.key)
    werkzeug.serving.make_server(address, int(port), application(), threaded=True, ssl_context=tls).serve_forever()


if __name__ == "__main__":
    main()
