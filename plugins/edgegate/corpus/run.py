"""Send a corpus through a door of the firewall and collect what the firewall and the client saw."""

import json
import secrets
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from edgegate.clock import MONOTONIC, Deadline
from edgegate.corpus.cases import Case
from edgegate.corpus.rig import Rig
from edgegate.corpus.wire import Answer, encode, exchange
from edgegate.errors import FirewallMissing

THREADS = 4
"""Requests at once: two processors are busy with that, and no request waits long for its turn."""
_LATE = 5.0
"""Seconds for which verdicts may come after the last answer; they are written when Envoy has ended the stream."""


@dataclass(frozen=True)
class Verdict:
    """What the firewall says about one request."""

    word: str
    """`passed`, `detected`, `blocked` or `refused`."""
    rules: frozenset[int]
    """The rules that matched and say so in the log."""
    log: str
    """What they log, where the case asks about that."""
    reason: str = ""
    """Why it was refused or not fully inspected."""

    @classmethod
    def from_line(cls, raw: Mapping[str, Any]) -> "Verdict":
        """Return the verdict that a line of the file holds."""
        return cls(raw["verdict"], frozenset(raw["rules"] or ()), raw.get("log", ""), raw.get("reason", ""))


@dataclass(frozen=True)
class Seen:
    """One stage of a case as it went."""

    answer: Answer
    """What the client got."""
    verdict: Verdict | None
    """None where the firewall did not see the request: Envoy refused it."""


@dataclass(frozen=True)
class Run:
    """A corpus that went through one door."""

    seen: Mapping[str, tuple[Seen, ...]] = field(default_factory=dict)
    """Name of a case to its stages."""
    seconds: float = 0.0
    """From the first request to the last verdict."""

    @property
    def requests(self) -> int:
        """How many requests were sent."""
        return sum(len(stages) for stages in self.seen.values())


def run(rig: Rig, door: str, cases: Sequence[Case]) -> Run:
    """Send every case and return what was seen.

    Raises:
        FirewallMissing: the firewall's process ended, or it has seen none of the requests.
    """
    began, mark = time.monotonic(), secrets.token_hex(4)
    start = rig.verdicts.stat().st_size if rig.verdicts.exists() else 0

    def send(case: Case) -> list[Answer]:
        return [
            exchange(rig.doors[door], encode(stage.request, key(mark, case, number)))
            for number, stage in enumerate(case.stages)
        ]

    with ThreadPoolExecutor(THREADS) as threads:
        answers = list(threads.map(send, cases))
    wanted = sum(1 for several in answers for answer in several if answer.status not in (None, 400))
    verdicts = _verdicts(rig, start, wanted)
    _check(rig, verdicts, answers)
    seen = {
        case.name: tuple(Seen(answer, verdicts.get(key(mark, case, number))) for number, answer in enumerate(several))
        for case, several in zip(cases, answers, strict=True)
    }
    return Run(seen, time.monotonic() - began)


def key(mark: str, case: Case, number: int) -> str:
    """Return the word by which a request's verdict is found."""
    asked = case.stages[number].expected
    return f"{mark}.{case.name}.{number}" + (".log" if asked.matches or asked.no_match else "")


def _verdicts(rig: Rig, start: int, wanted: int) -> dict[str, Verdict]:
    """Return the verdicts by their keys; wait until all that can be expected are there, or no more come."""
    deadline, before = Deadline.after(_LATE), -1
    while True:
        lines = _lines(rig.verdicts, start)
        settled = len(lines) >= wanted or (len(lines) == before and deadline.left() < _LATE - 1)
        if settled or deadline.left() <= 0:
            found = [json.loads(line) for line in lines]
            return {line["case"]: Verdict.from_line(line) for line in found}
        before = len(lines)
        MONOTONIC.sleep(0.3)


def _lines(path: Path, start: int) -> list[bytes]:
    """Return the whole lines that were added."""
    if not path.exists():
        return []
    with path.open("rb") as file:
        file.seek(start)
        return file.read().split(b"\n")[:-1]


def _check(rig: Rig, verdicts: Mapping[str, Verdict], answers: Sequence[Sequence[Answer]]) -> None:
    status = rig.firewall.poll()
    if status is not None:
        raise FirewallMissing(
            f"its process ended with status {status} during the run", seen=f"{len(verdicts)} verdicts"
        )
    if answers and not verdicts:
        statuses = sorted({str(answer.status) for several in answers for answer in several})
        raise FirewallMissing("not one request reached it", seen=f"answers {', '.join(statuses)}")
