"""The edge has the parts that the selected tests need, and no others."""

import pytest

from sample import Suite


@pytest.mark.parametrize(
    ("chosen", "parts"),
    [("default", "none"), ("proxy", "dns, operator"), ("one", "dns, acme"), ("", "dns, acme, operator")],
)
def test_parts_of_the_selected_tests(suite: Suite, chosen: str, parts: str) -> None:
    result = suite("parts", "-s", "-k", chosen)

    result.stdout.fnmatch_lines([f"*parts: {parts}"])


@pytest.mark.parametrize("words", ["", '"wafs"', 'dns="sqlite"'])
def test_a_mark_that_cannot_be_meant(suite: Suite, pytester: pytest.Pytester, words: str) -> None:
    pytester.makepyfile(test_marked=f"import pytest\n@pytest.mark.edge_parts({words})\ndef test_it(edge): pass")

    result = suite("parts", "test_marked.py")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["ERROR: test_marked.py::test_it: edge_parts takes names of parts, * Accepted: dns, acme, *, ladder, waf."]
    )
    assert not (pytester.path / "opened").exists()
