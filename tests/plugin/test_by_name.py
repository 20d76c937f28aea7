"""A test that runs by name only is left out unless its file is on the command line."""

import pytest

from sample import Suite

MARKED = """
    import pytest

    @pytest.mark.edge_by_name
    def test_seldom():
        pass
"""


@pytest.mark.parametrize(
    ("words", "passed", "deselected"),
    [
        (["test_marked.py"], 1, 0),
        (["test_marked.py::test_seldom"], 1, 0),
        (["."], 1, 1),
        ([".", "-k", "seldom or always"], 1, 1),
        (["test_always.py", "test_marked.py"], 2, 0),
        (["-n", "2", "."], 1, None),
        (["-n", "2", "test_marked.py"], 1, None),
    ],
)
def test_by_name(
    suite: Suite, pytester: pytest.Pytester, words: list[str], passed: int, deselected: int | None
) -> None:
    pytester.makepyfile(test_marked=MARKED, test_always="def test_always(): pass")

    result = pytester.runpytest_subprocess(*words)

    result.assert_outcomes(passed=passed, deselected=deselected)
