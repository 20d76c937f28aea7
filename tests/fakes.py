"""Doubles for unit tests: time that costs none, a lab without a sandbox, artifacts without files."""

import base64
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from edgegate.artifacts.artifact import Artifact, Manifest
from edgegate.clusters.plane import ControlPlane
from edgegate.components.launch import Launch
from edgegate.components.pki import Authority
from edgegate.edge.tenancy import Tenancy
from edgegate.edge.tenant import CANARY, Site, Tenant
from edgegate.errors import LabRequestFailed
from edgegate.lab import Lab, ProcessSpec, ProcessStatus
from edgegate.lab.record import Record
from edgegate.pins import Chosen, Selection
from edgegate.records import Answer, Certificate, Versions
from edgegate.report.gate import Gate

VERSIONS = {
    "kubernetes": "1.35.4",
    "etcd": "3.6.16",
    "envoy-gateway": "1.8.3",
    "envoy": "1.38.3",
    "gateway-api": "1.4.1",
    "coredns": "1.14.7",
    "bubblewrap": "0.8.0",
    "nftables": "1.0.6",
}


@dataclass
class FakeClock:
    """Time that passes when somebody waits."""

    seconds: float = 0.0
    slept: list[float] = field(default_factory=list)

    def now(self) -> float:
        """Return the seconds that were waited for."""
        return self.seconds

    def sleep(self, seconds: float) -> None:
        """Let them pass."""
        self.slept.append(seconds)
        self.seconds += seconds


class FakeLab(Lab):
    """A lab whose supervisor is this object: it notes what it is asked for and keeps files in memory."""

    def __init__(self, folder: Path, *, name: str = "fake", kept: bool = False) -> None:
        """Begin with nothing in it."""
        logs = str(folder / "logs")
        created = "2026-01-01T00:00:00+00:00"
        super().__init__(folder, Record(1, "0.1.0", name, "f", 7, 4711, 1, 4710, 1, "control", logs, created, kept, ""))
        self.asked: list[tuple[str, ...]] = []
        """Requests and what they are about, oldest first; looks and files are left out."""
        self.specs: dict[str, ProcessSpec] = {}
        """What was started, by name."""
        self.commands: list[list[str]] = []
        """Command lines of `run`."""
        self.environments: list[Mapping[str, str] | None] = []
        """Their environments."""
        self.files: dict[str, bytes] = {}
        """Path inside to content."""
        self.states: dict[str, ProcessStatus] = {}
        """Name to line of the process table."""
        self.answers: dict[str, Callable[[dict[str, Any]], Any]] = {}
        """Request to what answers it instead."""
        self.leased = False
        """Whether this process holds it."""

    def _ask(self, request: str, *, patience: float = 0, **fields: Any) -> Any:
        if request in self.answers:
            return self.answers[request](fields)
        return getattr(self, f"_{request}")(**fields)

    def lease(self) -> None:
        """Note that it is held."""
        self.leased = True

    def release(self) -> None:
        """Note that it is not held any more."""
        self.leased = False

    def down(self) -> None:
        """Note that it has ended."""
        self.asked.append(("down",))

    def _start(self, spec: dict[str, Any]) -> None:
        made = ProcessSpec.from_json(spec)
        self.asked.append(("start", made.name))
        self.specs[made.name] = made
        self.states[made.name] = running(made.name)

    def _run(self, argv: list[str], env: dict[str, str] | None, timeout: float) -> dict[str, Any]:
        self.commands.append(argv)
        self.environments.append(env)
        return {"status": 0, "stdout": "", "stderr": ""}

    def _put(self, path: str, content: str, mode: int) -> None:
        secret = path.startswith("/run/edgegate/data/secrets/")
        assert not (secret and mode & 0o077), f"{path} is for its owner alone"
        self.files[path] = base64.b64decode(content)

    def _get(self, path: str) -> str:
        if path not in self.files:
            raise LabRequestFailed("get", reason=f"FileNotFoundError: {path}")
        return base64.b64encode(self.files[path]).decode()

    def _status(self) -> list[dict[str, Any]]:
        return [vars(state) for state in self.states.values()]

    def _leases(self) -> dict[str, Any]:
        return {"count": int(self.leased), "kept": self.record.kept}

    def __getattr__(self, name: str) -> Callable[..., None]:
        """Note every other request: stop, restart, kill, pause, resume, remove."""
        if name not in {f"_{word}" for word in ("stop", "restart", "kill", "pause", "resume", "remove", "keep")}:
            raise AttributeError(name)
        return lambda **fields: self.asked.append((name[1:], *map(str, fields.values())))


def running(name: str, *, pid: int | None = 10, state: str = "running", restarts: int = 0) -> ProcessStatus:
    """Return the line of a process."""
    return ProcessStatus(name, pid, state, uptime=5.0, rss_bytes=2**20, restarts=restarts)


def selection(**versions: str) -> Selection:
    """Return a choice of versions; names are spelt with `_` for `-`."""
    chosen = VERSIONS | {name.replace("_", "-"): version for name, version in versions.items()}
    return Selection({name: Chosen(version, "pins.toml") for name, version in chosen.items()})


def artifact(
    name: str, version: str = "1.0.0", *, path: Path | None = None, libraries: tuple[str, ...] = ()
) -> Artifact:
    """Return an artifact that has every binary that anybody asks it for, at `/store/NAME/bin`."""
    return Artifact(path or Path(f"/store/{name}"), Manifest(name, version, _Every(), libraries))


class _Every(dict[str, str]):
    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> str:
        return f"bin/{name}"


def launch(lab: FakeLab, **versions: str) -> Launch:
    """Return the launch of a fake lab, with an artifact for every component of the edge."""
    chosen = selection(**versions)
    libraries = {"bubblewrap": ("lib",), "nftables": ("lib", "usr/lib")}
    artifacts = {name: artifact(name, chosen.version(name), libraries=libraries.get(name, ())) for name in VERSIONS}
    return Launch.new(lab, chosen, artifacts)


def as_json(text: str | bytes) -> Any:
    """Return what a JSON text says."""
    return json.loads(text)


_nobody: Any = None
NOBODYS = Tenancy(_nobody)
"""For tenants of which nothing is created."""


class FakeTenant(Tenant):
    """A tenant whose answers are scripted; it notes how it was changed."""

    def __init__(self, name: str, folder: Path) -> None:
        """Begin as one that is served rightly."""
        plane = ControlPlane("downstream", folder / "none")
        super().__init__(name, f"{name}-1", plane, Site("10.88.7.8", folder / "ca.crt"), NOBODYS)
        self.changes: list[str] = []
        """What was done to it, oldest first."""
        self.canary = ""
        """Value of its last edit."""
        self.answers: Callable[[str, bool, str], Answer] = lambda method, tls, host: self.right(method, tls)
        """Method, TLS and host to what comes back."""
        self.at: dict[str, Callable[[str, bool, str], Answer]] = {}
        """The same for an address where that differs."""

    @property
    def fingerprint(self) -> str:
        """Return the fingerprint of its certificate."""
        return f"print of {self.name}"

    def right(self, method: str = "GET", tls: bool = False, **more: Any) -> Answer:
        """Return its own answer, with fields replaced."""
        headers = (("x-edgegate-origin", self.marker), (CANARY, self.canary))
        certificate = certificate_of(self.fingerprint) if tls else None
        url = f"{'https' if tls else 'http'}://{self.host}/"
        made = Answer(method, url, "10.88.7.8:80", 0.0, 0.001, 200, headers, certificate=certificate)
        return replace(made, **more)

    def probe(self, *, tls: bool, host: str | None = None, timeout: float = 5.0, address: str = "") -> Any:
        """Return what asks for the scripted answers."""
        answers = self.at.get(address)
        return FakeProbe(lambda method: (answers or self.answers)(method, tls, host or self.host))

    def edit_route(self, value: str) -> None:
        """Note the edit; from now on right answers show it."""
        self.changes.append("edit")
        self.canary = value

    def add_host(self, authority: Authority, label: str) -> str:
        """Note the listener."""
        self.changes.append("add")
        return f"{label}.{self.host}"

    def drop_hosts(self) -> None:
        """Note that it is gone."""
        self.changes.append("drop")


@dataclass
class FakeProbe:
    """Asks a function."""

    answer: Callable[[str], Answer]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Close nothing."""

    def request(self, method: str, path: str = "/", *, headers: object = None) -> Answer:
        """Return the answer."""
        return self.answer(method)

    def get(self, path: str = "/") -> Answer:
        """Return the answer."""
        return self.answer("GET")


def certificate_of(fingerprint: str) -> Certificate:
    """Return a certificate with that fingerprint."""
    when = datetime(2026, 1, 1, tzinfo=UTC)
    return Certificate(fingerprint, "CN=a", "CN=ca", ("a",), when, when)


def notebook() -> Gate:
    """Return the notebook of a scenario."""
    return Gate("test", versions=lambda: Versions({"envoy": "1.38.3"}), again="pytest")
