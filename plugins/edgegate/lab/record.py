"""lab.json: what is known about a lab from outside."""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from edgegate.errors import LabForeign, NoSuchLab

SCHEMA = 1
RECORD = "lab.json"


@dataclass(frozen=True)
class Record:
    """What lab.json says."""

    schema: int
    """Version of this format."""
    version: str
    """Version of edgegate that made the lab."""
    name: str
    """Name of the lab."""
    fingerprint: str
    """What the lab was made from; empty when its creator gave none."""
    n: int
    """Number of its block of addresses."""
    init_pid: int
    """The supervisor, as seen from outside."""
    init_started: int | None
    """Its start in clock ticks since boot; tells it from a later process of the same id."""
    launcher_pid: int
    """The launcher, as seen from outside."""
    launcher_started: int | None
    """Its start."""
    socket: str
    """File name of the control socket in the lab's folder."""
    logs: str
    """Folder of the logs."""
    created: str
    """When it was made, ISO 8601, UTC."""
    kept: bool
    """Whether it lives without a lease."""
    creator: str
    """Who made it: process id and command."""


def write(folder: Path, record: Record) -> None:
    """Write lab.json; readers see the old one or the new one."""
    fresh = folder / f".{RECORD}.{os.getpid()}"
    fresh.write_text(json.dumps(asdict(record), indent=2) + "\n")
    fresh.rename(folder / RECORD)


def read(folder: Path) -> Record:
    """Return the record of a lab.

    Raises:
        NoSuchLab: there is none.
        LabForeign: another version of edgegate wrote it.
    """
    try:
        content = json.loads((folder / RECORD).read_text())
    except FileNotFoundError:
        raise NoSuchLab(folder) from None
    if content["schema"] != SCHEMA:
        raise LabForeign(content["name"], folder=folder, version=content["version"], init_pid=content["init_pid"])
    return Record(**content)


def note_kept(folder: Path, flag: bool) -> None:
    """Write down that a lab is kept, or is no longer."""
    write(folder, Record(**{**asdict(read(folder)), "kept": flag}))
