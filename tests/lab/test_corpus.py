"""The corpus runner against a real firewall and a real Envoy: green where it is sound, red on each of its faults."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from edgegate import pins
from edgegate.artifacts import Artifact, Store
from edgegate.cli.corpus import PINS
from edgegate.corpus.examine import Material, examine, material
from edgegate.corpus.rig import rig
from edgegate.corpus.run import run
from edgegate.errors import DirectiveRefused, FirewallMissing
from edgegate.resources import resource


@pytest.fixture(scope="module")
def artifacts() -> dict[str, Artifact]:
    """Return what a run is made of."""
    known = pins.load(resource("pins.toml"))
    return Store().ensure_all(known, known.select(), PINS)


@pytest.fixture(scope="module")
def ours(artifacts: Mapping[str, Artifact]) -> Material:
    """Return our own cases without those of the rule set, which take 40 s."""
    rules, own = artifacts["coreruleset"], resource("e2e/corpus")
    whole = material(
        rules.file("tests"),
        own,
        ignored=own / "ignores.toml",
        rules=rules.file("rules"),
        excluded=own / "exclusions.toml",
    )
    return replace(whole, theirs=replace(whole.theirs, cases=()))


def test_sound_firewall(artifacts: Mapping[str, Artifact], ours: Material) -> None:
    """Every attack is blocked and everything harmless passes; what else is blocked is known, and what mends it."""
    result = examine(artifacts, ours)
    assert result.as_data()["failed"] == {}
    assert result.wrongly_blocked == ()
    assert result.controls == ()
    assert result.stale == ()


FAULTS = {
    "enforce-ignored": "control-attack: expected blocked, seen passed",
    "empty-error": "control-attack: expected blocked, seen blocked with 500",
    "observe-enforced": "control-attack, observed: expected passed, seen blocked",
}


@pytest.mark.parametrize(("fault", "said"), FAULTS.items(), ids=FAULTS)
def test_faults_are_seen(artifacts: Mapping[str, Artifact], ours: Material, fault: str, said: str) -> None:
    """The controls alone show them."""
    few = replace(ours, ours=replace(ours.ours, cases=ours.ours.cases[:1]), excluded=())
    result = examine(artifacts, few, fault=fault)
    assert any(text.startswith(said) for text in result.controls), result.controls


def test_exclusion_that_mends_nothing(artifacts: Mapping[str, Artifact], ours: Material) -> None:
    """It is told with the rules that still block; one that lets attacks pass is told too."""
    useless = replace(ours.excluded[0], ids=(942100,))
    careless = replace(ours.excluded[1], ids=(949110,))
    names = {*useless.harmless, *useless.attacks, *careless.harmless, *careless.attacks}
    few = replace(ours.ours, cases=tuple(case for case in ours.ours.cases if case.name in names))
    result = examine(artifacts, replace(ours, ours=few, excluded=(useless, careless)))
    assert set(result.as_data()["failed"]) == {*useless.harmless, *careless.attacks}


def test_directive_that_is_refused(artifacts: Mapping[str, Artifact], ours: Material, tmp_path: Path) -> None:
    """Policy and line are named, and nothing is sent."""
    file = tmp_path / "own.conf"
    file.write_text('# ours\nSecAction "id:1001,phase:1,pass,nolog"\nSecAction "id:1,setvar:foo"\n')
    with pytest.raises(DirectiveRefused, match=r"policy corpus/enforce is refused, line 3 of its directives"):
        examine(artifacts, ours, directives=file)


def test_firewall_that_ends(artifacts: Mapping[str, Artifact], ours: Material) -> None:
    """Nothing follows for the rule set: inconclusive."""
    with rig(artifacts) as running:
        running.firewall.kill()
        running.firewall.wait()
        with pytest.raises(FirewallMissing, match="its process ended with status -9"):
            run(running, "enforce", ours.ours.cases[:3])


def test_firewall_that_does_not_start(artifacts: Mapping[str, Artifact], ours: Material) -> None:
    """Its last words are shown."""
    with pytest.raises(FirewallMissing, match=r'(?s)waf ended with status 1.*"oops" is unknown'):
        examine(artifacts, ours, fault="oops")
