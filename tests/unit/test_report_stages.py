"""Tables and waterfalls of stages, made from report.json's content and nothing else."""

from typing import Any

from edgegate.report import waterfall
from edgegate.report.stages import lines, tables

Group = dict[str, Any]


def _subject(name: str = "shop", *, missing: tuple[str, ...] = (), **at: float) -> dict[str, Any]:
    times: list[dict[str, Any]] = []
    before = None
    for stage, seconds in {"created": 0.0, **at}.items():
        own = seconds - (times[-1]["seconds"] if times else 0.0)
        times.append(
            {
                "stage": stage.replace("_", "-"),
                "seconds": seconds,
                "own": own,
                "after": before,
                "by": "a <probe>",
                "blind": 0.02,
                "own_busy": 0.5,
                "busy": 0.5,
                "saturated": False,
            }
        )
        before = times[-1]["stage"]
    return {"subject": name, "times": times, "missing": list(missing)}


def _judged(stage: str, seen: float | None, limit: float | None, **more: Any) -> dict[str, Any]:
    right = seen is not None and limit is not None and seen <= limit
    told = {"measure": "max", "eater": None, "ate": "" if right else f"{stage} ate it", "saturated": False}
    return {"stage": stage, "seen": seen, "limit": limit, "right": right, "subjects": 1, **told, **more}


def _test(*groups: Group) -> Group:
    return {
        "stages": [{"during": "", "budgets": "fast", "limits": {}, "subjects": [], "judged": [], **g} for g in groups]
    }


def test_tests_of_one_gate_are_one_table() -> None:
    """Percentiles over all subjects, the worst of what was judged."""
    first = {"subjects": [_subject(accepted=0.2)], "judged": [_judged("accepted", 0.2, 1.0)]}
    second = {"subjects": [_subject(accepted=4.0)], "judged": [_judged("accepted", 4.0, 1.0)]}

    (table,) = tables([_test(first), _test(second)])

    (row,) = table["rows"]
    assert (table["subjects"], row["p50"], row["max"], row["over"]) == (2, 0.2, 4.0, ["max"])
    assert row["limits"] == {"p50": None, "p95": None, "max": 1.0}
    assert table["causes"] == [{"text": "accepted ate it", "saturated": False, "stages": ["accepted"]}]


def test_phases_and_budgets_have_tables_of_their_own() -> None:
    group = {"subjects": [_subject(accepted=0.2)]}

    found = tables([_test(group, {**group, "during": "burst"}, {**group, "budgets": ""})])

    assert [next(lines(one)) for one in found] == [
        ("1 subject, fast; seconds/budget:", ""),
        ("1 subject, fast, burst; seconds/budget:", ""),
        ("1 subject, no budgets; seconds/budget:", ""),
    ]


def test_a_row_that_is_late_only_because_of_the_machine() -> None:
    group = {"subjects": [_subject(accepted=4.0)], "judged": [_judged("accepted", 4.0, 1.0, saturated=True)]}

    (table,) = tables([_test(group)])

    assert list(lines(table))[1:] == [
        ("  accepted           max 4.00/1.00     saturated", "inconclusive"),
        ("  accepted ate it", "inconclusive"),
    ]
    assert "inconclusive" in waterfall.percentiles(table)


def test_a_waterfall_has_a_bar_a_stage_and_is_escaped() -> None:
    group = {"during": "", "budgets": "a & b", "limits": {"accepted": {"max": 0.1}, "first-200": {"max": 9.0}}}

    html = waterfall.subjects({**group, "subjects": [_subject("<shop>", accepted=0.2, first_200=0.8)]})

    assert '<i class="step fail" style="left:0.00%;width:25.00%"></i>' in html
    assert '<b class="max" style="left:12.50%" title="limit of max: 100 ms"></b>' in html
    assert '<i class="step" style="left:25.00%;width:75.00%"></i>' in html
    assert 'title="after accepted, processor 50% busy"' in html
    assert "a &lt;probe&gt; (up to 20 ms older)" in html
    assert "<code>&lt;shop&gt;</code>" in html
    assert "<h3>Stages (a &amp; b)</h3>" in html


def test_a_stage_that_never_came_has_a_row() -> None:
    html = waterfall.subjects(
        {"during": "", "budgets": "", "limits": {}, "subjects": [_subject(accepted=0.2, missing=("programmed",))]}
    )

    assert '<span class="fail">programmed</span></td><td class="number">never</td>' in html


def test_of_many_subjects_the_slowest_are_shown_and_one_is_open() -> None:
    subjects = [_subject(f"shop-{number}", accepted=number + 1) for number in range(30)]

    html = waterfall.subjects({"during": "", "budgets": "", "limits": {}, "subjects": subjects})

    assert html.index("shop-29") < html.index("shop-28")
    assert "shop-4<" not in html
    assert "and 5 more in report.json" in html
    assert html.count('<details class="fall" open>') == 1


def test_nothing_to_show() -> None:
    assert waterfall.subjects({"during": "", "budgets": "", "limits": {}, "subjects": []}) == ""


def test_a_limit_far_away_is_not_drawn() -> None:
    group = {"subjects": [_subject(accepted=0.5)], "judged": [_judged("accepted", 0.5, 60.0)]}
    (table,) = tables([_test(group)])

    html = waterfall.percentiles(table)

    assert "≤ 60.00 s" in html
    assert "<b " not in html
    assert "0 to 500 ms" in html
