"""Whether the surroundings of the system under test are still as they were when the edge came up."""

from collections.abc import Collection

from edgegate.clock import wait_until
from edgegate.components import cert_manager, envoy_gateway, nso_config
from edgegate.errors import CrashedUnderTest, LabFault, LabGone, NeverReady, PartLost
from edgegate.lab import Lab, ProcessStatus

UNDER_TEST = frozenset(
    {envoy_gateway.NAME, cert_manager.NAME, nso_config.OPERATOR, nso_config.AGENT, nso_config.REPLICATOR}
)
"""Processes whose end is a finding, and no trouble of ours."""
_PATIENCE = 5.0
"""Seconds in which a part has to answer. On two saturated cores a sound one took up to 2 s once."""


def lost(lab: Lab, spared: Collection[str], *, thorough: bool) -> LabFault | None:
    """Return the error for the first part that has ended by itself or answers no more, None when there is none.

    Args:
        lab: the lab.
        spared: names of parts that were stopped on purpose.
        thorough: whether those that run are asked too (measured: 40 ms for all of them); else only who has ended.
    """
    try:
        parts = [part for part in lab.status() if part.name not in spared]
        for part in parts:
            if part.state == "exited":
                return _error(lab, part, f"ended with status {part.status}")
        for part in parts if thorough else ():
            if part.state == "running" and part.name not in UNDER_TEST and (what := _silence(lab, part)):
                return _error(lab, part, what)
    except LabGone as gone:
        return gone
    return None


def _error(lab: Lab, part: ProcessStatus, what: str) -> PartLost:
    kind = CrashedUnderTest if part.name in UNDER_TEST else PartLost
    return kind(part.name, what=what, log=lab.log(part.name), tail=part.tail)


def _silence(lab: Lab, part: ProcessStatus) -> str:
    last = [""]

    def answers() -> bool:
        last[0] = lab.look(part.name)
        return not last[0]

    try:
        wait_until(f"{part.name} answers", answers, deadline=_PATIENCE, every=0.1)
    except NeverReady:
        return f"answered no more within {_PATIENCE:g} s ({last[0]})"
    return ""
