"""Stages in report.html: percentiles against budgets, and one waterfall a subject. No script, no picture: boxes."""

from collections.abc import Iterator
from html import escape

from edgegate.clock import show_duration
from edgegate.report.folder import Document
from edgegate.report.html import table
from edgegate.report.stages import standing

SHOWN = 25
"""Subjects with a waterfall, the slowest first; report.json has them all."""
OPEN = 3
"""With so many subjects or fewer, each waterfall is open; with more, that of the slowest alone."""
_KEY = (
    '<span class="key half"></span>half of the subjects <span class="key rest"></span>the rest '
    '<span class="key limit"></span>limits of p50 (short) and of max'
)
_FAR = 3.0
"""A limit that is so many times what was seen is not drawn: it would press all bars to the left."""


def percentiles(shown: Document) -> str:
    """Return a gate's table: what half, nearly all and all subjects took, each against its limit."""
    scale = _scale(shown["rows"])
    rows = [
        (
            f'<span class="stage {standing(row)}">{escape(row["stage"])}</span>',
            *(_number(row, measure) for measure in shown["measures"]),
            _track(row, scale),
        )
        for row in shown["rows"]
    ]
    many = f"{shown['subjects']} subject{'' if shown['subjects'] == 1 else 's'}" if shown["subjects"] else ""
    about = " · ".join(part for part in (many, shown["budgets"], shown["during"]) if part)
    head = ["stage", *shown["measures"], f"0 to {show_duration(scale)}"]
    listed = table(head, rows, numbers=range(1, len(head) - 1))
    return f'<p class="soft">{escape(about)} · {_KEY}</p>{listed}{"".join(map(_cause, shown["causes"]))}'


def subjects(group: Document) -> str:
    """Return the waterfall of each subject, the slowest first."""
    slowest = sorted(group["subjects"], key=_whole, reverse=True)
    if not slowest:
        return ""
    open_ones = len(slowest) if len(slowest) <= OPEN else 1
    about = ", ".join(part for part in (group["budgets"], group["during"]) if part)
    falls = "".join(
        _subject(one, group["limits"], " open" if at < open_ones else "") for at, one in enumerate(slowest[:SHOWN])
    )
    left = len(slowest) - SHOWN
    more = f'<p class="soft">and {left} more in report.json</p>' if left > 0 else ""
    return f"<h3>Stages{escape(f' ({about})' if about else '')}</h3>{falls}{more}"


def _subject(subject: Document, limits: Document, shown: str) -> str:
    scale = _whole(subject) or 1.0
    path = set(_path(subject))
    rows = [_step(time, limits, scale, in_path=time["stage"] in path) for time in subject["times"]]
    rows += [(f'<span class="fail">{escape(stage)}</span>', "never", "", "", "") for stage in subject["missing"]]
    head = ["stage", "after", "own", f"0 to {show_duration(scale)}", "seen by"]
    title = f'<code>{escape(subject["subject"])}</code> <span class="soft">{show_duration(_whole(subject))}</span>'
    body = table(head, rows, numbers=(1, 2))
    return f'<details class="fall"{shown}><summary>{title}</summary><div>{body}</div></details>'


def _step(time: Document, limits: Document, scale: float, *, in_path: bool) -> tuple[str, ...]:
    """Return a row: the bar begins where the stage that it waited for ended."""
    limit = limits.get(time["stage"], {}).get("max")
    late = limit is not None and time["seconds"] > limit
    kind = ("inconclusive" if time["saturated"] else "fail") if late else ""
    side = "" if in_path else " beside"
    began = time["seconds"] - time["own"]
    bar = _box(f"step {kind}{side}", began / scale, time["own"] / scale)
    mark = _mark(limit, scale, "max") if limit is not None and limit <= scale else ""
    waited = f"after {time['after']}" if time["after"] else ""
    busy = "" if time["own_busy"] is None else f", processor {time['own_busy']:.0%} busy"
    blind = f" (up to {show_duration(time['blind'])} older)" if time["blind"] > 0 else ""
    return (
        f'<span class="{kind}">{escape(time["stage"])}</span>',
        escape(show_duration(time["seconds"])),
        escape(show_duration(time["own"])) if time["after"] else "",
        f'<div class="track" title="{escape(waited + busy)}">{bar}{mark}</div>',
        f'<span class="soft">{escape(time["by"] + blind)}</span>',
    )


def _whole(subject: Document) -> float:
    return max((float(time["seconds"]) for time in subject["times"]), default=0.0)


def _path(subject: Document) -> Iterator[str]:
    """Yield the stages that led to the last one, each with the one that it waited for before it."""
    after = {time["stage"]: time["after"] for time in subject["times"]}
    at = subject["times"][-1]["stage"] if subject["times"] else None
    while at is not None:
        yield at
        at = after.get(at)


def _scale(rows: list[Document]) -> float:
    seen = max((row["max"] for row in rows if row["max"] is not None), default=0.0) or 1.0
    limits = [limit for row in rows for limit in row["limits"].values() if limit is not None and limit <= _FAR * seen]
    return float(max(seen, *limits)) if limits else float(seen)


def _number(row: Document, measure: str) -> str:
    if row[measure] is None:
        return "never"
    limit = row["limits"][measure]
    of = "" if limit is None else f'<br><span class="soft">≤ {show_duration(limit)}</span>'
    kind = standing(row) if measure in row["over"] else ""
    return f'<span class="{kind}">{show_duration(row[measure])}</span>{of}'


def _track(row: Document, scale: float) -> str:
    """Return a solid bar until the median, a pale one until the greatest, and marks at the limits."""
    if row["max"] is None:
        return ""
    half = _box(f"half {standing(row)}", 0.0, row["p50"] / scale)
    rest = _box(f"rest {standing(row)}", row["p50"] / scale, (row["max"] - row["p50"]) / scale)
    limits = [(measure, row["limits"][measure]) for measure in ("p50", "max")]
    marks = "".join(_mark(at, scale, measure) for measure, at in limits if at is not None and at <= scale)
    return f'<div class="track">{half}{rest}{marks}</div>'


def _cause(cause: Document) -> str:
    kind = "inconclusive" if cause["saturated"] else "fail"
    late = ", ".join(cause["stages"])
    return f'<p class="cause {kind}">{escape(cause["text"])} <span class="soft">late by it: {escape(late)}</span></p>'


def _box(kind: str, begin: float, width: float) -> str:
    return f'<i class="{kind.strip()}" style="left:{begin:.2%};width:{width:.2%}"></i>'


def _mark(limit: float, scale: float, measure: str) -> str:
    title = f"limit of {measure}: {show_duration(limit)}"
    return f'<b class="{measure}" style="left:{limit / scale:.2%}" title="{escape(title)}"></b>'
