"""Defects: each has one branch, at one place."""

import re
from pathlib import Path

import edgegate_operator
from edgegate_operator import faults

PACKAGE = Path(edgegate_operator.__file__).parent
CONSTANTS = {
    value: key for key, value in vars(faults).items() if isinstance(value, str) and key.isupper() and key != "__name__"
}


def test_every_defect_has_a_branch_at_exactly_one_place() -> None:
    sources = "\n".join(path.read_text() for path in PACKAGE.rglob("*.py") if path.name != "faults.py")
    uses = {fault.name: len(re.findall(rf"\bfaults\.{CONSTANTS[fault.name]}\b", sources)) for fault in faults.known()}
    assert {name: count for name, count in uses.items() if count != 1} == {}


def test_every_defect_says_in_one_line_what_goes_wrong() -> None:
    for fault in faults.known():
        assert re.fullmatch(r"[a-z]+(-[a-z]+)+", fault.name)
        assert 20 <= len(fault.text) <= 110, fault.name


def test_names_are_unique() -> None:
    names = [fault.name for fault in faults.known()]
    assert len(set(names)) == len(names)
