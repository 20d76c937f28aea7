"""`edgegate corpus`: what a rule set blocks and what it lets pass, case by case; and what a bump of it changes."""

import argparse
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table

from edgegate import arguments as table
from edgegate import pins as pin_files
from edgegate.artifacts import Artifact, Store
from edgegate.cli.talk import EXIT_DONE, EXIT_FAIL, Talk
from edgegate.corpus.examine import Material, examine, material
from edgegate.corpus.result import Change, Result, changes
from edgegate.errors import BadSetting
from edgegate.pins import Pins
from edgegate.resources import resource
from edgegate.settings import Settings

PINS = ("coraza", "coreruleset", "envoy")
"""What a run is made of."""
_SHOWN = 30
"""Lines of failures and changes on a terminal; `--json` has them all."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    corpus = resource("e2e/corpus")
    parser.add_argument("--against", metavar="VERSION", help="Another version of the rule set: show what it changes")
    parser.add_argument("--own", type=Path, default=corpus, metavar="FOLDER", help="Our own cases, as go-ftw has them")
    parser.add_argument(
        "--ignores", type=Path, metavar="FILE", help="Cases that may fail (built-in: FOLDER/ignores.toml)"
    )
    parser.add_argument(
        "--exclusions",
        type=Path,
        metavar="FILE",
        help="Harmless cases that are blocked, and what mends them (built-in: FOLDER/exclusions.toml)",
    )
    parser.add_argument("--directives", type=Path, metavar="FILE", help="Further directives of the enforcing policy")
    parser.add_argument("--waf-fault", default="", metavar="NAME", help="A defect that the firewall is to have")
    table.add_arguments(parser, ("set", "pins"))


def run(args: argparse.Namespace, talk: Talk) -> int:
    """Examine the rule set; fail when a case that is not ignored comes out otherwise."""
    settings = table.from_arguments(args, os.environ)
    pins = pin_files.load(settings.pins)
    artifacts = _artifacts(pins, settings, settings.set, talk)
    sent = _material(args, artifacts)
    result = examine(artifacts, sent, directives=args.directives, fault=args.waf_fault, say=talk.say)
    if args.against is None:
        talk.result(result.as_data(), _shown(result))
        return EXIT_FAIL if result.failed else EXIT_DONE
    if args.against == result.versions["coreruleset"]:
        raise BadSetting("--against", f"{args.against} is the version that is examined. Name another one.")
    other = _artifacts(pins, settings, {**settings.set, "coreruleset": args.against}, talk)
    # The same requests: what one version says about them is compared with what the other says.
    after = examine(other, replace(sent, ignored={}), directives=args.directives, say=talk.say)
    found = changes(result, after)
    talk.result(_delta_data(result, after, found), _delta_shown(result, after, found))
    return EXIT_FAIL if result.failed else EXIT_DONE


def _artifacts(pins: Pins, settings: Settings, versions: Mapping[str, str], talk: Talk) -> dict[str, Artifact]:
    selection = pins.select(versions, settings.parts("set"))
    with talk.progress() as progress:
        return Store(settings.cache).ensure_all(pins, selection, PINS, progress)


def _material(args: argparse.Namespace, artifacts: Mapping[str, Artifact]) -> Material:
    rules = artifacts["coreruleset"]
    ignores, exclusions = args.ignores or args.own / "ignores.toml", args.exclusions or args.own / "exclusions.toml"
    return material(
        rules.file("tests"),
        args.own,
        ignored=ignores if args.ignores or ignores.exists() else None,
        excluded=exclusions if args.exclusions or exclusions.exists() else None,
        rules=rules.file("rules"),
    )


def _shown(result: Result) -> RenderableType:
    data = result.as_data()
    took = ", ".join(f"{door} {seconds} s" for door, seconds in data["seconds"].items())
    versions = ", ".join(f"{name} {version}" for name, version in result.versions.items())
    cost = ", ".join(f"{name} {value}" for name, value in result.cost.items())
    caption = f"{versions} · {took} · {cost} · verdict {data['verdict']}"
    shown = Table("family", "as expected", "ignored", "failed", "blocked at level 1", caption=caption)
    for one in result.families():
        shown.add_row(one.name, str(one.passed), str(one.ignored), str(one.failed), str(one.blocked))
    shown.add_row("all", str(data["passed"]), str(data["ignored"]), str(len(data["failed"])), "")
    passed = len(result.benign) - len(result.wrongly_blocked)
    mended = f"{len(result.excluded)} known to be blocked although harmless, see exclusions.toml"
    lines = [
        f"harmless: {passed} of {len(result.benign)} passed; {mended}",
        *(f"control: {text}" for text in result.controls),
        *(f"{one.name}: {'; '.join(one.faults)}" for one in result.outcomes if one.failed),
        *(f"{name}: is ignored, but comes out as expected" for name in result.stale),
        *(f"{file}: holds no test" for file in result.empty),
    ]
    return Group(shown, *_cut(lines))


def _cut(lines: Sequence[str]) -> list[str]:
    """Return the first lines, as they are: what a case says may have brackets, which would be taken for styles."""
    more = len(lines) - _SHOWN
    return [*map(escape, lines[:_SHOWN]), *([f"… and {more} more: --json has them all"] if more > 0 else [])]


def _delta_data(before: Result, after: Result, found: Sequence[Change]) -> dict[str, object]:
    return {
        "before": before.as_data(),
        "after": {"versions": dict(after.versions), "controls": list(after.controls), "cost": dict(after.cost)},
        "changes": [vars(one) for one in found],
    }


def _delta_shown(before: Result, after: Result, found: Sequence[Change]) -> RenderableType:
    versions = f"{before.versions['coreruleset']} → {after.versions['coreruleset']}"
    shown = Table("family", "verdict", "cases", title=f"verdicts at paranoia level 1, {versions}")
    counted: dict[tuple[str, str], int] = {}
    for one in found:
        place = one.family, f"{one.before} → {one.after}"
        counted[place] = counted.get(place, 0) + 1
    for (family, what), count in sorted(counted.items()):
        shown.add_row(family, what, str(count))
    costs = [
        f"{one.versions['coreruleset']}: {', '.join(f'{name} {value}' for name, value in one.cost.items())}"
        for one in (before, after)
        if one.cost
    ]
    return Group(shown, *costs, *_cut([f"{one.name}: {one.before} → {one.after}" for one in found]))
