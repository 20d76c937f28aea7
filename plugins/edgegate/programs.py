"""Whether a file that a user names can be run on this machine, told from the file alone."""

import os
import platform
import struct
from pathlib import Path

_MACHINES = {3: "x86", 40: "arm", 62: "x86_64", 183: "aarch64", 243: "riscv64", 22: "s390x", 21: "ppc64le"}
"""`e_machine` of an ELF header, as `uname -m` calls it."""


def trouble_with(path: Path) -> str:
    """Return what keeps a program from being run, as a sentence without its subject; empty when nothing does."""
    if not path.is_file():
        return "does not exist" if not path.exists() else "is no file"
    if not os.access(path, os.X_OK):
        return f"is not executable; try: chmod +x {path}"
    with path.open("rb") as file:
        head = file.read(20)
    if head.startswith(b"#!"):
        return ""
    if len(head) < 20 or not head.startswith(b"\x7fELF"):
        return "is no program for Linux (neither an ELF file nor a script)"
    made_for = _machine(head)
    return "" if made_for == platform.machine() else f"is made for {made_for}, this machine is {platform.machine()}"


def _machine(head: bytes) -> str:
    """Return what an ELF header says which machine it is for; byte 5 tells the byte order."""
    (number,) = struct.unpack("<H" if head[5] == 1 else ">H", head[18:20])
    return _MACHINES.get(number, f"machine {number}")
