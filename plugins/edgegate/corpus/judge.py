"""Judge what was seen: the rules that matched, the verdict on a request, and whether the run can be believed."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from edgegate.corpus.cases import Case, Expected, Request, Stage
from edgegate.corpus.policies import DETECT, ENFORCE
from edgegate.corpus.rig import Rig
from edgegate.corpus.run import Run, Seen, Verdict, run
from edgegate.corpus.wire import encode, exchange
from edgegate.errors import FirewallMissing

BLOCKED, PASSED, REFUSED, ENVOY, UNSEEN, NOTHING = "blocked", "passed", "refused", "envoy", "unseen", "nothing"
"""Verdicts on a request: the firewall blocked it; it reached the origin; it was over a limit of the firewall; Envoy
itself refused it; it was answered and the firewall does not know of it; no answer came."""


def verdict(seen: Seen) -> str:
    """Return the verdict on one request. A 400 of Envoy's is no block: the firewall never saw such a request."""
    if seen.verdict is None:
        status = seen.answer.status
        return NOTHING if status is None else ENVOY if status >= 400 else UNSEEN
    if seen.verdict.word == "blocked":
        return BLOCKED if seen.answer.status == 403 else f"blocked with {seen.answer.status}"
    if seen.verdict.word == "refused":
        return REFUSED
    return NOTHING if seen.answer.status is None else PASSED


def case_verdict(stages: Sequence[Seen]) -> str:
    """Return the verdict on a case: that on its last request, which is the one that it is about."""
    return verdict(stages[-1])


def rule_faults(case: Case, stages: Sequence[Seen], *, status: bool = True) -> list[str]:
    """Return what is not as the case expects, by rules, log and status; empty when all is.

    Args:
        case: the case.
        stages: how it went with the observing policy.
        status: whether the expected status is meant for that one; in a corpus of ours it is a verdict instead.
    """
    expected = [stage.expected if status else replace(stage.expected, status=None) for stage in case.stages]
    return [text for one, seen in zip(expected, stages, strict=True) for text in _stage_faults(one, seen)]


def _stage_faults(expected: Expected, seen: Seen) -> Iterator[str]:
    status = seen.answer.status
    if expected.error and status is not None:
        yield f"expected no answer, seen {status}"
    if expected.status is not None and status != expected.status:
        yield f"expected status {expected.status}, seen {status or seen.answer.error or 'no answer'}"
    if seen.verdict is not None:
        yield from _log_faults(expected, seen.verdict)
    elif expected.asks_the_firewall:
        yield f"the firewall did not see it: {status or seen.answer.error or 'no answer'}"


def _log_faults(expected: Expected, found: Verdict) -> Iterator[str]:
    if missing := [rule for rule in expected.ids if rule not in found.rules]:
        yield f"expected rules {_words(missing)}, seen {_words(sorted(found.rules)) or 'none'}"
    if unwanted := [rule for rule in expected.no_ids if rule in found.rules]:
        yield f"rules {_words(unwanted)} must not match"
    if expected.matches and not re.search(expected.matches, found.log, re.DOTALL):
        yield f"nothing in the log is like {expected.matches!r}"
    if expected.no_match and re.search(expected.no_match, found.log, re.DOTALL):
        yield f"something in the log is like {expected.no_match!r}"


def verdict_faults(case: Case, stages: Sequence[Seen]) -> list[str]:
    """Return what is not as a case of ours expects with the enforcing policy: 403 is a block, 200 is none."""
    faults = []
    for stage, seen in zip(case.stages, stages, strict=True):
        wanted = BLOCKED if stage.expected.status == 403 else PASSED
        found = verdict(seen)
        if found != wanted:
            rules = _words(sorted(seen.verdict.rules)) if seen.verdict else ""
            faults.append(f"expected {wanted}, seen {found}" + (f" by {rules}" if rules else ""))
        elif wanted == PASSED and seen.answer.status != stage.expected.status:
            faults.append(f"expected status {stage.expected.status}, seen {seen.answer.status}")
    return faults


def _words(rules: Sequence[int]) -> str:
    return ", ".join(str(rule) for rule in rules)


_PLAIN = {"Host": "localhost", "User-Agent": "edgegate", "Accept": "*/*"}
ATTACK = Case(
    "control-attack", "controls", "a script in the query must be blocked",
    (Stage(Request(uri="/?q=%3Cscript%3Ealert(1)%3C/script%3E", headers=_PLAIN), Expected(ids=(941100,), status=403)),),
)  # fmt: skip
HARMLESS = Case(
    "control-harmless", "controls", "a plain request must pass",
    (Stage(Request(uri="/?q=hello", headers=_PLAIN), Expected(status=200)),),
)  # fmt: skip


def control(rig: Rig) -> list[str]:
    """Return what is wrong with the run itself; empty when its verdicts can be believed.

    Raises:
        FirewallMissing: the attack does not even pass where no firewall is, so a block proves nothing.
    """
    open_door = exchange(rig.without, encode(ATTACK.stages[0].request, "none"))
    if open_door.status != 200:
        seen = str(open_door.status or open_door.error)
        raise FirewallMissing("without it the attack must reach the origin", seen=seen)
    enforced, detected = run(rig, ENFORCE, [ATTACK, HARMLESS]), run(rig, DETECT, [ATTACK, HARMLESS])
    faults = [
        f"{case.name}: {text}" for case in (ATTACK, HARMLESS) for text in verdict_faults(case, enforced.seen[case.name])
    ]
    return faults + _detection(detected)


def _detection(detected: Run) -> list[str]:
    faults = []
    for case, rules in ((ATTACK, True), (HARMLESS, False)):
        seen = detected.seen[case.name][0]
        if verdict(seen) != PASSED:
            faults.append(f"{case.name}, observed: expected {PASSED}, seen {verdict(seen)}")
        found = bool(seen.verdict and 949110 in seen.verdict.rules)
        if found != rules:
            faults.append(f"{case.name}, observed: rule 949110 {'must' if rules else 'must not'} match")
    return faults
