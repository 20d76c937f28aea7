"""A small, valid corpus, and ways to spoil it."""

from pathlib import Path

from edgegate.corpus.run import Seen, Verdict
from edgegate.corpus.wire import Answer

VALID = """
meta: {author: us}
rule_id: 942100
tests:
  - test_id: 1
    desc: always true
    stages:
      - input:
          dest_addr: 127.0.0.1
          port: 80
          method: POST
          uri: "/post"
          headers: {Host: localhost, Accept: "*/*"}
          data: "id=1' OR '1'='1"
        output:
          log: {expect_ids: [942100], no_expect_ids: [941100]}
  - test_id: 2
    stages:
      - input: {uri: "/", headers: {Host: localhost}}
        output: {status: 200}
"""


def write(folder: Path, text: str = VALID, name: str = "REQUEST-942-APPLICATION-ATTACK-SQLI/942100.yaml") -> Path:
    """Write a corpus of one file and return its folder."""
    path = folder / "corpus" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return folder / "corpus"


def spoiled(old: str, new: str) -> str:
    """Return the valid file with the first occurrence of a text replaced."""
    assert old in VALID
    return VALID.replace(old, new, 1)


def seen(status: int | None, word: str | None, *rules: int, log: str = "") -> Seen:
    """Return what was seen of a request; no word: the firewall did not see it."""
    return Seen(Answer(status, 0.01), None if word is None else Verdict(word, frozenset(rules), log))
