"""A malformed or contradictory slo.toml is refused with file, key and accepted form; ours is right."""

from pathlib import Path

import pytest

from edgegate import slo
from edgegate.errors import SloFault
from edgegate.resources import resource
from edgegate.stages import Stage

VALID = """\
[objective]
max = "60s"
source = "the SLO"
why = "nobody waits longer"

[growth]
factor = 2
subjects = 100
floor = "200ms"
source = "the target"
why = "cost grows"

[budget.reference.fast.one.first-200]
p50 = "1s"
p95 = "2s"
max = "3s"
source = "measured"
why = "enough"
"""
STAGES = (
    "accepted, programmed, address-resolves, record-programmed, record-answers, challenge-presented, "
    "challenge-solved, certificate-ready, first-200, first-trusted-200, n-in-a-row"
)
DURATION = 'Accepted: a duration with a unit, as in "250ms" or "3s"'
ONE = "budget.reference.fast.one.first-200"


def _spoiled(right: str, wrong: str) -> str:
    assert right in VALID
    return VALID.replace(right, wrong, 1)


def _without(table: str) -> str:
    return "\n\n".join(part for part in VALID.split("\n\n") if not part.startswith(f"[{table}"))


CASES = {
    "no TOML": ("[slo", "is no TOML: Expected ']' at the end of a table declaration"),
    "other table": (VALID + "[budgets]\n", "budgets is unknown. Accepted: one of budget, growth, objective."),
    "no objective": (_without("objective"), "objective is missing. Accepted: a table [objective]."),
    "no growth": (_without("growth"), "growth is missing. Accepted: a table [growth]."),
    "no budget": (_without("budget"), "budget is missing. Accepted: a table [budget]."),
    "objective is no table": ("objective = 60\n", "objective is a number. Accepted: a table."),
    "no condition": (
        _without("budget") + "\n\n[budget]\n",
        "budget has no condition. Accepted: tables [budget.<operator>.<setting>.<load>.<stage>].",
    ),
    "no conditions of an operator": (_without("budget") + "\n\n[budget.real]\n", "budget has no condition."),
    "operator": (_spoiled("reference", "ours"), "budget.ours is unknown. Accepted: one of reference, real."),
    "setting": (
        _spoiled("fast", "quick"),
        "budget.reference.quick is unknown. Accepted: one of fast, production.",
    ),
    "load": (
        _spoiled("fast.one", "fast.two"),
        "budget.reference.fast.two is unknown. Accepted: one of one, burst, fresh-zone, full-zone.",
    ),
    "stage": (
        _spoiled("first-200", "first-201"),
        f"budget.reference.fast.one.first-201 is no stage with a budget. Accepted: one of {STAGES}.",
    ),
    "the first stage": (
        _spoiled("first-200", "created"),
        f"budget.reference.fast.one.created is no stage with a budget. Accepted: one of {STAGES}.",
    ),
    "stage is no table": (
        _without("budget") + "\n\n[budget.reference.fast.one]\naccepted = '1s'\n",
        "budget.reference.fast.one.accepted is a text. Accepted: a table.",
    ),
    "unknown key": (
        _spoiled('why = "enough"', 'why = "enough"\np99 = "9s"'),
        f"{ONE}.p99 is unknown. Accepted: one of max, p50, p95, source, why.",
    ),
    "no max": (_spoiled('max = "3s"\n', ""), f"{ONE}.max is missing. {DURATION}."),
    "no unit": (_spoiled('"1s"', '"1"'), f"{ONE}.p50 is '1'. {DURATION}."),
    "a number": (_spoiled('"1s"', "1"), f"{ONE}.p50 is a number. {DURATION}."),
    "nothing": (_spoiled('"1s"', '"0s"'), f"{ONE}.p50 is '0s'. {DURATION}, above 0."),
    "p50 above p95": (_spoiled('"1s"', '"2500ms"'), f"{ONE}.p50 is 2.50 s. Accepted: at most p95, which is 2.00 s."),
    "p95 above max": (_spoiled('"2s"', '"4s"'), f"{ONE}.p95 is 4.00 s. Accepted: at most max, which is 3.00 s."),
    "p50 above max": (
        _spoiled('p50 = "1s"\np95 = "2s"', 'p50 = "4s"'),
        f"{ONE}.p50 is 4.00 s. Accepted: at most max, which is 3.00 s.",
    ),
    "above the objective": (
        _spoiled('"3s"', '"2m"'),
        f"{ONE}.max is 2 min 0 s. Accepted: at most the objective, which is 60.00 s.",
    ),
    "no source": (_spoiled('source = "measured"\n', ""), f"{ONE}.source is missing. Accepted: a text."),
    "no why": (_spoiled('why = "enough"', 'why = ""'), f"{ONE}.why is empty. Accepted: a text."),
    "objective without source": (
        _spoiled('source = "the SLO"\n', ""),
        "objective.source is missing. Accepted: a text.",
    ),
    "objective with more": (
        _spoiled('max = "60s"', 'max = "60s"\np50 = "30s"'),
        "objective.p50 is unknown. Accepted: one of max, source, why.",
    ),
    "objective is nothing": (_spoiled('"60s"', '"soon"'), f"objective.max is 'soon'. {DURATION}."),
    "factor is missing": (
        _spoiled("factor = 2\n", ""),
        "growth.factor is missing. Accepted: a number from 1 on, as in 2.0.",
    ),
    "factor is a text": (_spoiled("factor = 2", 'factor = "2"'), "growth.factor is a text. Accepted: a number"),
    "factor is a switch": (_spoiled("factor = 2", "factor = true"), "growth.factor is true or false. Accepted:"),
    "factor below 1": (_spoiled("factor = 2", "factor = 0.5"), "growth.factor is 0.5. Accepted: a number from 1 on"),
    "subjects": (_spoiled("= 100", "= 1"), "growth.subjects is 1. Accepted: a whole number above 1."),
    "half a subject": (_spoiled("= 100", "= 99.5"), "growth.subjects is 99.5. Accepted: a whole number above 1."),
    "growth with more": (
        _spoiled("factor = 2", "factor = 2\nfactors = 3"),
        "growth.factors is unknown. Accepted: one of accepted, address-resolves, certificate-ready, "
        "challenge-presented, challenge-solved, factor, first-200, first-trusted-200, floor, n-in-a-row, programmed, "
        "record-answers, record-programmed, source, subjects, why.",
    ),
    "growth of a stage below 1": (
        VALID + '[growth.first-200]\nfactor = 0.5\nsource = "s"\nwhy = "w"\n',
        "growth.first-200.factor is 0.5. Accepted: a number from 1 on",
    ),
    "growth of a stage without why": (
        VALID + '[growth.first-200]\nfactor = 3\nsource = "s"\n',
        "growth.first-200.why is missing. Accepted: a text.",
    ),
    "growth of a stage with more": (
        VALID + '[growth.first-200]\nfactor = 3\nsource = "s"\nwhy = "w"\nfloor = "1s"\n',
        "growth.first-200.floor is unknown. Accepted: one of factor, source, why.",
    ),
    "growth of no stage": (
        VALID + '[growth.created]\nfactor = 3\nsource = "s"\nwhy = "w"\n',
        "growth.created is unknown. Accepted: one of accepted,",
    ),
}


@pytest.mark.parametrize(("text", "said"), CASES.values(), ids=CASES.keys())
def test_what_is_wrong_is_named(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "slo.toml"
    path.write_text(text)

    with pytest.raises(SloFault) as raised:
        slo.load(path)

    assert str(raised.value).startswith(f"{path}: {said}")


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(SloFault, match=r"slo.toml: cannot be read: No such file or directory. Accepted: a readable"):
        slo.load(tmp_path / "slo.toml")


def test_what_it_says(tmp_path: Path) -> None:
    path = tmp_path / "slo.toml"
    path.write_text(VALID + '[growth.first-200]\nfactor = 3\nsource = "s"\nwhy = "w"\n')

    read = slo.load(path)

    budgets = read.budgets("reference", "fast", "one")
    first = budgets.stages[Stage.FIRST_200]
    assert (first.p50, first.p95, first.most, first.source, first.why) == (1.0, 2.0, 3.0, "measured", "enough")
    assert budgets.name == "reference fast one"
    assert (read.growth.factor, read.growth.subjects, read.growth.floor) == (2.0, 100, 0.2)
    assert read.growth.factors == {Stage.FIRST_200: 3.0}


def test_the_objective_stands_in_for_stages_without_a_budget(tmp_path: Path) -> None:
    path = tmp_path / "slo.toml"
    path.write_text(VALID)

    stages = slo.load(path).budgets("reference", "fast", "one").stages

    assert stages[Stage.ACCEPTED].most == 60
    assert set(stages) == set(Stage) - {Stage.CREATED}


def test_a_condition_that_is_not_there_is_named(tmp_path: Path) -> None:
    path = tmp_path / "slo.toml"
    path.write_text(VALID)

    with pytest.raises(SloFault) as raised:
        slo.load(path).budgets("real", "production", "burst")

    said = "budget.real.production.burst is missing. Accepted: it; there are reference.fast.one."
    assert str(raised.value) == f"{path}: {said}"


def test_ours_has_what_the_gates_ask_for() -> None:
    """Every condition is there, every stage of one subject has a budget of its own, and the targets are in."""
    ours = slo.load(resource("slo.toml"))

    for operator, setting in [("reference", "fast"), ("reference", "production")]:
        own = ours.stages[operator, setting, "one"]
        assert set(own) == set(Stage) - {Stage.CREATED}
    assert {("real", "fast", "one"), ("real", "production", "one"), ("reference", "fast", "burst")} <= set(ours.stages)
    trusted = ours.stages["reference", "fast", "one"][Stage.FIRST_TRUSTED_200]
    assert (trusted.p50, trusted.most) == (3, 5)
    assert ours.stages["reference", "production", "one"][Stage.FIRST_TRUSTED_200].most == 12
    assert ours.stages["reference", "fast", "burst"][Stage.FIRST_TRUSTED_200].most == 30
    assert ours.end_to_end.most == 60
