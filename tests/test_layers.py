"""The layers of docs/architecture.md hold: a module imports from lower numbers only."""

import ast
from collections.abc import Iterator
from pathlib import Path

import edgegate

PACKAGE = Path(edgegate.__file__).parent
LAYERS = {
    **dict.fromkeys(("errors", "clock", "records", "command", "resources", "limits", "redaction", "traffic"), 0),
    **dict.fromkeys(("stages", "budgets", "tables", "waivers", "programs", "kubeconfigs", "forms", "setting"), 0),
    **dict.fromkeys(("pins", "settings", "slo"), 1),
    **dict.fromkeys(("artifacts", "arguments"), 2),
    **dict.fromkeys(("lab", "probes", "corpus", "kind"), 3),
    "clusters": 4,
    "components": 5,
    "edge": 6,
    "fixtures": 7,
    **dict.fromkeys(("report", "diagnostics"), 1),
    "options": 8,
    **dict.fromkeys(("plugin", "cli", "__init__", "__main__"), 9),
}
PYTEST_MAY_BE_IMPORTED_IN = {"options", "plugin", "fixtures", "report", "diagnostics"}


def _unit(module: Path) -> str:
    return module.relative_to(PACKAGE).parts[0].removesuffix(".py")


def _modules() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py") if "_data" not in path.parts)


def _imports(module: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{module}: relative import"
            yield from (
                [node.module] if node.module != "edgegate" else [f"edgegate.{name.name}" for name in node.names]
            )
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names)


def test_every_module_has_a_layer() -> None:
    """A new top-level module must be given its place before it can be used."""
    assert {_unit(module) for module in _modules()} <= set(LAYERS)


def test_imports_point_downwards() -> None:
    """No module imports from its own layer or above, its own package excepted."""
    wrong = []
    for module in _modules():
        own = _unit(module)
        for name in _imports(module):
            parts = name.split(".")
            if parts[0] != "edgegate" or len(parts) < 2 or parts[1] == own or parts[1] not in LAYERS:
                continue
            if LAYERS[parts[1]] >= LAYERS[own] and not (LAYERS[parts[1]] == LAYERS[own] == 0):
                wrong.append(f"{module.relative_to(PACKAGE)} imports {name}")
    assert not wrong


def test_pytest_is_imported_where_it_belongs() -> None:
    """Nothing below the wiring depends on pytest, so that the command works without it."""
    users = {_unit(module) for module in _modules() if any(name.split(".")[0] == "pytest" for name in _imports(module))}
    assert users <= PYTEST_MAY_BE_IMPORTED_IN
