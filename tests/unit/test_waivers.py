"""A malformed file of waivers is refused with file, key and accepted form; a waiver covers what it says, to its day."""

from datetime import date
from pathlib import Path

import pytest

from edgegate import waivers
from edgegate.errors import WaiversFault
from edgegate.resources import resource
from edgegate.waivers import Waiver, Waivers

VALID = """\
[waiver.open-while-held]
gate = "fail-closed"
tests = ["*::test_held*"]
when = { operator = "nso", envoy = "<1.38" }
reason = "It answers without login."
link = "https://example.com/issues/194"
expires = 2027-03-31
"""
LAST, AFTER = date(2027, 3, 31), date(2027, 4, 1)
CONDITION = "a version, or comparisons joined by commas, as in '1.38.3' or '>=1.8, <1.9'"
KEY = "waiver.open-while-held"


def _spoiled(right: str, wrong: str) -> str:
    assert right in VALID
    return VALID.replace(right, wrong, 1)


CASES = {
    "no TOML": ("[waiver", "is no TOML: Expected ']' at the end of a table declaration"),
    "other table": (VALID + "[waivers]\n", "waivers is unknown. Accepted: tables [waiver.<name>] only."),
    "waiver is no table": ("waiver = 1\n", "waiver is a number. Accepted: a table."),
    "one is no table": ("[waiver]\nx = 1\n", "waiver.x is a number. Accepted: a table."),
    "name": (
        _spoiled("open-while-held", "Open"),
        "waiver.Open is no name. Accepted: lower-case letters, digits and dashes.",
    ),
    "unknown key": (
        _spoiled("expires", 'owner = "me"\nexpires'),
        f"{KEY}.owner is unknown. Accepted: one of expires, gate, link, reason, tests, when.",
    ),
    "no gate": (_spoiled('gate = "fail-closed"\n', ""), f"{KEY}.gate is missing. Accepted: the name of a gate."),
    "no reason": (
        _spoiled('reason = "It answers without login."\n', ""),
        f"{KEY}.reason is missing. Accepted: a text.",
    ),
    "empty reason": (_spoiled('"It answers without login."', '""'), f"{KEY}.reason is empty. Accepted: a text."),
    "no link": (
        _spoiled('link = "https://example.com/issues/194"\n', ""),
        f"{KEY}.link is missing. Accepted: an address, as in https://example.com/issues/1.",
    ),
    "link is no address": (
        _spoiled("https://example.com/issues/194", "#194"),
        f"{KEY}.link is '#194'. Accepted: an address, as in https://example.com/issues/1.",
    ),
    "no day": (
        _spoiled("expires = 2027-03-31\n", ""),
        f"{KEY}.expires is missing. Accepted: a date, as in 2027-03-31.",
    ),
    "day is a text": (
        _spoiled("2027-03-31", '"soon"'),
        f"{KEY}.expires is a text. Accepted: a date, as in 2027-03-31.",
    ),
    "tests is no list": (
        _spoiled('["*::test_held*"]', '"*"'),
        f'{KEY}.tests is a text. Accepted: a list of texts, as in ["a", "b"].',
    ),
    "no condition": (
        _spoiled('when = { operator = "nso", envoy = "<1.38" }\n', ""),
        f"{KEY}.when is missing or empty. Accepted: at least one condition: operator = one of reference, nso, or "
        f"<component> = {CONDITION}.",
    ),
    "empty condition": (
        _spoiled('{ operator = "nso", envoy = "<1.38" }', "{}"),
        f"{KEY}.when is missing or empty. Accepted: at least one condition",
    ),
    "operator": (_spoiled('"nso"', '"real"'), f"{KEY}.when.operator is 'real'. Accepted: one of reference, nso."),
    "operator is a number": (_spoiled('"nso"', "1"), f"{KEY}.when.operator is a number. Accepted: one of reference"),
    "operator under another key": (
        _spoiled("operator =", "operater ="),
        f"{KEY}.when.operater is 'nso'. Accepted: {CONDITION}; whose operator it is says operator = 'nso'.",
    ),
    "version": (_spoiled('"<1.38"', '"old"'), f"{KEY}.when.envoy is 'old'. Accepted: {CONDITION}."),
    "version with v": (
        _spoiled('"<1.38"', '"v1.38.0"'),
        f"{KEY}.when.envoy is 'v1.38.0'. Accepted: {CONDITION}, without a leading v.",
    ),
    "half a range": (_spoiled('"<1.38"', '">=1.8,"'), f"{KEY}.when.envoy is '>=1.8,'. Accepted: {CONDITION}."),
    "version is a number": (_spoiled('"<1.38"', "1.38"), f"{KEY}.when.envoy is a number. Accepted: {CONDITION}."),
}


@pytest.mark.parametrize(("text", "said"), CASES.values(), ids=CASES.keys())
def test_what_is_wrong_is_named(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "waivers.toml"
    path.write_text(text)

    with pytest.raises(WaiversFault) as raised:
        waivers.load(path)

    assert str(raised.value).startswith(f"{path}: {said}")


def test_no_file_is_no_waiver() -> None:
    assert waivers.load(None) == Waivers()


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WaiversFault, match="cannot be read: No such file or directory"):
        waivers.load(tmp_path / "waivers.toml")


def test_a_file_may_hold_none(tmp_path: Path) -> None:
    path = tmp_path / "waivers.toml"
    path.write_text("# nothing is waived\n")

    assert waivers.load(path).waivers == ()


def test_ours_can_be_read() -> None:
    waivers.load(resource("waivers.toml"))


def test_what_it_says(tmp_path: Path) -> None:
    path = tmp_path / "waivers.toml"
    path.write_text(VALID)

    (read,) = waivers.load(path).waivers

    assert read == _waiver()
    assert read.as_data()["expires"] == "2027-03-31"


def _waiver(name: str = "open-while-held", expires: date = LAST, tests: tuple[str, ...] = ("*::test_held*",)) -> Waiver:
    return Waiver(
        name=name,
        gate="fail-closed",
        when={"operator": "nso", "envoy": "<1.38"},
        reason="It answers without login.",
        link="https://example.com/issues/194",
        expires=expires,
        tests=tests,
    )


@pytest.mark.parametrize(
    ("gate", "test", "operator", "envoy", "covered"),
    [
        ("fail-closed", "e2e/test_x.py::test_held[a]", "nso", "1.37.0", True),
        ("fail-closed", "e2e/test_x.py::test_released", "nso", "1.37.0", False),
        ("other", "e2e/test_x.py::test_held", "nso", "1.37.0", False),
        ("fail-closed", "e2e/test_x.py::test_held", "reference", "1.37.0", False),
        ("fail-closed", "e2e/test_x.py::test_held", "nso", "1.38.0", False),
    ],
)
def test_it_covers_only_what_it_says(gate: str, test: str, operator: str, envoy: str, covered: bool) -> None:
    assert _waiver().covers(gate, test, operator, {"envoy": envoy}) is covered


def test_what_does_not_run_fulfils_no_condition() -> None:
    assert not _waiver().covers("fail-closed", "x::test_held", "nso", {})


def test_without_patterns_every_test_of_the_gate() -> None:
    assert _waiver(tests=()).covers("fail-closed", "whatever", "nso", {"envoy": "1.37.0"})


def test_brackets_of_a_pattern_are_those_of_the_test() -> None:
    waiver = _waiver(tests=("*::test_held[a-?]",))

    assert waiver.covers("fail-closed", "x::test_held[a-1]", "nso", {"envoy": "1.37.0"})
    assert not waiver.covers("fail-closed", "x::test_helda", "nso", {"envoy": "1.37.0"})


@pytest.mark.parametrize(
    ("said", "running", "holds"),
    [
        ("1.38.3", "1.38.3", True),
        ("1.38", "1.38.0", True),
        ("1.38.3", "1.38.30", False),
        ("<1.38", "1.37.12", True),
        ("<1.38", "1.38.0", False),
        ("<=1.38", "1.38.0", True),
        ("<1.9", "1.10.0", False),
        (">1.8", "1.8.1", True),
        (">=1.8, <1.9", "1.8.3", True),
        (">=1.8, <1.9", "1.9.0", False),
        ("!=1.8.3", "1.8.3", False),
        ("==1.9.0", "1.9.0-rc.1", True),
        ("1.8", "unknown", False),
    ],
)
def test_conditions(said: str, running: str, holds: bool) -> None:
    waiver = Waiver("x", "g", {"envoy": said}, "r", "https://x", LAST)

    assert waiver.covers("g", "t", "reference", {"envoy": running}) is holds


def test_it_holds_on_its_last_day() -> None:
    assert not _waiver().expired(LAST)
    assert _waiver().expired(AFTER)


def test_one_that_holds_comes_before_one_that_has_expired() -> None:
    both = Waivers(None, (_waiver("old", date(2026, 1, 1)), _waiver("new")))

    found = both.covering("fail-closed", "x::test_held", "nso", {"envoy": "1.37.0"}, LAST)

    assert found is not None
    assert found.name == "new"


def test_nothing_covers_another_gate() -> None:
    assert Waivers(None, (_waiver(),)).covering("other", "x::test_held", "nso", {"envoy": "1.37.0"}) is None
