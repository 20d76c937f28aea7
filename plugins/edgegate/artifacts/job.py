"""What a builder is given, what it hands back, and how it calls commands."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from edgegate.artifacts.artifact import FILES, Artifact
from edgegate.artifacts.process import Run
from edgegate.artifacts.progress import Progress
from edgegate.command import Completed
from edgegate.errors import BuildFailed, CommandFailed, NoNetwork, NotEnoughDisk, ToolMissing
from edgegate.pins import Pin

TAIL = 30
"""Lines of a build log that an error repeats."""
_UNREACHABLE = (
    "no such host",
    "network is unreachable",
    "connection refused",
    "connection timed out",
    "i/o timeout",
    "tls handshake timeout",
    "proxyconnect",
    "module lookup disabled by goproxy=off",
    "temporary failure in name resolution",
    "temporary failure resolving",
    "failed to establish a new connection",
    "could not resolve",
    "could not connect",
    "name or service not known",
)
"""What go, pip and apt-get write when a source cannot be reached; compared in lower case."""


@dataclass(frozen=True)
class Made:
    """What a builder has put into the artifact's folder."""

    binaries: Mapping[str, str]
    """Name of a binary to its path below the folder."""
    libraries: tuple[str, ...] = ()
    """Folders with shared libraries, below the folder."""
    built_with: str | None = None
    """The Go toolchain, where one was used."""


@dataclass(frozen=True)
class Job:
    """One version of one pin that is to be made."""

    pin: Pin
    """The pin."""
    version: str
    """The version."""
    into: Path
    """The folder that becomes the artifact."""
    scratch: Path
    """A folder for everything else; it goes when the job ends."""
    root: Path
    """The store's root."""
    log: Path
    """The build log."""
    progress: Progress
    """Who listens."""
    runner: Run
    """Runs a command."""
    no_space: Callable[[], NotEnoughDisk]
    """Returns the error about a full disk."""
    helper: Callable[[str], Artifact]
    """Returns the default version of another pin, such as the Go toolchain."""
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    """The environment that commands get, as far as a builder does not change it."""

    @property
    def what(self) -> str:
        """Return `name version`, as messages have it."""
        return f"{self.pin.name} {self.version}"

    @property
    def files(self) -> Path:
        """Return the folder for files that come with the source."""
        return self.into / FILES

    def step(self, doing: str, at: int | None = None, of: int | None = None) -> None:
        """Tell the listener where the job is."""
        self.progress.step(self.what, doing, at, of)

    def run(
        self,
        *argv: str,
        source: str,
        missing: str,
        fix: str,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        on_line: Callable[[str], None] | None = None,
    ) -> Completed:
        """Run a command.

        Args:
            argv: program and arguments.
            source: where it fetches from, as in `Go module proxy`.
            missing: what cannot be had when that is unreachable.
            fix: how to get the program.
            env: the whole environment; None is ours.
            cwd: working directory; None is the scratch folder.
            on_line: gets each line of output while it comes.

        Raises:
            NoNetwork: its output says that the source cannot be reached.
            ToolMissing: there is no such program.
            NotEnoughDisk: the disk is full.
            BuildFailed: it failed otherwise.
        """
        environ = self.environ if env is None else env
        try:
            return self.runner(argv, env=environ, cwd=cwd or self.scratch, log=self.log, on_line=on_line)
        except FileNotFoundError as error:
            raise ToolMissing(argv[0], what=self.what, problem="it is not on PATH", fix=fix) from error
        except CommandFailed as error:
            if "no space left on device" in error.output.lower():
                raise self.no_space() from error
            last = unreachable(error.output)
            if last:
                raise self.offline(source, missing, last) from error
            raise self.failed(error.output) from error

    def offline(self, source: str, missing: str, last: str) -> NoNetwork:
        """Return the error about a source that cannot be reached."""
        return NoNetwork(self.what, missing=missing, source=source, cache=self.root, last=last)

    def failed(self, output: str) -> BuildFailed:
        """Return the error of a failed build with the end of its output."""
        return BuildFailed(self.what, log=self.log, tail="\n".join(output.rstrip().splitlines()[-TAIL:]))


def unreachable(output: str) -> str | None:
    """Return the line that says that a source cannot be reached, or None."""
    for line in output.splitlines():
        if any(sign in line.lower() for sign in _UNREACHABLE):
            return line.strip()
    return None
