"""The folder of one run: who may write to it, and what lies where in it."""

import fcntl
import json
import os
import re
import secrets
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import IO, Any

from edgegate.errors import EdgeNotUp, RunFolderBusy, RunFolderForeign, RunFolderUnwritable

SCHEMA = 1
"""Version of run.json and report.json. Raised when a field changes its meaning or goes away."""
Document = dict[str, Any]
"""The content of report.json: plain values."""


def edgegate_version() -> str:
    """Return the version of this installation."""
    try:
        return version("pytest-edgegate")
    except PackageNotFoundError:
        return "0+unknown"


def new_run_dir(base: Path) -> Path:
    """Return a path for a new run below `base`/.edge/runs that no other run has; nothing is created."""
    started = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    return base / ".edge" / "runs" / f"{started}-{secrets.token_hex(2)}"


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file so that a reader sees the old one or the new one, never a part."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    # A log line with stray bytes in it must not keep the report from being written.
    unfinished.write_bytes(content.encode(errors="replace") if isinstance(content, str) else content)
    unfinished.replace(path)


class RunFolder:
    """The folder of one run. The process that owns the run claims it; workers of that run join it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock: IO[str] | None = None

    def claim(self) -> None:
        """Make the folder and keep every other run out until `release`, or until this process ends.

        Raises:
            RunFolderForeign: it holds a run of another version, or something else.
            RunFolderBusy: another run has claimed it.
        """
        if self._lock is not None:
            return
        self._check()
        self.join()
        lock = (self.path / ".lock").open("a+")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as busy:
            lock.seek(0)
            holder = lock.read().strip() or "of unknown process id"
            lock.close()
            raise RunFolderBusy(self.path, holder=holder) from busy
        lock.truncate(0)
        lock.write(f"process {os.getpid()}")
        lock.flush()
        self._lock = lock

    def join(self) -> None:
        """Make the folder if it is missing, readable by its owner alone: logs in it may tell much.

        Raises:
            RunFolderUnwritable: the file system does not let us.
        """
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not (self.path / "run.json").exists():
                own = {"schema": SCHEMA, "edgegate": edgegate_version(), "started": datetime.now(UTC).isoformat()}
                write_whole(self.path / "run.json", json.dumps(own, indent=2) + "\n")
        except OSError as error:
            raise RunFolderUnwritable(self.path, reason=str(error.strerror)) from error

    def release(self) -> None:
        """Let other runs use the folder."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def bundle(self, test: str) -> Path:
        """Return the folder for a test's diagnostics: readable, and no other test's. Nothing is created."""
        name = re.sub(r"[^\w.\[\]=-]+", "-", test.rpartition("/")[2]).strip("-")
        return self.path / "diagnostics" / f"{name[:100]}-{zlib.crc32(test.encode()):08x}"

    @contextmanager
    def turn(self, *, alone: bool) -> Iterator[None]:
        """Let a test run beside others, or alone, among all processes of the run.

        Who wants to be alone waits in the turnstile and lets nobody pass meanwhile, so that it is not kept waiting
        by a stream of others.
        """
        self.join()
        with (self.path / ".turnstile").open("a") as turnstile, (self.path / ".turn").open("a") as own:
            fcntl.flock(turnstile, fcntl.LOCK_EX)
            fcntl.flock(own, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
            fcntl.flock(turnstile, fcntl.LOCK_UN)
            yield

    def _check(self) -> None:
        ours = f"edgegate {edgegate_version()} (schema {SCHEMA})"
        if not self.path.exists():
            return
        if not self.path.is_dir():
            raise RunFolderForeign(self.path, found="something that is no folder", ours=ours)
        found = self._found()
        if found is not None and found != ours:
            raise RunFolderForeign(self.path, found=found, ours=ours)

    def _found(self) -> str | None:
        """Return what the folder holds, in words; None when it is empty."""
        run = self.path / "run.json"
        if not run.exists():
            return "files that no run has written" if any(self.path.iterdir()) else None
        try:
            told: Any = json.loads(run.read_text())
            return f"edgegate {told['edgegate']} (schema {told['schema']})"
        except (ValueError, KeyError, TypeError):
            return "an unreadable run.json"

    @contextmanager
    def bringing_up(self, run_key: str, test: str) -> Iterator[None]:
        """Let one process of the run at a time bring the edge up; after a failure, no other tries again.

        Args:
            run_key: what all processes of this run share.
            test: the test for which it is brought up; it shows the full error.

        Raises:
            EdgeNotUp: another process of this run has failed to bring it up.
        """
        self.join()
        failed = self.path / f".edge-not-up-{run_key}"
        with (self.path / ".edge-lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if failed.exists():
                raise EdgeNotUp(**json.loads(failed.read_text()))
            try:
                yield
            except Exception as error:
                cause = (str(error) or type(error).__name__).partition("\n")[0]
                write_whole(failed, json.dumps({"cause": cause, "first": test}))
                raise
