"""Where the files that come with the project are: beside the sources, or inside the installed wheel."""

from pathlib import Path

_HERE = Path(__file__).resolve().parent
_CHECKOUT = _HERE.parents[1]


def resource(name: str) -> Path:
    """Return the path of `pins.toml`, `slo.toml`, `manifests`, `native` or `e2e`, wherever this installation has it."""
    installed = _HERE / "_data" / name
    return installed if installed.exists() else _CHECKOUT / name
