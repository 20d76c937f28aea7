"""Read a corpus in the YAML format of go-ftw, in which the rule set's own regression tests are written.

Whatever is unknown is refused: a misspelt expectation would pass for ever.
"""

import base64
import binascii
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from edgegate.corpus.cases import Case, Corpus, Expected, Request, Stage
from edgegate.errors import CorpusFault
from edgegate.tables import Table

# libyaml reads the 4,674 tests of CRS 4.25 in 2 s, the loader in Python in 20 s.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_UNUSED = ("dest_addr", "port")
"""Where the tests would connect; the run decides that."""
_REPEAT = re.compile(r'\{\{\s*(?:"([^"]*)"\s*\|\s*repeat\s*(\d+)|repeat\s*(\d+)\s*"([^"]*)")\s*\}\}')
_FAMILY = re.compile(r"(?:REQUEST|RESPONSE)-(\d+)-(?:APPLICATION-ATTACK-)?(.*)")
_LONGEST = 1024 * 1024


def read(folder: Path) -> Corpus:
    """Return the cases of every `*.yaml` below a folder.

    Raises:
        CorpusFault: a file cannot be read, breaks the format, repeats the name of a case, or there is no case at all.
    """
    cases: dict[str, Case] = {}
    empty = []
    for path in sorted(folder.rglob("*.yaml")):
        found = list(_cases(path))
        if not found:
            empty.append(str(path.relative_to(folder)))
        for case in found:
            if case.name in cases:
                raise CorpusFault(path, case.name, "is the name of another case too", "one name a case")
            cases[case.name] = case
    if not cases:
        raise CorpusFault(folder, "", "holds no test", "a folder with *.yaml files in the format of go-ftw")
    return Corpus(folder, tuple(cases.values()), tuple(empty))


def _cases(path: Path) -> Iterator[Case]:
    try:
        raw = yaml.load(path.read_text(encoding="utf-8"), Loader=_LOADER)  # noqa: S506 - a safe loader
    except OSError as error:
        raise CorpusFault(path, "", f"cannot be read: {error.strerror}", "a readable file") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise CorpusFault(path, "", f"is no YAML: {error}", "YAML in the format of go-ftw") from error
    if raw is None:
        return
    table = Table(path, "", raw, CorpusFault)
    rule = _rule(table, path)
    for number, one in enumerate(_list(table, "tests")):
        yield _case(Table(path, f"tests[{number}]", one, CorpusFault), rule, _family(path))
    _finish(table, "meta", "author")


def _rule(table: Table, path: Path) -> str:
    found = table.take("rule_id", int, "the number of a rule")
    return str(found) if found is not None else path.stem


def _family(path: Path) -> str:
    found = _FAMILY.fullmatch(path.parent.name)
    return f"{found[1]} {found[2]}" if found else path.parent.name


def _case(table: Table, rule: str, family: str) -> Case:
    number = table.take("test_id", int, "a number")
    if number is None:
        raise table.fault("test_id", "is missing", "a number")
    stages = tuple(
        _stage(Table(table.path, f"{table.key}.stages[{at}]", one, CorpusFault))
        for at, one in enumerate(_list(table, "stages"))
    )
    words = [table.take(key, str, "a text") for key in ("desc", "description", "test_title")]
    _finish(table, "tags")
    return Case(f"{rule}-{number}", family, next((word for word in words if word), ""), stages)


def _stage(table: Table) -> Stage:
    table.take("description", str, "a text")
    stage = Stage(_request(table.inner("input")), _expected(table.inner("output")))
    table.finish()
    return stage


def _request(table: Table) -> Request:
    headers = {str(name): _filled(table, str(value)) for name, value in table.inner("headers").items()}
    version = table.take("version", str, "a text, as in HTTP/1.1")
    complete = table.take("autocomplete_headers", bool, "true or false")
    found = Request(
        method=table.take("method", str, "a text") or "GET",
        uri=_filled(table, table.take("uri", str, "a text") or "/"),
        version="HTTP/1.1" if version is None else version,
        headers=headers,
        data=_filled(table, table.take("data", str, "a text") or ""),
        encoded=_encoded(table),
        complete=complete is None or complete,
    )
    _finish(table, *_UNUSED)
    return found


def _encoded(table: Table) -> bytes | None:
    text = table.take("encoded_request", str, "a whole request in base64")
    try:
        return base64.b64decode(text, validate=False) if text else None
    except binascii.Error as error:
        raise table.fault("encoded_request", f"is no base64: {error}", "a whole request in base64") from error


def _filled(table: Table, text: str) -> str:
    """Return a text with `{{ repeat 3 "x" }}` and `{{ "x" | repeat 3 }}` carried out; more of templates is not used."""

    def repeat(found: re.Match[str]) -> str:
        piece, count = (found[1], found[2]) if found[2] else (found[4], found[3])
        if len(piece) * int(count) > _LONGEST:
            raise table.fault("", f"repeats up to {len(piece) * int(count)} bytes", f"at most {_LONGEST}")
        return piece * int(count)

    return _REPEAT.sub(repeat, text) if "{{" in text else text


def _expected(table: Table) -> Expected:
    log = table.inner("log")
    found = Expected(
        ids=_numbers(log, "expect_ids"),
        no_ids=_numbers(log, "no_expect_ids"),
        matches=_pattern(log, "match_regex"),
        no_match=_pattern(log, "no_match_regex"),
        status=table.take("status", int, "a status, as in 403"),
        error=table.take("expect_error", bool, "true or false") or False,
    )
    log.finish()
    _finish(table, "retry_once")
    if found == Expected():
        raise table.fault("", "expects nothing", "at least one of log, status and expect_error")
    return found


def _numbers(table: Table, key: str) -> tuple[int, ...]:
    accepted = "a list of rule numbers, as in [942100]"
    found = table.take(key, list, accepted) or []
    for one in found:
        if not isinstance(one, int) or isinstance(one, bool):
            raise table.fault(key, f"holds {one!r}", accepted)
    return tuple(found)


def _pattern(table: Table, key: str) -> str | None:
    text = table.take(key, str, "a regular expression")
    try:
        re.compile(text or "")
    except re.error as error:
        raise table.fault(key, f"is no regular expression: {error}", "a regular expression") from error
    return text


def _list(table: Table, key: str) -> list[Any]:
    found = table.take(key, list, "a list")
    if not found:
        raise table.fault(key, "is missing or empty", "a list with at least one entry")
    return found


def _finish(table: Table, *unused: str) -> None:
    """Refuse what nobody has taken, except the keys that mean nothing here."""
    for key in unused:
        table.take(key, object, "")
    table.finish()
