"""Labs for tests: small ones, all gone after the test."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from edgegate.lab import Lab, sandbox
from lab_parts import MakeLab


@pytest.fixture(scope="session")
def privileged() -> None:
    """Let this process make labs; as an ordinary user it enters namespaces for that."""
    sandbox.ensure_privileges()


@pytest.fixture
def make_lab(privileged: None, tmp_path: Path) -> Iterator[MakeLab]:
    """Return a factory of labs."""
    with ExitStack() as undo:

        def make(name: str = "lab", **asked: Any) -> Lab:
            lab = sandbox.create(tmp_path / "labs" / name, name, needs_mib=100, **asked)
            undo.callback(lab.down)
            return lab

        yield make


@pytest.fixture
def lab(make_lab: MakeLab) -> Lab:
    """Return a lab with nothing in it."""
    return make_lab()
