"""One look of a watcher: a connection of its own, a request, and what was wrong with the answer.

Nothing here waits. A look is begun, says which readiness it needs, and is driven on when that has come, so that one
thread can have many of them open at a time.
"""

import errno
import os
import select
import socket
import ssl
import struct
from dataclasses import dataclass

from edgegate.probes import tls, trouble
from edgegate.probes.handshake import Handshake, NotTls, client_hello
from edgegate.probes.reader import NotHttp, Reader
from edgegate.probes.target import Depth, Target

OUR_OWN_TROUBLE = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.EADDRNOTAVAIL)
"""The prober's machine ran out of something: says nothing about the target."""

_RESET_ON_CLOSE = struct.pack("ii", 1, 0)
_PIECE = 65536


@dataclass(frozen=True)
class Plan:
    """A target with everything that its looks have in common, made once."""

    target: Target
    """What is looked at."""
    family: int
    """Address family of the socket."""
    request: bytes
    """The request, or the beginning of the handshake when nothing else is wanted."""
    context: ssl.SSLContext | None
    """For complete requests with TLS; takes any certificate."""

    @classmethod
    def of(cls, target: Target) -> "Plan":
        """Return the plan for a target."""
        family = socket.AF_INET6 if ":" in target.address else socket.AF_INET
        if target.depth is Depth.CERTIFICATE:
            return cls(target, family, client_hello(target.host), None)
        return cls(target, family, target.request(), tls.any_certificate() if target.tls else None)

    def look(self, at: float) -> "Look":
        """Return a look that has not begun. Raises OSError when this process or machine has no socket left."""
        if self.target.depth is Depth.CERTIFICATE:
            return _Glance(self, at)
        return Look(self, at) if self.context is None else _TlsLook(self, at, self.context)


class Look:
    """One look at one target, from `begin` to `done`."""

    __slots__ = ("_plan", "_reader", "_socket", "_unsent", "at", "done", "fault", "waits_for")

    def __init__(self, plan: Plan, at: float) -> None:
        """Open a socket; nothing is sent yet."""
        self.at = at
        """Monotonic second at which it began."""
        self.done = False
        """Whether it is over."""
        self.waits_for = 0
        """The events that its owner waits for."""
        self.fault: str | None = None
        """What was wrong; None when nothing was, or nothing is known yet."""
        self._plan = plan
        self._unsent = plan.request
        self._reader = Reader(head_only=plan.target.method == "HEAD")
        self._socket = socket.socket(plan.family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        # Four hundred connections a second would use up the ports of one address pair if each waited in TIME_WAIT.
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)

    def fileno(self) -> int:
        """Return the socket's number, -1 when the look is over."""
        return self._socket.fileno()

    def begin(self) -> int:
        """Connect and send; return the events to wait for, 0 when it is over.

        Raises:
            OSError: this process or machine has no socket or port left.
        """
        try:
            code = self._socket.connect_ex((self._plan.target.address, self._plan.target.to_port))
            if code not in (0, errno.EINPROGRESS):
                raise OSError(code, os.strerror(code))
            self._prepare()
            return self._send()
        except OSError as failed:
            return self._failed(failed)

    def go_on(self) -> int:
        """Do what can be done now; return the events to wait for, 0 when it is over."""
        try:
            if self._unsent:
                return self._send()
            self._take(self._socket.recv(_PIECE))
            if self.done:
                return 0
            return self._send() if self._unsent else select.EPOLLIN
        except BlockingIOError:
            return select.EPOLLIN
        except NotHttp as wrong:
            return self.end(f"protocol: {wrong}")
        except OSError as failed:
            return self._failed(failed)

    def end(self, fault: str | None) -> int:
        """Give up or be content: close, and return 0."""
        self.fault, self.done = fault, True
        self._socket.close()
        return 0

    def _prepare(self) -> None:
        """Make what is sent first, if it is not the request."""

    def _send(self) -> int:
        try:
            self._unsent = self._unsent[self._socket.send(self._unsent) :]
        except BlockingIOError:
            return select.EPOLLOUT
        return select.EPOLLOUT if self._unsent else select.EPOLLIN

    def _take(self, piece: bytes) -> None:
        """Read a piece of the answer; an empty one is the end of the connection."""
        complete = self._reader.feed(piece) if piece else self._reader.end()
        if complete:
            self.end(self._plan.target.answer_fault(self._reader))
        elif not piece:
            after = f" after status {self._reader.status}" if self._reader.status else ""
            self.end(f"{trouble.CLOSED}{after}")

    def _failed(self, failed: OSError) -> int:
        ours = failed.errno in OUR_OWN_TROUBLE and not isinstance(failed, ssl.SSLError)
        self.end(trouble.name_of(failed))
        if ours:
            raise failed
        return 0


class _TlsLook(Look):
    """A look with a complete handshake before the request."""

    __slots__ = ("_greeted", "_in", "_out", "_session")

    def __init__(self, plan: Plan, at: float, context: ssl.SSLContext) -> None:
        super().__init__(plan, at)
        self._greeted = False
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._session = context.wrap_bio(self._in, self._out, server_hostname=plan.target.host)

    def _prepare(self) -> None:
        self._greet()

    def _greet(self) -> None:
        """Go on with the handshake. The request leaves in one packet with our last word of it."""
        try:
            self._session.do_handshake()
        except ssl.SSLWantReadError:
            self._unsent = self._out.read()
            return
        self._greeted = True
        fault = self._plan.target.certificate_fault(self._session.getpeercert(binary_form=True) or b"")
        if fault is not None:
            self.end(fault)
            return
        self._session.write(self._plan.request)
        self._unsent = self._out.read()

    def _take(self, piece: bytes) -> None:
        if piece:
            self._in.write(piece)
        else:
            self._in.write_eof()
        if not self._greeted:
            self._greet()
        while self._greeted and not self.done:
            try:
                clear = self._session.read(_PIECE)
            except ssl.SSLWantReadError:
                return
            except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
                clear = b""
            super()._take(clear)


class _Glance(Look):
    """A look that ends with the server's certificate."""

    __slots__ = ("_handshake",)

    def __init__(self, plan: Plan, at: float) -> None:
        super().__init__(plan, at)
        self._handshake = Handshake()

    def _take(self, piece: bytes) -> None:
        if not piece:
            self.end("tls: closed in the handshake")
            return
        try:
            certificate = self._handshake.feed(piece)
        except NotTls as wrong:
            self.end(f"tls: {wrong}")
            return
        if certificate is not None:
            self.end(self._plan.target.certificate_fault(certificate))
