"""What `import edgegate` offers is listed, sorted, there, documented, and nothing else is used by scenarios."""

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import edgegate
from edgegate.resources import resource


def test_the_list_is_sorted() -> None:
    assert edgegate.__all__ == sorted(edgegate.__all__)


@pytest.mark.parametrize("name", edgegate.__all__)
def test_each_is_there_and_documented(name: str) -> None:
    assert inspect.getdoc(getattr(edgegate, name))


def test_every_late_name_is_listed() -> None:
    early = {name for name in vars(edgegate) if name in edgegate.__all__}
    assert set(edgegate._LATE) | early == set(edgegate.__all__)


def test_another_name_is_not_there() -> None:
    with pytest.raises(AttributeError, match="module 'edgegate' has no attribute 'Edgee'"):
        _ = edgegate.Edgee


def test_importing_it_imports_nothing_heavy() -> None:
    heavy = {"kubernetes", "httpx", "cryptography", "rich", "edgegate.edge", "edgegate.lab"}
    script = f"import sys, edgegate; sys.exit(' '.join({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.stderr.strip() == ""


@pytest.mark.parametrize("file", sorted(resource("e2e").glob("*.py")), ids=lambda file: file.name)
def test_scenarios_use_public_names_only(file: Path) -> None:
    tree = ast.walk(ast.parse(file.read_text()))
    modules = [node.module or "" for node in tree if isinstance(node, ast.ImportFrom)]
    assert [module for module in modules if module.startswith("edgegate.")] == []
