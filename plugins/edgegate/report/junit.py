"""junit.xml of the edge tests, made from report.json's content and nothing else.

Readers of junit know no third word. What is inconclusive must never look passed or skipped, and a `failure` says that
the system is wrong; so it is an `error`, the word for "the test itself did not work", and its message says which.
What is waived is `skipped`, as an expected failure is. pytest's own `--junitxml` has the same messages, but calls it
`failure` when something was inconclusive in the call.
"""

from collections.abc import Mapping
from xml.sax.saxutils import escape, quoteattr

from edgegate.records import Verdict
from edgegate.report.folder import Document
from edgegate.report.outcome import headline


def render(document: Document) -> str:
    """Return the file's content."""
    tests = document["tests"]
    counted = {word: sum(test["verdict"] == word for test in tests) for word in Verdict}
    head = (
        f'<testsuite name="edgegate" tests="{len(tests)}" failures="{counted[Verdict.FAIL]}" '
        f'errors="{counted[Verdict.INCONCLUSIVE]}" skipped="{counted[Verdict.WAIVED]}" '
        f'time="{document["seconds"]:.3f}" timestamp={_attribute(document["started"])}>'
    )
    lines = ['<?xml version="1.0" encoding="utf-8"?>', "<testsuites>", head, *map(_case, tests)]
    return "\n".join([*lines, "</testsuite>", "</testsuites>\n"])


def _case(test: Document) -> str:
    place, _, name = test["id"].partition("::")
    group = test["gate"] or place
    head = f'<testcase classname={_attribute(group)} name={_attribute(name)} time="{test["seconds"]:.3f}"'
    if test["verdict"] == Verdict.PASS:
        return f"{head}/>"
    tag, prefix = _TAGS[test["verdict"]]
    reason = test["reason"] or "nothing was said"
    return f"{head}><{tag} message={_attribute(prefix + headline(reason))}>{_text(reason)}</{tag}></testcase>"


_TAGS: Mapping[str, tuple[str, str]] = {
    Verdict.FAIL: ("failure", ""),
    Verdict.INCONCLUSIVE: ("error", "inconclusive: "),
    Verdict.WAIVED: ("skipped", "waived: "),
}


def _text(text: str) -> str:
    return escape(text.translate(_UNFIT))


def _attribute(text: str) -> str:
    return quoteattr(text.translate(_UNFIT))


_UNFIT = dict.fromkeys((*range(9), 11, 12, *range(14, 32), *range(0xD800, 0xE000)), "\N{REPLACEMENT CHARACTER}")
"""What XML 1.0 cannot hold, such as the escape of a coloured log line."""
