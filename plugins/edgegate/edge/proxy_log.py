"""What a proxy's Envoy writes, wherever it is kept: in a file of the lab, or with the node that runs the pod."""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


class ProxyLog(Protocol):
    """The log of one Envoy."""

    def mark(self) -> str:
        """Return where its end is now."""
        ...

    def since(self, mark: str) -> str:
        """Return what was written after a mark, everything for an empty one; empty where the log cannot be had."""
        ...


class NoLog:
    """A log that cannot be had."""

    def mark(self) -> str:
        """Return nothing."""
        return ""

    def since(self, mark: str) -> str:
        """Return nothing."""
        return ""


@dataclass(frozen=True)
class FileLog:
    """A log in a file, which need not exist yet."""

    path: Path

    def mark(self) -> str:
        """Return its length."""
        return str(self.path.stat().st_size) if self.path.exists() else ""

    def since(self, mark: str) -> str:
        """Return what came after that many bytes."""
        if not self.path.exists():
            return ""
        with self.path.open("rb") as lines:
            lines.seek(int(mark or 0))
            return lines.read().decode("utf-8", errors="replace")
