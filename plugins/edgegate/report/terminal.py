"""What the end of a run looks like in the terminal; made from report.json's content and nothing else."""

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from edgegate.clock import show_duration
from edgegate.records import Source, Verdict
from edgegate.report import stages
from edgegate.report.folder import Document
from edgegate.report.run import unlike

COLOURS: Mapping[str, dict[str, bool]] = {
    Verdict.PASS: {"green": True},
    Verdict.FAIL: {"red": True, "bold": True},
    Verdict.INCONCLUSIVE: {"yellow": True},
    Verdict.WAIVED: {"cyan": True},
}
SHOWN = 3
"""Tests or bundles that are named; what comes after is counted, and is in report.json."""


class Terminal(Protocol):
    """The part of pytest's terminal reporter that is used here."""

    def write_sep(self, sep: str, title: str | None = None, fullwidth: int | None = None, **markup: bool) -> None:
        """Write a line across the terminal."""

    def write_line(self, line: str | bytes, **markup: bool) -> None:
        """Write one line."""


def summary(terminal: Terminal, document: Document, where: str) -> None:
    """Write the reasons of what is inconclusive, the verdict table, and how to see a failure again.

    Args:
        terminal: where to write.
        document: the content of report.json.
        where: the run folder, as the user would type it.
    """
    _inconclusive(terminal, document, where)
    _waived(terminal, document, where)
    if not document["gates"]:
        return
    terminal.write_sep("=", "edge verdicts")
    _gates(terminal, document, where)
    if any(gate["stages"] for gate in document["gates"]):
        terminal.write_sep("=", "edge stages")
        _stages(terminal, document["gates"])
    terminal.write_line(f"running: {versions(document['versions']['running'])}")
    terminal.write_line(f"report: {where}/report.html")


def edge_is_up(edge: Mapping[str, Any], asked: Mapping[str, Mapping[str, str]]) -> str:
    """Return what is shown when the edge is first used: what really runs, and where that is not what is asked for."""
    line = f"edge ready after {show_duration(edge['seconds'])} ({edge['how']}), running {versions(edge['versions'])}"
    other = unlike(asked, edge["versions"])
    told = ", ".join(f"{name} {one['running']} instead of {one['asked']}" for name, one in other.items())
    return f"{line}\nunlike what is asked for: {told}" if told else line


def versions(running: Mapping[str, str]) -> str:
    """Return versions as one line."""
    return ", ".join(f"{name} {version}" for name, version in sorted(running.items())) or "nothing known"


def _inconclusive(terminal: Terminal, document: Document, where: str) -> None:
    """Write each reason once, with the tests that it stopped: one root cause is one paragraph."""
    faults = [(fault, test) for test in document["tests"] for fault in test["faults"]]
    if faults:
        terminal.write_sep("=", "inconclusive: the surroundings broke", yellow=True)
    for reason in dict.fromkeys(fault["reason"] for fault, _ in faults):
        stopped = [(f"{test['id']} ({fault['phase']})", test) for fault, test in faults if fault["reason"] == reason]
        for name, _ in stopped[:SHOWN]:
            terminal.write_line(name, yellow=True, bold=True)
        if len(stopped) > SHOWN:
            terminal.write_line(f"and {len(stopped) - SHOWN} more for the same reason", yellow=True)
        for line in [*reason.splitlines(), *_bundles([test for _, test in stopped[:1]], where)]:
            terminal.write_line(f"    {line}")


def _waived(terminal: Terminal, document: Document, where: str) -> None:
    """Write each waiver that was used once, with the tests that failed under it."""
    waived = [test for test in document["tests"] if test["verdict"] == Verdict.WAIVED]
    if waived:
        terminal.write_sep("=", "waived: known to fail", cyan=True)
    for waiver in document["waivers"]:
        own = [test for test in waived if test["waiver"]["name"] == waiver["name"]]
        for test in own[:SHOWN]:
            terminal.write_line(test["id"], cyan=True, bold=True)
        if len(own) > SHOWN:
            terminal.write_line(f"and {len(own) - SHOWN} more by the same waiver", cyan=True)
        if own:
            terminal.write_line(f"    {waiver['name']}, until {waiver['expires']}: {waiver['reason']}")
            terminal.write_line(f"    {waiver['link']}")
        for line in _bundles(own[:1], where):
            terminal.write_line(f"    {line}")


def _bundles(tests: list[Document], where: str) -> list[str]:
    return [f"diagnostics: {where}/{test['bundle']}" for test in tests if test["bundle"]][:SHOWN]


def _gates(terminal: Terminal, document: Document, where: str) -> None:
    """Write one line a gate, and under a red or yellow one what an engineer needs first."""
    gates = document["gates"]
    width = max(len(_name(gate)) for gate in gates)
    for gate in gates:
        tests = [test for test in document["tests"] if test["gate"] == gate["name"]]
        passed = f"{sum(test['verdict'] == Verdict.PASS for test in tests)} of {len(tests)} passed"
        verdict = gate["verdict"].upper()
        line = f"{_name(gate):<{width}}  {verdict:<12}  {passed:<16}  {show_duration(gate['seconds']):>9}"
        terminal.write_line(line, **COLOURS[gate["verdict"]])
        for detail in _details(tests, gate["again"], where):
            terminal.write_line(f"    {detail}")


def _stages(terminal: Terminal, gates: list[Document]) -> None:
    """Write what each stage took against its budget, gate by gate."""
    for gate in gates:
        for table in gate["stages"]:
            heading, *rows = stages.lines(table)
            terminal.write_line(f"{_name(gate)}: {heading[0]}")
            for line, standing in rows:
                terminal.write_line(line, **(COLOURS[standing] if standing else {}))


def _name(gate: Document) -> str:
    return gate["name"] or "(no gate)"


def _details(tests: list[Document], again: str | None, where: str) -> Iterator[str]:
    failed = [test for test in tests if test["verdict"] == Verdict.FAIL]
    poisons = [test["poison"]["what"] for test in failed if test["poison"]]
    found = [one for test in failed for one in test["findings"]]
    affected = [one["subject"] for one in found if one["source"] == Source.TRAFFIC] or [one["subject"] for one in found]
    if poisons:
        yield f"poison: {'; '.join(dict.fromkeys(poisons))}"
    if affected:
        yield f"affected: {', '.join(dict.fromkeys(affected))}"
    yield from _bundles(failed, where)
    if again:
        yield f"again: {again}"
