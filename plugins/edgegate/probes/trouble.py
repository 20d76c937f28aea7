"""One vocabulary for why a request got no answer, shared by every probe."""

import ssl
from collections.abc import Iterator
from typing import TypeVar

E = TypeVar("E", bound=BaseException)

REFUSED = "refused"
RESET = "reset"
CLOSED = "closed"
TIMEOUT = "timeout"

_KINDS: tuple[tuple[type[BaseException], str], ...] = (
    (ConnectionRefusedError, REFUSED),
    (ConnectionResetError, RESET),
    (ConnectionAbortedError, RESET),
    (BrokenPipeError, RESET),
    (TimeoutError, TIMEOUT),
)


def name_of(trouble: BaseException) -> str:
    """Return the word for what went wrong, from the first cause that has one.

    `refused`, `reset`, `closed` (ended without an answer), `timeout`, `tls: …` (the library's reason),
    `unreachable: …` (the system's reason) or `protocol: …` (what was sent is not HTTP).
    """
    for cause in _causes(trouble):
        if isinstance(cause, ssl.SSLError):
            return _tls(cause)
        for kind, word in _KINDS:
            if isinstance(cause, kind):
                return word
        if isinstance(cause, OSError):
            return f"unreachable: {cause.strerror or cause}"
    text = str(trouble)
    return CLOSED if "without sending" in text else f"protocol: {text}"


def cause_of(trouble: BaseException, kind: type[E]) -> E | None:
    """Return the first cause of that kind, None when there is none."""
    return next((cause for cause in _causes(trouble) if isinstance(cause, kind)), None)


def _tls(trouble: ssl.SSLError) -> str:
    if isinstance(trouble, ssl.SSLEOFError | ssl.SSLZeroReturnError):
        return "tls: closed in the handshake"
    if isinstance(trouble, ssl.SSLCertVerificationError):
        return f"tls: {trouble.verify_message}"
    reason: str = getattr(trouble, "reason", None) or str(trouble.args[-1])
    return f"tls: {reason.lower().replace('_', ' ')}"


def _causes(trouble: BaseException) -> Iterator[BaseException]:
    """Outermost first: libraries wrap the system's error once or twice."""
    cause: BaseException | None = trouble
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__
