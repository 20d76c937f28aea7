"""The control socket of a lab: one thread a connection, one request a line."""

import base64
import os
import socket
import tempfile
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from edgegate.errors import CommandFailed
from edgegate.lab.children import Children
from edgegate.lab.leases import Leases
from edgegate.lab.spec import ProcessSpec
from edgegate.lab.table import ProcessTable
from edgegate.lab.wire import Line, failure

Request = Mapping[str, Any]


class Server:
    """Answers requests; `down` is called when one asks for the end of the lab."""

    def __init__(
        self,
        table: ProcessTable,
        children: Children,
        leases: Leases,
        *,
        env: Mapping[str, str],
        keep: Callable[[bool], None],
        down: Callable[[], None],
    ) -> None:
        self._children, self._leases, self._env, self._down = children, leases, env, down
        self._requests: dict[str, Callable[[Request], Any]] = {
            "ping": lambda _: None,
            "start": lambda request: table.start(ProcessSpec.from_json(request["spec"])),
            "stop": lambda request: table.find(request["name"]).stop(),
            "restart": lambda request: table.restart(request["name"]),
            "kill": lambda request: table.find(request["name"]).kill(),
            "pause": lambda request: table.find(request["name"]).pause(),
            "resume": lambda request: table.find(request["name"]).resume(),
            "look": lambda request: table.find(request["name"]).look(),
            "remove": lambda request: table.remove(request["name"]),
            "status": lambda _: table.status(),
            "usage": lambda _: table.usage(),
            "run": self._run,
            "put": _put,
            "get": lambda request: base64.b64encode(Path(request["path"]).read_bytes()).decode(),
            "leases": lambda _: {"count": leases.count, "kept": leases.kept},
            "keep": lambda request: keep(request["flag"]),
            "down": lambda _: None,
        }

    def serve(self, listener: socket.socket) -> None:
        """Accept connections for ever."""
        while True:
            connection, _ = listener.accept()
            self.attend(Line(connection))

    def attend(self, line: Line, *, leased: bool = False) -> None:
        """Serve one connection in a thread of its own; `leased` when it is a lease from the beginning."""
        if leased:
            self._leases.take()
        threading.Thread(target=self._attend, args=(line, leased), daemon=True).start()

    def _attend(self, line: Line, leased: bool) -> None:
        try:
            while (request := line.receive()) is not None:
                if request["op"] == "lease" and not leased:
                    leased = True
                    self._leases.take()
                line.send(self._answer(request))
                if request["op"] == "down":
                    self._down()
        except OSError:  # the other side has gone before it had its answer
            pass
        finally:
            line.close()
            if leased:
                self._leases.drop()

    def _answer(self, request: Request) -> dict[str, Any]:
        if request["op"] == "lease":
            return {"result": None}
        try:
            return {"result": self._requests[request["op"]](request)}
        except Exception as trouble:  # whatever it is, it is the answer; the lab goes on
            return failure(trouble, request["op"])

    def _run(self, request: Request) -> dict[str, Any]:
        argv, limit = request["argv"], request["timeout"]
        # Files and no pipes: a command that leaves something running in the background still ends.
        with (
            tempfile.TemporaryFile(dir=self._env["TMPDIR"]) as out,
            tempfile.TemporaryFile(dir=self._env["TMPDIR"]) as err,
        ):
            env = self._env if request["env"] is None else request["env"]
            try:
                child = self._children.spawn(argv, env=env, stdout=out.fileno(), stderr=err.fileno())
            except OSError as refused:
                raise CommandFailed(argv, status=127, output=str(refused)) from refused
            if not child.ended.wait(limit):
                child.signal_group(9)
                child.ended.wait()
                raise CommandFailed(argv, status=-9, output=f"killed after {limit:g} s")
            return {"status": child.status, "stdout": _text(out.fileno()), "stderr": _text(err.fileno())}


def _text(descriptor: int) -> str:
    return os.pread(descriptor, os.fstat(descriptor).st_size, 0).decode(errors="replace")


def _put(request: Request) -> None:
    path = Path(request["path"])
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{threading.get_ident()}")
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(base64.b64decode(request["content"]))
    fresh.chmod(request["mode"])
    fresh.rename(path)
