"""One word for each way in which there can be no answer, whoever reports it."""

import errno
import ssl

import pytest

from edgegate.probes.trouble import cause_of, name_of


def _verification() -> ssl.SSLCertVerificationError:
    error = ssl.SSLCertVerificationError(1, "certificate verify failed")
    error.verify_message = "certificate has expired"
    return error


@pytest.mark.parametrize(
    ("error", "name"),
    [
        (ConnectionRefusedError(), "refused"),
        (ConnectionResetError(), "reset"),
        (BrokenPipeError(), "reset"),
        (ConnectionAbortedError(), "reset"),
        (TimeoutError(), "timeout"),
        (OSError(errno.EHOSTUNREACH, "No route to host"), "unreachable: No route to host"),
        (ssl.SSLEOFError(8, "EOF occurred"), "tls: closed in the handshake"),
        (ssl.SSLZeroReturnError(6, "closed"), "tls: closed in the handshake"),
        (ssl.SSLError(1, "no words"), "tls: no words"),
        (_verification(), "tls: certificate has expired"),
        (RuntimeError("Server disconnected without sending a response."), "closed"),
        (RuntimeError("illegal status line"), "protocol: illegal status line"),
    ],
)
def test_names(error: Exception, name: str) -> None:
    assert name_of(error) == name


def test_cause_is_found_below_what_libraries_make_of_it() -> None:
    outer = RuntimeError("All connection attempts failed")
    outer.__cause__ = OSError("wrapped")
    outer.__cause__.__context__ = ConnectionRefusedError()

    assert cause_of(outer, ConnectionRefusedError) is outer.__cause__.__context__
    assert cause_of(outer, ssl.SSLError) is None
