"""Corpora, lists of ignores and rule sets are read; whatever cannot be meant is refused, with file, place and form."""

import re
from datetime import date
from pathlib import Path

import pytest

from corpus_files import VALID, spoiled, write
from edgegate.corpus import exclusions, ftw, ignores
from edgegate.corpus.cases import Expected
from edgegate.corpus.rules import check_rules, known_rules
from edgegate.errors import CorpusFault

SPOILED = {
    "no YAML": ("tests: [", "is no YAML: while parsing a flow node"),
    "no table": ("- a\n", "is a list. Accepted: a table."),
    "unknown key": (VALID + "testz: []\n", "testz is unknown. Accepted: one of"),
    "no tests": ("rule_id: 1\n", "tests is missing or empty. Accepted: a list with at least one entry."),
    "no number": (spoiled("test_id: 1", "title: 1"), "tests[0].test_id is missing. Accepted: a number."),
    "unknown key of a test": (spoiled("desc: always", "descr: always"), "tests[0].descr is unknown."),
    "no stages": (spoiled("stages:\n      - input: {", "stages: []\n    x:\n      - input: {"), "tests[1].stages is"),
    "unknown input": (spoiled("method: POST", "protocol: https"), "tests[0].stages[0].input.protocol is unknown."),
    "unknown output": (spoiled("log: {expect_ids", "logs: {expect_ids"), "tests[0].stages[0].output.logs is unknown."),
    "misspelt expectation": (spoiled("no_expect_ids", "no_expect_id"), "output.log.no_expect_id is unknown."),
    "nothing expected": (spoiled("{status: 200}", "{}"), "tests[1].stages[0].output expects nothing."),
    "rule is a text": (spoiled("[942100]", "['942100']"), "log.expect_ids holds '942100'. Accepted: a list of rule"),
    "pattern": (spoiled("no_expect_ids: [941100]", "match_regex: '('"), "log.match_regex is no regular expression"),
    "template": (spoiled("id=1'", '{{ repeat 9999999 \\"x\\" }}'), "repeats up to 9999999 bytes. Accepted: at most"),
    "base64": (spoiled("data: \"id=1' OR '1'='1\"", "encoded_request: a"), "encoded_request is no base64"),
    "same name twice": (spoiled("test_id: 2", "test_id: 1"), "942100-1 is the name of another case too."),
}


@pytest.mark.parametrize(("text", "said"), SPOILED.values(), ids=SPOILED)
def test_what_cannot_be_meant(tmp_path: Path, text: str, said: str) -> None:
    """The error names the file and the place."""
    with pytest.raises(CorpusFault, match=re.escape(said)) as caught:
        ftw.read(write(tmp_path, text))
    assert "942100.yaml" in str(caught.value)


def test_a_corpus(tmp_path: Path) -> None:
    """Cases have the names and families that their authors gave them."""
    found = ftw.read(write(tmp_path))
    assert [(case.name, case.family, case.description) for case in found.cases] == [
        ("942100-1", "942 SQLI", "always true"),
        ("942100-2", "942 SQLI", ""),
    ]
    assert found.cases[0].stages[0].expected == Expected(ids=(942100,), no_ids=(941100,))
    assert found.cases[0].stages[0].request.data == "id=1' OR '1'='1"


def test_templates_are_carried_out(tmp_path: Path) -> None:
    """Both forms that the rule set uses."""
    text = spoiled("id=1' OR '1'='1\"", 'a"').replace(
        'data: "a"', """data: '{{ repeat 2 "ab" }}{{ "c" | repeat 3 }}'"""
    )
    assert ftw.read(write(tmp_path, text)).cases[0].stages[0].request.data == "ababccc"


def test_an_empty_file_is_told(tmp_path: Path) -> None:
    """The rule set ships one; it is no error, and it is not passed over."""
    write(tmp_path, "---\n", "920539.yaml")
    assert ftw.read(write(tmp_path)).empty == ("920539.yaml",)


def test_an_empty_corpus(tmp_path: Path) -> None:
    """Nothing to send is an error: a run of nothing would pass."""
    with pytest.raises(CorpusFault, match="holds no test"):
        ftw.read(tmp_path)


def test_a_rule_that_does_not_exist(tmp_path: Path) -> None:
    """It is named together with the case."""
    corpus, rules = ftw.read(write(tmp_path)), tmp_path / "rules"
    (rules / "@owasp_crs").mkdir(parents=True)
    with pytest.raises(CorpusFault, match="holds no rule"):
        known_rules(rules)
    (rules / "@owasp_crs" / "x.conf").write_text('SecRule ARGS "@rx a" \\\n    "id:942100,phase:2"\n')
    known = known_rules(rules)
    check_rules(corpus, known, absent_too=False)
    with pytest.raises(CorpusFault, match="942100-1 names rule 941100, which does not exist"):
        check_rules(corpus, known, absent_too=True)


IGNORE = '[[ignore]]\ntests = ["a-1"]\nreason = "because"\nexpires = 2027-06-30\n'
BAD_IGNORES = {
    "no TOML": ("[[ignore", "is no TOML"),
    "unknown key": (IGNORE + 'link = "x"\n', "ignore[0].link is unknown"),
    "other table": ("[waiver]\n", "waiver is unknown"),
    "no reason": (IGNORE.replace('"because"', '""'), "ignore[0].reason is empty"),
    "no tests": (IGNORE.replace('"a-1"', ""), "ignore[0].tests is missing or empty"),
    "no such case": (IGNORE.replace("a-1", "a-9"), "ignore[0].tests names 'a-9', which is no case"),
    "twice": (IGNORE + IGNORE, "ignore[1].tests names 'a-1', as another entry does"),
    "expired": (IGNORE.replace("2027", "2025"), "ignore[0].expires was 2025-06-30. Accepted: a day to come"),
}


@pytest.mark.parametrize(("text", "said"), BAD_IGNORES.values(), ids=BAD_IGNORES)
def test_ignores_that_cannot_be_meant(tmp_path: Path, text: str, said: str) -> None:
    """An ignore that has expired is one of them."""
    (tmp_path / "ignores.toml").write_text(text)
    with pytest.raises(CorpusFault, match=re.escape(said)):
        ignores.load(tmp_path / "ignores.toml", {"a-1"}, date(2026, 12, 1))


def test_an_ignore(tmp_path: Path) -> None:
    """It holds on its last day still."""
    (tmp_path / "ignores.toml").write_text(IGNORE)
    assert ignores.load(tmp_path / "ignores.toml", {"a-1"}, date(2027, 6, 30))["a-1"].reason == "because"


EXCLUSION = '[[exclusion]]\nharmless = ["a-1"]\nattacks = ["a-2"]\nids = [942100]\nreason = "because"\n'
WRONG_EXCLUSIONS = {
    "no case": (EXCLUSION.replace("a-1", "b-1"), "exclusion[0].harmless names 'b-1', which is no case"),
    "no attack": (EXCLUSION.replace('attacks = ["a-2"]\n', ""), "exclusion[0].attacks is missing or empty"),
    "no rule": (EXCLUSION.replace("942100", "942101"), "exclusion[0].ids names rule 942101, which does not exist"),
    "no rules": (EXCLUSION.replace("942100", ""), "exclusion[0].ids is missing or empty"),
    "no reason": (EXCLUSION.replace('reason = "because"\n', ""), "exclusion[0].reason is missing"),
    "unknown key": (EXCLUSION + "tags = []\n", "exclusion[0].tags is unknown"),
}


@pytest.mark.parametrize(("text", "said"), WRONG_EXCLUSIONS.values(), ids=WRONG_EXCLUSIONS)
def test_exclusions_that_cannot_be_meant(tmp_path: Path, text: str, said: str) -> None:
    """The error names the file and the place."""
    (tmp_path / "exclusions.toml").write_text(text)
    with pytest.raises(CorpusFault, match=re.escape(said)):
        exclusions.load(tmp_path / "exclusions.toml", {"a-1", "a-2"}, {942100})


def test_exclusions(tmp_path: Path) -> None:
    """Each has a door of its own."""
    (tmp_path / "exclusions.toml").write_text(EXCLUSION)
    (found,) = exclusions.load(tmp_path / "exclusions.toml", {"a-1", "a-2"}, {942100})
    assert (found.harmless, found.attacks, found.door) == (("a-1",), ("a-2",), "without-942100")
