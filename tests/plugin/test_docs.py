"""README and docs say what the code does."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from edgegate.cli.faults import FAULTS
from edgegate.cli.gates import GATES
from edgegate.limits import Limits
from edgegate.settings import SETTINGS
from sample import Suite

DOCS = Path(__file__).parents[2] / "docs"


def _keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from _keys(inner)


def test_every_field_of_the_report_is_described(suite: Suite, report: Callable[[], Any]) -> None:
    suite("verdicts", only="test_dark test_late test_sound")

    told = report()
    described = set(re.findall(r"[\w]+", " ".join(re.findall(r"`([^`]+)`", (DOCS / "report.md").read_text()))))
    fields = {*told, *told["edge"], *_keys(told["gates"][0]), *told["settings"][0], *told["versions"]}
    assert fields | set(told["tests"][0]) | {*told["tests"][0]["findings"][0]} <= described


def test_every_setting_is_described() -> None:
    text = (DOCS / "settings.md").read_text()

    for setting in SETTINGS:
        assert f"`{setting.env}`" in text
        assert setting.environment_only or (f"`{setting.flag()}" in text and f"`{setting.ini}`" in text)


def test_every_limit_is_described_with_its_value() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (\d+) \|", (DOCS / "settings.md").read_text(), re.MULTILINE)

    assert dict(rows) == {name: f"{getattr(Limits(), name):g}" for name in Limits.names()}


def test_every_gate_is_told_of() -> None:
    """The README names the same gates as the scenarios, and docs say how each decides."""
    root = DOCS.parent
    marks = re.findall(r'edge_gate\("([\w-]+)"', "".join(file.read_text() for file in (root / "e2e").glob("*.py")))
    table = (root / "README.md").read_text().partition("## Gates")[2].partition("\n## ")[0]
    assert set(re.findall(r"^\| `([\w-]+)`", table, re.MULTILINE)) == set(marks)
    told = "".join(file.read_text() for file in DOCS.glob("*.md"))
    assert [gate for gate in sorted(set(marks)) if f"`{gate}`" not in told] == []


def test_every_gate_can_be_proven() -> None:
    """All but the ladder without a firewall: what judges it is shown red by `waf-transparency`."""
    scenarios = {file.name: file.read_text() for file in (DOCS.parent / "e2e").glob("test_*.py")}
    marked = {name: re.findall(r'edge_gate\("([\w-]+)"', text)[0] for name, text in scenarios.items()}
    assert {gate: file for file, gate in marked.items() if gate != "transparency"} == GATES
    assert set(FAULTS) == set(GATES)


def test_every_limit_bounds_something() -> None:
    """One that nothing reads would be a promise that nobody keeps."""
    root = DOCS.parent
    read = "".join(file.read_text() for folder in ("plugins", "e2e") for file in (root / folder).rglob("*.py"))
    assert [name for name in Limits.names() if f"limits.{name}" not in read] == []
