"""The operator stands alone: it imports nothing of edgegate, and nothing of edgegate imports it."""

import ast
from collections.abc import Iterator
from pathlib import Path

import edgegate
import edgegate_operator


def imports(folder: Path) -> Iterator[tuple[Path, str]]:
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module:
                yield path, node.module
            elif isinstance(node, ast.Import):
                yield from ((path, name.name) for name in node.names)


def roots(package: str, folder: Path) -> set[str]:
    return {name.split(".")[0] for _, name in imports(folder)} & {package}


def test_neither_imports_the_other() -> None:
    assert roots("edgegate", Path(edgegate_operator.__file__).parent) == set()
    assert roots("edgegate_operator", Path(edgegate.__file__).parent) == set()


def test_the_core_knows_no_edge() -> None:
    """Only kinds, which is how an object is addressed, is shared by core and controllers."""
    core = Path(edgegate_operator.__file__).parent / "core"
    own = {name for _, name in imports(core) if name.startswith("edgegate_operator")}
    assert {name for name in own if not name.startswith("edgegate_operator.core")} == {"edgegate_operator.kinds"}


def test_modules_are_short() -> None:
    package = Path(edgegate_operator.__file__).parent
    assert {path.name for path in package.rglob("*.py") if len(path.read_text().splitlines()) > 300} == set()
