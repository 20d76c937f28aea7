"""Firewall, Envoy and origin as processes on Unix sockets in a folder: no port is taken, and no edge is needed."""

import http.client
import json
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgegate.artifacts import Artifact
from edgegate.clock import wait_until
from edgegate.corpus import policies
from edgegate.corpus.bootstrap import bootstrap
from edgegate.corpus.policies import DETECT, ENFORCE
from edgegate.corpus.wire import CASE_HEADER
from edgegate.errors import DirectiveRefused, FirewallMissing

_START = 30.0
"""Seconds for each process to be ready; measured 1.5 s for all three."""


@dataclass(frozen=True)
class Rig:
    """A running firewall with its doors."""

    doors: Mapping[str, Path]
    """`detect`, `enforce` and further ones to a socket."""
    without: Path
    """The socket without a firewall."""
    verdicts: Path
    """The file that gets a line of JSON a request."""
    rules: Path
    """The folder of the rule set."""
    versions: Mapping[str, str]
    """What runs, by the names of the pins."""
    firewall: "subprocess.Popen[bytes]"
    """Its process."""
    admin: Path
    """The socket of its admin interface."""

    def metrics(self) -> str:
        """Return its metrics; empty when it does not answer."""
        return _get(self.admin, "/metrics")[1].decode()


@contextmanager
def rig(
    artifacts: Mapping[str, Artifact],
    *,
    directives: Path | None = None,
    excluding: Mapping[str, Sequence[int]] | None = None,
    fault: str = "",
    within: float = _START,
) -> Iterator[Rig]:
    """Run all three while a block runs.

    Args:
        artifacts: those of the pins `coraza`, `coreruleset` and `envoy`.
        directives: a file of further directives for the enforcing policy.
        excluding: further doors, each to the rules that its policy excludes.
        fault: a defect of the firewall, by name.
        within: seconds for each to be ready.

    Raises:
        DirectiveRefused: one of the directives is none that the engine takes.
        FirewallMissing: a process ended, or was not ready.
    """
    with ExitStack() as undo:
        folder = Path(tempfile.mkdtemp(prefix="edgegate-corpus-"))
        undo.callback(shutil.rmtree, folder, ignore_errors=True)
        ways = (DETECT, ENFORCE, *(excluding or ()))
        socket_of = {name: folder / f"{name}.sock" for name in ("waf", "waf-admin", "origin", "admin", "none")}
        # A path of a socket has at most 107 letters: the names of the further doors are too long for some folders.
        doors = {name: folder / f"door-{number}.sock" for number, name in enumerate(ways)}
        rules = artifacts["coreruleset"].file("rules")
        (folder / "policies.json").write_text(json.dumps(policies.config(directives, excluding)))
        (folder / "envoy.json").write_text(
            bootstrap(
                doors,
                without=socket_of["none"],
                origin=socket_of["origin"],
                firewall=socket_of["waf"],
                admin=socket_of["admin"],
            )
        )
        start = _Starter(folder, undo)
        firewall = start(
            "waf",
            _firewall(artifacts["coraza"], socket_of, folder, rules, fault),
            artifacts["coraza"].env,
        )
        start("origin", [sys.executable, "-m", "edgegate.corpus.origin", str(socket_of["origin"])])
        _wait(start, "waf", within, lambda: _accepted(socket_of["waf-admin"]))
        start("envoy", _envoy(artifacts["envoy"], folder), artifacts["envoy"].env)
        _wait(start, "origin", within, socket_of["origin"].exists)
        _wait(start, "envoy", within, lambda: _get(socket_of["admin"], "/ready")[0] == 200)
        versions = {name: artifact.version for name, artifact in artifacts.items()}
        yield Rig(
            doors, socket_of["none"], folder / "verdicts.jsonl", rules, versions, firewall, socket_of["waf-admin"]
        )


class _Starter:
    """Starts processes that end with the block, and with us whatever happens."""

    def __init__(self, folder: Path, undo: ExitStack) -> None:
        self._folder, self._undo = folder, undo
        self.running: dict[str, subprocess.Popen[bytes]] = {}

    def __call__(
        self, name: str, argv: Sequence[str], env: Mapping[str, str] | None = None
    ) -> "subprocess.Popen[bytes]":
        log = self._undo.enter_context((self._folder / f"{name}.log").open("wb"))
        words = ["setpriv", "--pdeathsig", "KILL", *argv]
        process = subprocess.Popen(
            words, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=dict(env) if env else None
        )
        self.running[name] = process
        self._undo.callback(_end, process)
        return process

    def trouble(self, name: str) -> FirewallMissing | None:
        """Return the error about a process that has ended."""
        status = self.running[name].poll()
        return None if status is None else FirewallMissing(f"{name} ended with status {status}", seen=self.tail(name))

    def tail(self, name: str) -> str:
        """Return the end of a process's log."""
        return (self._folder / f"{name}.log").read_text(errors="replace")[-600:].strip() or "an empty log"


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.kill()
    process.wait()


def _wait(start: _Starter, name: str, within: float, look: Any) -> None:
    wait_until(
        f"{name} ready", look, deadline=within, failed=lambda: start.trouble(name), last=lambda: start.tail(name)
    )


def _firewall(artifact: Artifact, socket_of: Mapping[str, Path], folder: Path, rules: Path, fault: str) -> list[str]:
    return [
        str(artifact.binary("waf")),
        f"--listen=unix:{socket_of['waf']}",
        f"--admin=unix:{socket_of['waf-admin']}",
        f"--rules={rules}",
        f"--policies={folder / 'policies.json'}",
        f"--verdicts={folder / 'verdicts.jsonl'}",
        f"--case-header={CASE_HEADER}",
        f"--fault={fault}",
        # A busy machine must not turn a verdict into a refusal.
        "--time-limit=20s",
        "--wait-limit=30s",
    ]


def _envoy(artifact: Artifact, folder: Path) -> list[str]:
    config = str(folder / "envoy.json")
    return [str(artifact.binary("envoy")), "-c", config, "--disable-hot-restart", "--concurrency", "2", "-l", "error"]


def _accepted(door: Path) -> bool:
    """Say whether every policy is in force; raise when one is refused."""
    status, body = _get(door, "/policies")
    found = json.loads(body)["policies"] if status == 200 else []
    for one in found:
        if mistake := one.get("mistake"):
            raise DirectiveRefused(
                one["name"],
                line=mistake.get("line", 0),
                directive=mistake.get("directive", ""),
                message=mistake["message"],
            )
    return bool(found) and all(one["appliedGeneration"] == one["wantedGeneration"] for one in found)


def _get(door: Path, path: str) -> tuple[int, bytes]:
    """Return status and body of a GET on a Unix socket; 0 when nobody answers."""
    with suppress(OSError, http.client.HTTPException), socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(5)
        connection.connect(str(door))
        connection.sendall(f"GET {path} HTTP/1.1\r\nhost: admin\r\nconnection: close\r\n\r\n".encode())
        answer = http.client.HTTPResponse(connection)
        answer.begin()
        return answer.status, answer.read()
    return 0, b""
