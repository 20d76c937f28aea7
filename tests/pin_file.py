"""A small, valid pins.toml, and ways to spoil it."""

from pathlib import Path

H1 = "h1:" + "A" * 43 + "="
SHA = "sha256:" + "0" * 64

VALID = f"""
[pin.server]
versions = ["1.0.0", "2.0.0"]
default = "2.0.0"
source = "go"
module = "example.test/server"
binaries = {{ server = "cmd/server" }}
ldflags = "-X main.version=v{{version}} -X main.minor={{major}}.{{minor}}"
images = ["docker.io/example/server"]
disk-mib = 700
why = "because"
unpin-when = "never"
pinned = 2026-01-01
review-by = 2027-01-01
production = "0.9.0"
production-why = "older"
[pin.server.digests]
"1.0.0" = "{H1}"
"2.0.0" = "{H1}"
[pin.server.published]
"2.0.0" = 2025-12-24
[pin.server.companions]
"1.0.0" = {{ proxy = "1.0" }}
"2.0.0" = {{ proxy = "2.0" }}

[pin.proxy]
versions = ["1.0", "2.0"]
default = "2.0"
source = "pypi"
project = "proxy-server"
binaries = {{ proxy = "proxy/bin/proxy" }}
images = ["registry.test/example/proxy"]
why = "because"
unpin-when = "never"
pinned = 2026-01-01
review-by = 2027-01-01
[pin.proxy.digests]
"1.0" = "{SHA}"
"2.0" = "{SHA}"

[pin.tool]
versions = ["0.8"]
default = "0.8"
source = "deb"
binaries = {{ tool = "usr/bin/tool" }}
why = "because"
unpin-when = "never"
pinned = 2026-01-01
review-by = 2027-01-01
[pin.tool.packages."0.8"]
tool = "1:0.8-1 {SHA}"
"""


def write(folder: Path, text: str = VALID) -> Path:
    """Write a pins.toml and return its path."""
    path = folder / "pins.toml"
    path.write_text(text, encoding="utf-8")
    return path


def spoiled(old: str, new: str) -> str:
    """Return the valid file with the first occurrence of a text replaced."""
    assert old in VALID
    return VALID.replace(old, new, 1)
