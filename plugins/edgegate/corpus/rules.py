"""Which rules a rule set has."""

import re
from pathlib import Path

from edgegate.corpus.cases import Corpus
from edgegate.errors import CorpusFault

_ID = re.compile(r"\bid:\s*'?(\d+)")


def known_rules(folder: Path) -> frozenset[int]:
    """Return the numbers of all rules in the files of a rule set.

    Raises:
        CorpusFault: there is none.
    """
    files = [*folder.glob("@owasp_crs/*.conf"), *folder.glob("@*.conf*")]
    found = {int(number) for file in files for number in _ID.findall(file.read_text(encoding="utf-8"))}
    if not found:
        raise CorpusFault(folder, "", "holds no rule", "the folder `rules` of a coraza-coreruleset module")
    return frozenset(found)


def check_rules(corpus: Corpus, known: frozenset[int], *, absent_too: bool) -> None:
    """See that every rule that is expected to match exists; one that does not would never match.

    Args:
        corpus: the cases.
        known: see `known_rules`.
        absent_too: look at rules that must not match as well. The rule set's own corpus names one that is gone, 944000.

    Raises:
        CorpusFault: one does not exist.
    """
    for case in corpus.cases:
        for stage in case.stages:
            for rule in (*stage.expected.ids, *(stage.expected.no_ids if absent_too else ())):
                if rule not in known:
                    accepted = "the number of a rule in this version of the rule set"
                    raise CorpusFault(corpus.folder, case.name, f"names rule {rule}, which does not exist", accepted)
