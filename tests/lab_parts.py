"""What the tests of the lab share: children that do one thing, and looks at the machine from outside."""

import os
import sys
from pathlib import Path
from typing import Any, Protocol

from edgegate.lab import Lab, ProcessSpec

ENV = {"PATH": os.environ["PATH"]}


class MakeLab(Protocol):
    """Makes a lab that ends with the test."""

    def __call__(self, name: str = ..., **asked: Any) -> Lab:
        """Make it; `asked` goes to `sandbox.create`."""
        ...


def child(name: str, script: str, *words: str, **more: Any) -> ProcessSpec:
    """Return a process that runs a Python script."""
    return ProcessSpec(name, (sys.executable, "-S", "-u", "-c", script, *words), more.pop("env", ENV), **more)


SLEEP = "import signal; print('up'); signal.pause()"
"""Runs until it is ended."""
STUBBORN = "import signal; signal.signal(15, signal.SIG_IGN); print('up')\nwhile True: signal.pause()"
"""Does not end on SIGTERM."""
POLITE = "import signal, sys; signal.signal(15, lambda *_: sys.exit('bye')); print('up'); signal.pause()"
"""Says bye and ends on SIGTERM."""
SERVER = """
import http.server, sys
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(sys.argv[2].encode())
http.server.HTTPServer(("0.0.0.0", int(sys.argv[1])), Answer).serve_forever()
"""
"""Serves a text over HTTP: port, text."""


def processes(token: str) -> list[int]:
    """Return the processes of the machine, ourselves excepted, that have a word in their command line."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes()
        except OSError:  # no process, or one that has just ended
            continue
        if token.encode() in words and entry.name.isdecimal() and int(entry.name) != os.getpid():
            found.append(int(entry.name))
    return sorted(found)


def words_of(pid: int | str) -> list[bytes]:
    """Return the command line of a process; empty when it has just ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return []


def interfaces(pid: int | str = "self") -> set[str]:
    """Return the network interfaces that a process sees."""
    lines = Path(f"/proc/{pid}/net/dev").read_text().splitlines()[2:]
    return {line.split(":")[0].strip() for line in lines}
