"""The conftest of every sample suite: an edge without a lab. A file `no-lab` next to it keeps the edge from coming up.

Files tell what happened: `opened` and `closed` have one line a process.
"""

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import pytest

from edgegate.errors import CrashedUnderTest, LabFault, PartLost
from edgegate.fixtures.edge import EdgeOpener
from edgegate.records import DiagnosticSource, Finding, Source, Usage, Versions
from edgegate.settings import Settings


def _usage() -> list[Usage]:
    return [Usage("envoy", 64.0, 1.5)]


class FakeCrashes:
    """An Envoy has crashed once a file `envoy-crashed` is there."""

    def take(self) -> list[Finding]:
        told = Path("envoy-crashed")
        if not told.exists():
            return []
        told.unlink()
        return [Finding(Source.DATA_PLANE, "Envoy of envoy-1", "runs on", "ended by itself once: status 139, SIGSEGV")]


@dataclass
class FakeEdge:
    settings: Settings
    running: dict[str, str] = field(default_factory=lambda: {"envoy-gateway": "1.8.3", "envoy": "1.37.0"})
    opened: SimpleNamespace = field(default_factory=lambda: SimpleNamespace(how="started", usage=_usage))
    downstream: str = "the downstream plane"
    upstream: str = "the upstream plane"
    crashes: FakeCrashes = field(default_factory=FakeCrashes)

    def versions(self) -> Versions:
        return Versions(self.running)

    def trouble(self, *, thorough: bool) -> LabFault | None:
        for name, error in (("part-lost", PartLost), ("crashed", CrashedUnderTest)):
            if Path(name).exists():
                return error("pebble", what="ended with status -9", log=Path("pebble.log"), tail="its last words")
        return None

    def close(self) -> None:
        _tell("closed", str(os.getpid()))


class Log:
    name = "proxy.log"

    def collect(self) -> str:
        return "client-secret: hunter2\nlistener is frozen\n"


class Broken:
    name = "admin.json"

    def collect(self) -> str:
        raise ConnectionRefusedError("nobody listens")


def _tell(name: str, line: str) -> None:
    with Path(name).open("a") as told:
        told.write(line + "\n")


@pytest.fixture(scope="session")
def edge_opener() -> EdgeOpener:
    def opener(settings: Settings, run_key: str) -> FakeEdge:
        _tell("opened", run_key)
        if Path("no-lab").exists():
            raise LabFault("the sandbox cannot be made: no user namespaces.\nSet user.max_user_namespaces to 10000.")
        return FakeEdge(settings)

    return opener


@pytest.fixture(scope="session")
def edge_sources() -> Callable[[FakeEdge], Iterable[DiagnosticSource]]:
    return lambda edge: [Log(), Broken()]
