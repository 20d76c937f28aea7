"""report.html: one file that needs no network, made from report.json's content and nothing else."""

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from edgegate.clock import show_duration
from edgegate.records import Verdict
from edgegate.report import waterfall
from edgegate.report.folder import Document
from edgegate.report.html import table

_STYLE = Path(__file__).with_name("page.css")
# The policy forbids every request, so that a report opened years later tells the same, and tells nobody.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def render(document: Document) -> str:
    """Return the page."""
    verdict = document["verdict"] or "none"
    return "\n".join(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>edgegate: {escape(verdict)}</title><style>{_STYLE.read_text()}</style></head><body><main>",
            f"<header><h1>Edge verdict</h1>{_badge(verdict)}<span>{_running(document)}</span></header>",
            f'<p class="soft">{_when(document)}</p>',
            *_gates(document),
            *_tests("What did not pass", [one for one in document["tests"] if one["verdict"] != Verdict.PASS]),
            *_stages(document["gates"]),
            *_tests("Passed", [one for one in document["tests"] if one["verdict"] == Verdict.PASS]),
            *_asked(document),
            *_idle_waivers(document["waivers"]),
            "</main></body></html>\n",
        ]
    )


def _badge(verdict: str) -> str:
    return f'<span class="badge {escape(verdict)}">{escape(verdict.upper())}</span>'


def _running(document: Document) -> str:
    running = document["versions"]["running"]
    pair = [f"{name} {running[name]}" for name in ("envoy-gateway", "envoy") if name in running]
    return escape(" × ".join(pair))


def _when(document: Document) -> str:
    ready = document["edge"]["ready_seconds"]
    parts = [
        f"{document['started']}",
        f"took {show_duration(document['seconds'])}",
        "" if ready is None else f"edge ready after {show_duration(ready)}",
        f"exit status {document['exit_status']}",
        f"edgegate {document['edgegate']}",
    ]
    return escape(" · ".join(part for part in parts if part))


def _gates(document: Document) -> list[str]:
    rows = [
        (
            f'<span class="stage">{escape(gate["name"] or "(no gate)")}</span>',
            _badge(gate["verdict"]),
            str(len(gate["tests"])),
            escape(show_duration(gate["seconds"])),
            f"<code>{escape(gate['again'])}</code>" if gate["again"] else "",
        )
        for gate in document["gates"]
    ]
    if not rows:
        return ["<p>No test used the edge.</p>"]
    listed = table(["gate", "verdict", "tests", "time", "again"], rows, numbers=(2, 3))
    used = [one for one in document["waivers"] if one["used"]]
    return ["<h2>Gates</h2>", listed, *(["<h2>Waivers</h2>", _waivers(used)] if used else [])]


def _waivers(waivers: list[Document]) -> str:
    rows = [
        [*(escape(one[key]) for key in ("name", "gate", "reason", "link", "expires")), str(len(one["used"]))]
        for one in waivers
    ]
    return table(["waiver", "gate", "reason", "link", "until", "tests"], rows, numbers=(4, 5))


def _idle_waivers(waivers: list[Document]) -> list[str]:
    """Return those that spared no test, folded: a project may have many, and they say nothing of this run."""
    idle = [one for one in waivers if not one["used"]]
    if not idle:
        return []
    title = f"{len(idle)} {'waiver' if len(idle) == 1 else 'waivers'} that spared no test of this run"
    return [f"<details><summary>{title}</summary><div>{_waivers(idle)}</div></details>"]


def _stages(gates: list[Document]) -> list[str]:
    """Return percentiles against budgets, gate by gate."""
    shown = [
        f"<h3>{escape(gate['name'] or '(no gate)')}</h3>{waterfall.percentiles(one)}"
        for gate in gates
        for one in gate["stages"]
    ]
    return ["<h2>Stages against budgets</h2>", *shown] if shown else []


def _tests(title: str, tests: list[Document]) -> list[str]:
    return [f"<h2>{title}</h2>", *map(_test, _worst_first(tests))] if tests else []


def _worst_first(tests: list[Document]) -> list[Document]:
    order = [Verdict.FAIL, Verdict.INCONCLUSIVE, Verdict.WAIVED, Verdict.PASS]
    return sorted(tests, key=lambda test: order.index(Verdict(test["verdict"])))


def _test(test: Document) -> str:
    shown = "" if test["verdict"] == Verdict.PASS else " open"
    parts = [
        _fact("Waiver", test["waiver"] and "{name}, until {expires}: {reason} {link}".format(**test["waiver"])),
        _fact("Poison", test["poison"] and f"{test['poison']['what']} (live: {test['poison']['evidence']})"),
        _phases(test),
        _findings(test["findings"]),
        "" if test["findings"] else _block("Reason", test["reason"]),
        *(_block(f"Inconclusive in {fault['phase']}", fault["reason"]) for fault in test["faults"][1:]),
        *(_fact("Note", note) for note in test["notes"]),
        *(f"<h3>{escape(one['title'])}</h3>{_plain_table(one)}" for one in test["tables"]),
        _timings(test["timings"]),
        *(waterfall.subjects(group) for group in test["stages"]),
        _fact("Running", ", ".join(f"{name} {version}" for name, version in sorted(test["running"].items()))),
        _block("Again", test["again"]),
        _fact("Diagnostics", test["bundle"]),
    ]
    took = f'<span class="soft">{show_duration(test["seconds"])}</span>'
    title = f"{_badge(test['verdict'])} <code>{escape(test['id'])}</code> {took}"
    return f"<details{shown}><summary>{title}</summary><div>{''.join(parts)}</div></details>"


def _fact(name: str, text: str | None) -> str:
    return f'<p><span class="soft">{name}:</span> {escape(text)}</p>' if text else ""


def _block(name: str, text: str | None) -> str:
    return f"<h3>{escape(name)}</h3><pre>{escape(text)}</pre>" if text else ""


def _findings(findings: list[Document]) -> str:
    if not findings:
        return ""
    rows = [[escape(one[key]) for key in ("source", "during", "subject", "expected", "seen")] for one in findings]
    return f"<h3>Findings</h3>{table(['source', 'during', 'affected', 'expected', 'seen'], rows)}"


def _phases(test: Document) -> str:
    """Return the phases in their order; one with a finding is red."""
    wrong = {one["during"] for one in test["findings"]}
    marks = [f'<span class="{"fail" if name in wrong else "pass"}">{escape(name)}</span>' for name in test["phases"]]
    return f'<p><span class="soft">Phases:</span> {" → ".join(marks)}</p>' if marks else ""


def _plain_table(shown: dict[str, Any]) -> str:
    return table(shown["columns"], [[escape(cell) for cell in row] for row in shown["rows"]])


def _timings(timings: dict[str, float]) -> str:
    """Return one bar a stage, on a common scale."""
    if not timings:
        return ""
    longest = max(timings.values()) or 1.0
    rows = [
        (
            escape(stage),
            escape(show_duration(seconds)),
            f'<div class="bar" style="width:{seconds / longest:.1%}"></div>',
        )
        for stage, seconds in timings.items()
    ]
    return f"<h3>Timings</h3>{table(['stage', 'time', ''], rows, numbers=(1,))}"


def _usage(used: Sequence[Document]) -> list[str]:
    """Return what each part of the edge used at the end of the run, the largest first."""
    rows = [
        (escape(one["name"]), f"{one['memory_mib']:,.1f}", f"{one['cpu_seconds']:,.1f}")
        for one in sorted(used, key=lambda one: -float(one["memory_mib"]))
    ]
    if not rows:
        return []
    whole = (
        "<b>together</b>",
        *(f"{sum(float(one[key]) for one in used):,.1f}" for key in ("memory_mib", "cpu_seconds")),
    )
    listed = table(["part", "memory, MiB", "processor, s"], [*rows, whole], numbers=(1, 2))
    return ["<h2>Used at the end</h2>", listed]


def _asked(document: Document) -> list[str]:
    asked, running = document["versions"]["asked"], document["versions"]["running"]
    nobody = {"version": "", "origin": ""}
    rows = [
        [escape(cell) for cell in (name, *asked.get(name, nobody).values(), running.get(name, ""))]
        for name in sorted({*asked, *running})
    ]
    settings = [[escape(one[key]) for key in ("name", "value", "origin")] for one in document["settings"]]
    return [
        "<h2>Versions</h2>",
        table(["component", "asked", "asked by", "running"], rows),
        *_usage(document["edge"].get("usage", ())),
        "<h2>Settings</h2>",
        table(["setting", "value", "set by"], settings),
    ]
