"""Every error of the project, and what each tells its reader.

EdgegateError
├── UsageFault                 what the user typed or wrote; nothing was started            exit status 2
│   ├── NotADuration
│   ├── UnknownComponent / UnknownVersion
│   ├── PinsFault              pins.toml: file, key, accepted form
│   └── RunFolderForeign       the run folder belongs to another version
└── EnvironmentFault           the surroundings broke; the verdict is inconclusive          exit status 75
    ├── NeverReady             a wait ran out
    ├── PlaneRefused / PlaneUnreachable      a control plane said no, or nothing
    ├── CommandFailed          a command ended with another status than 0
    ├── ArtifactFault          something could not be had or built
    │   ├── BuildFailed / DigestMismatch / NoNetwork / NotEnoughDisk / ToolMissing
    └── LabFault               the sandbox or a part of it
        ├── SandboxNotPermitted / SubnetTaken / PortTaken / NotEnoughMemory
        ├── ComponentExited    its last log lines
        └── LabGone / NoSuchLab

The texts follow one pattern: what happened, to which part, the last thing seen, what to do next.
"""

from pathlib import Path


class EdgegateError(Exception):
    """Base of every error that edgegate raises on purpose."""


class UsageFault(EdgegateError):
    """The user typed or wrote something that cannot be meant; nothing was started."""


class EnvironmentFault(EdgegateError):
    """The surroundings broke, so nothing can be said about the system under test: inconclusive."""


class NotADuration(UsageFault):
    """A duration without a unit, or no number at all."""

    def __init__(self, text: str) -> None:
        super().__init__(f"'{text}' is not a duration. Accepted: a number and a unit, as in 250ms, 30s, 2m or 1h.")
        self.text = text


class NeverReady(EnvironmentFault):
    """A wait ran out before what it waited for came true."""

    def __init__(self, what: str, *, limit: str, last: object) -> None:
        seen = "nothing was seen" if last is None else f"last seen: {last}"
        super().__init__(f"{what}: not within {limit}; {seen}")
        self.what, self.limit, self.last = what, limit, last


class CommandFailed(EnvironmentFault):
    """A command ended with another status than 0."""

    def __init__(self, argv: list[str], *, status: int, output: str) -> None:
        super().__init__(f"command ended with status {status}: {' '.join(argv)}\n{output.rstrip()}")
        self.argv, self.status, self.output = argv, status, output


class PlaneRefused(EnvironmentFault):
    """A control plane answered a request with an error."""

    def __init__(self, plane: str, request: str, *, status: int, text: str) -> None:
        super().__init__(f"{plane} control plane refused {request}: {status}: {text}")
        self.plane, self.request, self.status, self.text = plane, request, status, text


class PlaneUnreachable(EnvironmentFault):
    """A control plane gave no answer."""

    def __init__(self, plane: str, request: str, *, text: str) -> None:
        super().__init__(f"{plane} control plane did not answer {request}: {text}")
        self.plane, self.request, self.text = plane, request, text


class LabFault(EnvironmentFault):
    """The sandbox, or a part of it, is not as it must be."""


class ComponentExited(LabFault):
    """A component ended while it was being started, or ended although it should run."""

    def __init__(self, name: str, *, status: int | None, log: Path, tail: str) -> None:
        super().__init__(
            f"{name} ended with status {status} before it was ready. The end of its log ({log}):\n{tail.rstrip()}"
        )
        self.name, self.status, self.log, self.tail = name, status, log, tail
