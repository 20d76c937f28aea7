"""What one pytest process knows about its run. The controller and every worker have one, in `config.stash`."""

import shlex
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol

import pytest

from edgegate.errors import EnvironmentFault
from edgegate.forms import PARTS
from edgegate.records import Finding, Verdict
from edgegate.report.folder import RunFolder
from edgegate.report.gate import Gate
from edgegate.waivers import Waivers

INCONCLUSIVE_STATUS = 75
"""EX_TEMPFAIL of sysexits.h: the surroundings broke, a later try may work."""


@dataclass(frozen=True)
class Asked:
    """The settings of the run, as the report needs them."""

    settings: list[dict[str, str]] = field(default_factory=list)
    """`name`, `value` and `origin` of each."""
    versions: dict[str, dict[str, str]] = field(default_factory=dict)
    """Component to `version` and `origin`."""
    repeat: tuple[str, ...] = ()
    """Flags with which the same edge comes up again, and stays."""
    directory: str = ""
    """Where `repeat` must be typed; empty when it is where the user is."""
    diagnostics_limit: float = 10
    """Seconds for one source of a bundle."""

    def command(self, tests: Sequence[str]) -> str:
        """Return the command line that runs these tests again, on an edge that is kept."""
        typed = shlex.join(["pytest", *tests, *self.repeat])
        return f"cd {shlex.quote(self.directory)} && {typed}" if self.directory else typed


class Trouble(Protocol):
    """Tells what has befallen an edge."""

    def __call__(self, *, thorough: bool) -> EnvironmentFault | None:
        """Return it, None while the edge is sound."""
        ...


@dataclass
class Tested:
    """What is known about one test that uses the edge, or that was inconclusive."""

    id: str
    """Its node id."""
    gate: str = ""
    """The gate that it belongs to; empty for a test that is no gate."""
    verdict: Verdict = Verdict.PASS
    """The worst that one of its phases said."""
    seconds: float = 0
    """Seconds of set-up, call and teardown together."""
    phase: str = ""
    """The phase that decided: setup, call or teardown; empty when it passed."""
    reason: str = ""
    """Why it failed or was inconclusive."""
    faults: list[dict[str, str]] = field(default_factory=list)
    """`phase` and `reason` of each phase that was inconclusive, those of a test that also failed included."""
    evidence: dict[str, Any] = field(default_factory=dict)
    """What it told through the fixture `gate`."""
    waiver: dict[str, Any] = field(default_factory=dict)
    """The waiver that has decided, as plain values; empty when none has."""
    bundle: str = ""
    """Folder with diagnostics, relative to the run folder."""


def unlike(asked: Mapping[str, Mapping[str, str]], running: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return the components that run in another version than is asked for; what nobody sees running is left out."""
    return {
        name: {"asked": asked[name]["version"], "running": version}
        for name, version in sorted(running.items())
        if name in asked and asked[name]["version"] != version
    }


@dataclass
class Run:
    """The state of this process's part of the run."""

    key: str
    """What all processes of this run share; the lab is found by it."""
    folder: RunFolder
    """Where reports and diagnostics go."""
    asked: Asked
    """What the user asked for."""
    waivers: Waivers = field(default_factory=Waivers)
    """Gates that are known to fail."""
    operator: str = "reference"
    """Whose operator is under test: `reference` or `nso`."""
    worker: bool = False
    """Whether this process is an xdist worker; it tells its reports to the controller and writes none itself."""
    current: str = ""
    """Node id of the test that runs right now."""
    edge: dict[str, Any] = field(default_factory=dict)
    """`versions`, `seconds` and `how` once the edge is up, `usage` when it is left; empty before."""
    edge_shown: bool = False
    """Whether the terminal has shown it."""
    edge_told: bool = False
    """Whether a report has carried `edge` to the controller."""
    trouble: Trouble = lambda *, thorough: None
    """Tells what has befallen the edge since its start; `thorough` where something went wrong."""
    crashed: Callable[[], list[Finding]] = list
    """Tells which proxies' Envoys have ended by themselves since it was asked the last time."""
    broken: EnvironmentFault | None = None
    """What it told; every test that uses the edge ends with it from then on, because nobody mends an edge."""
    faults: list[tuple[BaseException, str]] = field(default_factory=list)
    """Each fault that a test showed in full, and that test."""
    tested: dict[str, Tested] = field(default_factory=dict)
    """Node id to what is known; filled where reports arrive."""
    outcomes: Counter[Verdict] = field(default_factory=Counter)
    """How many phases of any test failed or were inconclusive."""
    started: datetime = field(default_factory=lambda: datetime.now(UTC))
    """When this process began."""

    def root_cause(self, *, thorough: bool) -> EnvironmentFault | None:
        """Return what has befallen the edge, if anything has: whatever else a test saw may come from that."""
        self.broken = self.broken or self.trouble(thorough=thorough)
        return self.broken

    def exit_status(self, status: int) -> int:
        """Return pytest's exit status, or 75 when nothing failed and something was inconclusive."""
        if status in (0, 1) and self.outcomes[Verdict.INCONCLUSIVE] and not self.outcomes[Verdict.FAIL]:
            return INCONCLUSIVE_STATUS
        return status


RUN = pytest.StashKey[Run]()
"""The run, in `config.stash`."""
GATE = pytest.StashKey[Gate]()
"""The notebook of a test that uses the fixture `gate`, in `item.stash`."""


def gate_name(item: pytest.Item) -> str:
    """Return the name in a test's `edge_gate` mark; empty when it has none.

    Raises:
        pytest.UsageError: the mark has no name.
    """
    mark = item.get_closest_marker("edge_gate")
    if mark is None:
        return ""
    if len(mark.args) != 1 or mark.kwargs or not isinstance(mark.args[0], str) or not mark.args[0]:
        raise pytest.UsageError(f'{item.nodeid}: edge_gate takes the name of the gate, as in edge_gate("isolation").')
    return mark.args[0]


def parts_of(item: pytest.Item) -> frozenset[str]:
    """Return the parts of an edge that a test's `edge_parts` marks name, those of its class and module included.

    Raises:
        pytest.UsageError: a mark names no part, or one that does not exist.
    """
    named: set[str] = set()
    for mark in item.iter_markers("edge_parts"):
        if not mark.args or mark.kwargs or not set(mark.args) <= set(PARTS):
            raise pytest.UsageError(
                f'{item.nodeid}: edge_parts takes names of parts, as in edge_parts("dns"). '
                f"Accepted: {', '.join(PARTS)}."
            )
        named.update(mark.args)
    return frozenset(named)


def is_asked_for(item: pytest.Item) -> bool:
    """Say whether a test runs: one with the mark `edge_by_name` does only when its file is on the command line.

    A folder is not enough, and neither is a marker or a keyword.
    """
    if item.get_closest_marker("edge_by_name") is None:
        return True
    config = item.config
    words = [str(word).partition("::")[0] for word in config.args]
    return any((config.invocation_params.dir / word).resolve() == item.path.resolve() for word in words)


def uses_edge(item: pytest.Item) -> bool:
    """Say whether a test belongs to a gate or asks for the edge."""
    return bool(gate_name(item)) or "edge" in getattr(item, "fixturenames", ())
