"""Looking at a suite costs nothing: no edge, no folder, and no module above layer 1."""

import pytest

from sample import Suite

HEAVY = ("artifacts", "lab", "probes", "clusters", "components", "edge", "cli")
SAY_MODULES = """
import atexit, sys
heavy = {names!r}
atexit.register(lambda: sys.stderr.write("loaded " + ",".join(sorted(
    name for name in sys.modules
    if name in ("kubernetes", "httpx", "cryptography", "rich")
    or name.startswith(tuple("edgegate." + one for one in heavy))
)) + ".\\n"))
"""


@pytest.mark.parametrize("flag", ["--help", "--markers", "--collect-only", "--fixtures"])
def test_nothing_heavy_is_imported(suite: Suite, pytester: pytest.Pytester, flag: str) -> None:
    pytester.makepyfile(say_modules=SAY_MODULES.format(names=HEAVY))
    suite("verdicts", "--collect-only", "-q")
    pytester.syspathinsert()

    result = pytester.runpytest_subprocess("-p", "say_modules", flag)

    assert result.ret == 0
    result.stderr.fnmatch_lines(["loaded ."])
    assert not (pytester.path / ".edge").exists()
    assert not (pytester.path / "opened").exists()


def test_suite_without_an_edge_leaves_no_folder(suite: Suite, pytester: pytest.Pytester) -> None:
    """Having the plugin installed changes nothing for the tests of somebody else."""
    result = suite("verdicts", only="test_unit")

    assert result.ret == 0
    assert not (pytester.path / ".edge").exists()
    assert "edge verdicts" not in result.stdout.str()
