"""What travels between a lab's users and its supervisor: descriptions of processes and their states."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal


@dataclass(frozen=True)
class Bind:
    """A file or folder that a process sees under another path; nobody else sees it there."""

    source: str
    """Path as the lab sees it."""
    target: str
    """Path as the process sees it; it need not exist."""
    read_only: bool = True
    """Whether writing to it is refused."""


@dataclass(frozen=True)
class Ready:
    """How the supervisor finds out that a process is ready; it looks every 20 ms, from inside the lab."""

    kind: Literal["http", "tcp", "none"]
    """`http`: a GET answers 200; `tcp`: a connection is accepted; `none`: it could be executed."""
    address: str = ""
    """A URL for `http` (certificates are not verified), host:port for `tcp`."""
    contains: str = ""
    """Text that must be in the body of the answer."""
    header: Mapping[str, str] = field(default_factory=dict)
    """Headers of the request, for instance Host or Authorization."""
    limit: float = 30.0
    """Seconds after which the start has failed."""


@dataclass(frozen=True)
class ProcessSpec:
    """One process of a lab: what to execute, and when it is ready."""

    name: str
    """Name in the process table and of the log file: lower-case letters, digits, `-` and `.`."""
    argv: tuple[str, ...]
    """Program and arguments."""
    env: Mapping[str, str]
    """The whole environment."""
    binds: tuple[Bind, ...] = ()
    """Private mounts; when there are some, bubblewrap starts the process in a mount namespace of its own."""
    ready: Ready | None = None
    """None means ready as soon as it could be executed."""
    stop_grace: float = 0.0
    """Seconds between SIGTERM and SIGKILL; 0 kills at once, which is right for state that is thrown away."""
    restart: Literal["never", "always"] = "never"
    """Whether the supervisor starts it again after it ended by itself."""

    def to_json(self) -> dict[str, Any]:
        """Return the form that the control socket carries."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "ProcessSpec":
        """Return the spec that `to_json` gave."""
        ready = value["ready"]
        return cls(
            **{
                **value,
                "argv": tuple(value["argv"]),
                "binds": tuple(Bind(**bind) for bind in value["binds"]),
                "ready": None if ready is None else Ready(**ready),
            }
        )


@dataclass(frozen=True)
class ProcessStatus:
    """One line of a lab's process table."""

    name: str
    """Name of its spec."""
    pid: int | None
    """Process id inside the lab; None when nothing runs."""
    state: str
    """`starting`, `running`, `paused`, `stopped` (asked for), `exited` (not asked for), `restarting` (after that)."""
    uptime: float
    """Seconds since it was started; 0 when nothing runs."""
    rss_bytes: int
    """Resident memory of its whole process group."""
    restarts: int
    """How often it was started again, by request or by its restart policy."""
    status: int | None = None
    """Exit status of the last process that ended; negative when a signal ended it."""
    tail: str = ""
    """The last log lines of a process that exited and of one that is about to be started again."""


@dataclass(frozen=True)
class Tools:
    """The programs that a lab is made with; a bare name is looked up on PATH."""

    ip: str = "ip"
    """iproute2's `ip`."""
    unshare: str = "unshare"
    """util-linux's `unshare`."""
    setsid: str = "setsid"
    """util-linux's `setsid`."""
    nsenter: str = "nsenter"
    """util-linux's `nsenter`."""
    bwrap: str = "bwrap"
    """bubblewrap; used for processes with binds only."""
    bwrap_env: Mapping[str, str] = field(default_factory=dict)
    """What bubblewrap itself needs in its environment, for instance where its libraries are."""
