"""What the factories of tenants and policies have made is gone after the test, in reverse order, whatever happens."""

import shutil
from pathlib import Path

import pytest

SUITE = Path(__file__).parents[1] / "suites/tenants.py"


def _run(pytester: pytest.Pytester, *words: str) -> list[str]:
    shutil.copy(SUITE, pytester.path / "test_tenants.py")
    pytester.runpytest("-p", "no:cacheprovider", *words)
    return (pytester.path / "told").read_text().splitlines()


def test_the_newest_goes_first_and_the_neighbour_last(pytester: pytest.Pytester) -> None:
    assert _run(pytester) == [
        *("create neighbour", "create a", "create b", "apply Secret", "apply SecurityPolicy", "test of neighbour"),
        *("delete SecurityPolicy a/login", "remove b", "remove a"),
        *("create c", "remove c"),
        "remove neighbour",
    ]


def test_a_policy_that_could_not_be_made_whole_is_taken_away(pytester: pytest.Pytester) -> None:
    (pytester.path / "refuse").touch()
    assert _run(pytester, "-k", "makes") == [
        *("create neighbour", "create a", "create b", "apply Secret"),
        *("delete SecurityPolicy a/login", "remove b", "remove a", "remove neighbour"),
    ]


def test_who_makes_nothing_takes_nothing_away(pytester: pytest.Pytester) -> None:
    assert _run(pytester, "-k", "fails") == ["create neighbour", "create c", "remove c", "remove neighbour"]
