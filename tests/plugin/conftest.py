"""A sample suite in a folder of its own, with a double of the edge, and no setting of the person who runs the tests."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from edgegate.settings import SETTINGS
from sample import Suite

SUITES = Path(__file__).parent.parent / "suites"


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for setting in SETTINGS:
        monkeypatch.delenv(setting.env, raising=False)
    monkeypatch.setenv("COLUMNS", "160")


@pytest.fixture
def suite(pytester: pytest.Pytester) -> Suite:
    """Run tests of a sample suite, by name, with the double of the edge."""
    shutil.copy(SUITES / "fake_edge.py", pytester.path / "conftest.py")

    def run(name: str, *args: str, only: str = "", no_lab: bool = False) -> pytest.RunResult:
        shutil.copy(SUITES / f"{name}.py", pytester.path / f"test_{name}.py")
        if no_lab:
            (pytester.path / "no-lab").touch()
        chosen = [f"test_{name}.py::{test}" for test in only.split()]
        return pytester.runpytest("-p", "no:cacheprovider", *args, *chosen)

    return run


@pytest.fixture
def report(pytester: pytest.Pytester) -> Callable[[], Any]:
    """Read the report.json of the only run so far."""

    def read() -> Any:
        (found,) = pytester.path.glob(".edge/runs/*/report.json")
        return json.loads(found.read_text())

    return read
